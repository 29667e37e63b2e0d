import { expect, test } from "bun:test";
import fc from "fast-check";
import { layerCache } from "../../../../src/engine/vllm/cache-tensor.ts";
import { requestRows } from "../../../../src/engine/vllm/request-rows.ts";
import { stepBlocks } from "../../../../src/engine/vllm/step-blocks.ts";
import { attentionBytes } from "../../../fixtures/vllm-structs.ts";

test("whatever bytes lie where a call of attention is expected, its rows are cells of its cache", () => {
  const requests = [
    { tokens: 3, length: 40, blocks: [1, 2] },
    { tokens: 1, length: 1, blocks: [9] },
  ];
  const template = attentionBytes({}, { requests });
  const places = [
    ...Array(300).keys(),
    ...Array(16)
      .keys()
      .map((i) => 256 + 24 + 2048 + i),
  ];
  const edits = fc.array(fc.tuple(fc.constantFrom(...places), fc.nat(255)), { maxLength: 8 });
  fc.assert(
    fc.property(edits, (those) => {
      const bytes = template.slice();
      for (const [offset, value] of those) bytes[offset] = value;
      const payload = new DataView(bytes.buffer);
      const cache = layerCache(payload);
      if (cache === null) return;
      for (const { addr, size_bytes } of cache.places) {
        expect(addr).toBeGreaterThanOrEqual(cache.storage.addr);
        expect(addr + BigInt(size_bytes)).toBeLessThanOrEqual(cache.storage.addr + BigInt(cache.storage.size_bytes));
      }
      const step = stepBlocks(payload, cache);
      if (!step?.listed) return;
      const { kv_rows, kv_row_cells } = requestRows(cache.block_tokens).rowsOf(step.listed);
      expect(kv_rows.reduce((sum, [, , tokens]) => sum + tokens, 0)).toBe(step.tokens);
      expect(kv_row_cells.reduce((sum, [, count]) => sum + count, 0)).toBe(step.tokens);
      for (const [first, count] of kv_row_cells)
        expect(first + count).toBeLessThanOrEqual(cache.blocks * cache.block_tokens);
    }),
  );
});
