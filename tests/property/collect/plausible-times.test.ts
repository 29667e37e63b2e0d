import { expect, test } from "bun:test";
import fc from "fast-check";
import { plausibleTimes } from "../../../src/collect/plausible-times.ts";
import type { Batch } from "../../../src/columnar/batch.ts";

const HOUR_NS = 3_600_000_000_000n;

function batchOf(times: readonly bigint[]): Batch {
  return {
    table: "access",
    rows: times.length,
    columns: {
      timestamp_ns: { data: BigUint64Array.from(times) },
      pid: { data: Uint32Array.from(times, (time_ns) => Number(time_ns & 0xffffn)) },
      op_type: { codes: Uint32Array.from(times, (_, row) => row % 2), values: ["load", "store"] },
    },
  };
}

/** What comes out, row by row. */
function passed(batches: readonly Batch[]) {
  const out: { time_ns: bigint; pid: number; op: number }[] = [];
  const times = plausibleTimes((batch) => {
    const { timestamp_ns, pid, op_type } = batch.columns;
    for (let row = 0; row < batch.rows; row++) {
      if (!timestamp_ns || !pid || !op_type || !("data" in timestamp_ns) || !("data" in pid) || "data" in op_type)
        break;
      out.push({
        time_ns: BigInt(timestamp_ns.data[row] ?? 0),
        pid: Number(pid.data[row]),
        op: op_type.codes[row] ?? -1,
      });
    }
  });
  for (const batch of batches) times.take(batch);
  times.flush();
  return { out, times };
}

const near = fc.bigInt({ min: 0n, max: 48n * HOUR_NS });
const far = fc.oneof(fc.constant(0n), fc.constant(2n ** 64n - 1n), fc.bigInt({ min: 2n ** 62n, max: 2n ** 64n - 1n }));

test("rows of a recording pass in their order with their values, and damaged times are left out and counted", () => {
  const begin = 2n ** 61n;
  const row = fc.oneof({ weight: 9, arbitrary: near.map((time) => begin + time) }, { weight: 1, arbitrary: far });
  fc.assert(
    fc.property(fc.array(fc.array(row, { maxLength: 40 }), { maxLength: 8 }), (lists) => {
      const all = lists.flat();
      const good = all.filter((time_ns) => time_ns >= begin && time_ns <= begin + 48n * HOUR_NS);
      fc.pre(good.length > all.length / 2);
      const { out, times } = passed(lists.map(batchOf));
      expect(out.map(({ time_ns }) => time_ns)).toEqual(good);
      expect(out.map(({ pid }) => pid)).toEqual(good.map((time_ns) => Number(time_ns & 0xffffn)));
      const ops = lists.flatMap((list) => list.map((time_ns, i) => ({ time_ns, op: i % 2 })));
      expect(out.map(({ op }) => op)).toEqual(ops.filter(({ time_ns }) => good.includes(time_ns)).map(({ op }) => op));
      expect(times.dropped.get("access") ?? 0).toBe(all.length - good.length);
      const sorted = [...good].sort((a, b) => (a < b ? -1 : 1));
      expect(times.within(2n ** 64n - 1n)).toBe(sorted.at(-1) ?? 0n);
      expect(times.within(0n)).toBe(sorted[0] ?? 0n);
    }),
  );
});
