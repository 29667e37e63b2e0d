import { expect, test } from "bun:test";
import fc from "fast-check";
import { timeOrder } from "../../../../src/label/capture/time-order.ts";

const row = fc.record({
  time: fc.oneof(fc.nat(20).map(BigInt), fc.bigInt(0n, 2n ** 64n - 1n), fc.constantFrom(2n ** 32n, 2n ** 32n - 1n)),
  cpu: fc.oneof(fc.nat(3), fc.nat(65535)),
});

test("rows come in order of time, then of CPU, and equal ones stay as they were", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 200 }), fc.boolean(), (given, sorted) => {
      const rows = sorted ? given.toSorted((a, b) => Number(a.time - b.time) || a.cpu - b.cpu) : given;
      const times = new Uint32Array(BigUint64Array.from(rows, ({ time }) => time).buffer);
      const cpu = Uint32Array.from(rows, (one) => one.cpu);
      const order = timeOrder(times, cpu, rows.length);
      const compare = (a: number, b: number): number => {
        const [left, right] = [rows[a], rows[b]];
        if (left === undefined || right === undefined) return 0;
        if (left.time !== right.time) return left.time < right.time ? -1 : 1;
        return left.cpu - right.cpu || a - b;
      };
      const expected = rows.map((_, index) => index).sort(compare);
      expect(order === null ? rows.map((_, index) => index) : [...order]).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});
