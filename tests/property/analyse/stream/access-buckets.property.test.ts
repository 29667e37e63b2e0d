import { expect, test } from "bun:test";
import fc from "fast-check";
import { accessBuckets } from "../../../../src/analyse/stream/access-buckets.ts";
import { CLASS_SHIFT, classOf } from "../../../../src/analyse/stream/trace-columns.ts";

/** Addresses that differ in few bits, whose keys fit a word, and in all 64. */
const addresses = fc.oneof(
  fc.array(fc.nat(0xffff), { maxLength: 300 }).map((all) => all.map((n) => 0x7f10_0000_0000n + BigInt(n))),
  fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { maxLength: 300 }),
  // Few pages, so that neighbours in all words meet in one bucket.
  fc
    .tuple(
      fc.array(fc.bigInt(0n, 2n ** 64n - 1n), { minLength: 1, maxLength: 3 }),
      fc.array(fc.nat(8), { maxLength: 300 }),
    )
    .map(([pages, all]) => all.map((n, i) => (pages[i % pages.length] ?? 0n) ^ BigInt(n))),
);

test("buckets hand over every access once, by class, address and time", () => {
  fc.assert(
    fc.property(addresses, fc.infiniteStream(fc.nat(4)), (all, classes) => {
      const rows = all.map((address, i) => ({ address, time: i, kind: classes.next().value ?? 0 }));
      const buckets = accessBuckets();
      buckets.add(
        {
          rows: rows.length,
          address: new Uint32Array(BigUint64Array.from(rows, ({ address }) => address).buffer),
          time_ns: new Uint32Array(BigUint64Array.from(rows, ({ time }) => BigInt(time)).buffer),
          code: Uint32Array.from(rows, ({ kind }) => kind << CLASS_SHIFT),
        },
        0n,
      );
      const taken: typeof rows = [];
      buckets.drain(({ rows: n, low, high, time_ns, code }) => {
        const own = Array.from({ length: n }, (_, i) => ({
          address: (BigInt(high[i] ?? 0) << 32n) | BigInt(low[i] ?? 0),
          time: time_ns[i] ?? -1,
          kind: classOf(code[i] ?? 0),
        }));
        const order = (a: (typeof own)[number], b: typeof a): number =>
          a.kind - b.kind || (a.address < b.address ? -1 : a.address > b.address ? 1 : a.time - b.time);
        expect(own).toEqual([...own].sort(order));
        taken.push(...own);
      });
      expect(taken.sort((a, b) => a.time - b.time)).toEqual(rows);
    }),
    { numRuns: 300 },
  );
});
