import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createLifecycleDecoder } from "../../../../../src/collect/ebpf/lifecycle/lifecycle-record.ts";
import { batchFromRows } from "../../../../../src/columnar/rows.ts";
import { createProcessMaps } from "../../../../../src/regions/mapping-events.ts";
import { LIFECYCLE_KINDS, recordLayout } from "../../../../../src/schema/records.ts";

const { bytes, offsets } = recordLayout("lifecycle_record");

/** Any bytes, of which a good part has a known kind. */
const record = fc
  .tuple(fc.uint8Array({ minLength: 0, maxLength: bytes + 32 }), fc.option(fc.nat({ max: LIFECYCLE_KINDS.length - 1 })))
  .map(([content, kind]) => {
    const at = offsets.kind ?? 0;
    if (kind !== null && content.length >= at + 4)
      new DataView(content.buffer, content.byteOffset).setUint32(at, kind, true);
    return content;
  });

describe("hostile lifecycle records", () => {
  test("never make the decoder throw; each is a row or counted", () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 20 }), (records) => {
        const decoder = createLifecycleDecoder();
        let rows = 0;
        for (const content of records) {
          const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
          if (decoder.decode(view, 0, content.length) !== null) rows += 1;
        }
        expect(rows + decoder.malformed).toBe(records.length);
        expect(rows).toBeLessThanOrEqual(records.filter((content) => content.length >= bytes).length);
      }),
      { numRuns: 500 },
    );
  });

  test("become rows that the table and the map of the process take without a throw", () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 20 }), (records) => {
        const { decode } = createLifecycleDecoder();
        const maps = createProcessMaps({ onEnd: () => {} });
        const rows = records
          .map((content) =>
            decode(new DataView(content.buffer, content.byteOffset, content.byteLength), 0, content.length),
          )
          .filter((row) => row !== null);
        for (const row of rows) maps.apply(row);
        const { applied, failed_calls, bad_rows } = maps.counters;
        expect(applied + failed_calls + bad_rows).toBe(rows.length);
        const batch = batchFromRows("mapping", rows);
        const { addr } = batch.columns;
        const values = addr && "data" in addr ? Array.from(addr.data as Iterable<bigint>) : [];
        expect(values).toEqual(rows.map((row) => row.addr));
      }),
      { numRuns: 200 },
    );
  });
});
