import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeCacheAppend } from "../../../../src/engine/pytorch/cache-append.ts";
import { decodeCacheWrite } from "../../../../src/engine/pytorch/cache-write.ts";
import { decodeLookup } from "../../../../src/engine/pytorch/tensor-impl.ts";
import { appendBytes } from "../../../fixtures/torch-appends.ts";
import { lookupBytes } from "../../../fixtures/torch-structs.ts";
import { writeBytes } from "../../../fixtures/torch-writes.ts";

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

test("whatever bytes lie where a write into a cache is expected, its rows lie in the tensor, and that in its storage and in memory", () => {
  const template = writeBytes({ structure: 0x5600_0000_0000n, data: 0x7f00_0000_0000n, runs: [[7, 5]] });
  const edits = fc.array(fc.tuple(fc.nat(template.length - 1), fc.nat(255)), { maxLength: 12 });
  fc.assert(
    fc.property(edits, (those) => {
      const bytes = template.slice();
      for (const [offset, value] of those) bytes[offset] = value;
      const write = decodeCacheWrite(new DataView(bytes.buffer), 2n);
      if (write === null || write === "other") return;
      const { storage, addr, size_bytes, sequences, heads, rows, head_elements, element_bytes, first, count } = write;
      expect(first + count).toBeLessThanOrEqual(rows);
      expect(sequences * heads * rows * head_elements * element_bytes).toBe(size_bytes);
      expect(addr >= storage.addr && addr + BigInt(size_bytes) <= storage.addr + storage.size_bytes).toBe(true);
      expect(storage.addr + storage.size_bytes).toBeLessThanOrEqual(2n ** 56n);
    }),
    { seed: 1118 },
  );
});

test("whatever bytes lie where rows are put behind others, what is there then lies in its storage and in memory", () => {
  const template = appendBytes({ before: 0x900n, structure: 0x5600_0000_0000n, data: 0x7f00_0000_0000n, count: 5 });
  const edits = fc.array(fc.tuple(fc.nat(template.length - 1), fc.nat(255)), { maxLength: 12 });
  fc.assert(
    fc.property(edits, (those) => {
      const bytes = template.slice();
      for (const [offset, value] of those) bytes[offset] = value;
      const append = decodeCacheAppend(new DataView(bytes.buffer), 2n);
      if (append === null || append === "other") return;
      const { before, count, into } = append;
      const { storage, addr, size_bytes, sequences, heads, rows, head_elements, element_bytes } = into;
      expect((before?.rows ?? 0) + count).toBe(rows);
      expect(count).toBeGreaterThan(0);
      expect(sequences * heads * rows * head_elements * element_bytes).toBe(size_bytes);
      expect(addr >= storage.addr && addr + BigInt(size_bytes) <= storage.addr + storage.size_bytes).toBe(true);
      expect(storage.addr + storage.size_bytes).toBeLessThanOrEqual(2n ** 56n);
    }),
    { seed: 1118 },
  );
});
