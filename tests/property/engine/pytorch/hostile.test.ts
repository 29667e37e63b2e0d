import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeLookup } from "../../../../src/engine/pytorch/tensor-impl.ts";
import { lookupBytes } from "../../../fixtures/torch-structs.ts";

test("whatever bytes lie where a lookup is expected, its tokens are a number that a batch may have", () => {
  const template = lookupBytes({ table: { sizes: [1000, 64] }, indices: { sizes: [2, 8] } });
  const edits = fc.array(fc.tuple(fc.nat(template.length - 1), fc.nat(255)), { maxLength: 12 });
  fc.assert(
    fc.property(edits, (those) => {
      const bytes = template.slice();
      for (const [offset, value] of those) bytes[offset] = value;
      const lookup = decodeLookup(new DataView(bytes.buffer));
      if (lookup === null || lookup === "nowhere") return;
      const { tokens, sequences, table } = lookup;
      expect(Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= 2 ** 24).toBe(true);
      expect(sequences === null || (sequences >= 0 && sequences <= 2 ** 48)).toBe(true);
      expect(table.rows * table.width).toBeLessThanOrEqual(2n ** 48n);
      expect(table.bytes).toBeLessThanOrEqual(2n ** 51n);
    }),
  );
});
