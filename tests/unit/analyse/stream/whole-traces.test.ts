import { describe, expect, test } from "bun:test";
import { accessBuckets } from "../../../../src/analyse/stream/access-buckets.ts";
import { type AddressSums, addressPass, addressSums } from "../../../../src/analyse/stream/address-pass.ts";
import { binnedQuantiles, binnedShares } from "../../../../src/analyse/stream/binned-quantiles.ts";
import {
  addTime,
  type BinnedTimes,
  binnedTimes,
  binOf,
  FEW,
  GROUPS,
} from "../../../../src/analyse/stream/binned-times.ts";
import { CLASSES } from "../../../../src/analyse/stream/trace-columns.ts";
import { OP } from "../../../../src/schema/operation.ts";
import type { Interval } from "../../../../src/statistics/interval.ts";

interface Access {
  readonly at: number;
  readonly line: number;
  readonly op: number;
}

/** What a trace of these accesses alone says, each to a line of its own number. */
function sumsOf(accesses: readonly Access[]): AddressSums {
  const rows = [...accesses].sort((a, b) => a.at - b.at);
  const buckets = accessBuckets();
  buckets.add(
    {
      rows: rows.length,
      address: new Uint32Array(BigUint64Array.from(rows, ({ line }) => BigInt(64 * line)).buffer),
      time_ns: new Uint32Array(BigUint64Array.from(rows, ({ at }) => BigInt(at)).buffer),
      code: Uint32Array.from(rows, ({ op }) => op),
    },
    0n,
  );
  const sums = CLASSES.map(() => addressSums());
  buckets.drain((sorted) => addressPass(sorted, rows.at(-1)?.at ?? 0, sums));
  return sums[0] as AddressSums;
}

const of = (n: number, make: (i: number) => readonly Access[]): Access[] =>
  Array.from({ length: n }, (_, i) => make(i)).flat();

function quantileOf(times: BinnedTimes, q: number): Interval {
  return binnedQuantiles(times, [q])[0] ?? { value: null, lo: null, hi: null };
}

const MS = 1e6;
const S = 1e9;

describe("a trace that holds every access", () => {
  test("counts an address as often as it is used", () => {
    const { intervals } = sumsOf([
      ...of(100, (line) => Array.from({ length: 101 }, (_, k) => ({ at: line + 1000 * k, line, op: OP.load }))),
      ...of(100, (i) => [0, S].map((at) => ({ at: at + i, line: 1000 + i, op: OP.load }))),
    ]);
    // 10,000 gaps of 1 us, 100 of 1 s, and 200 accesses that no other follows.
    const { lo, hi } = quantileOf(intervals, 0.5);
    expect(lo).toBe(1000);
    expect(hi ?? 0).toBeWithin(1000, 1005);
    expect(intervals.n).toBe(10_300);
  });

  test("does not take what was written last for needed no longer than what was written over", () => {
    // Cleared, written 1 ms later, and read until the end.
    const { retention } = sumsOf(
      of(64, (line) => [
        { at: line, line, op: OP.store },
        { at: MS + line, line, op: OP.store },
        ...Array.from({ length: 10 }, (_, k) => ({ at: (k + 1) * S + line, line, op: OP.load })),
      ]),
    );
    const late = quantileOf(retention, 0.9);
    expect([late.value, late.hi]).toEqual([null, null]);
    expect(late.lo ?? 0).toBeGreaterThan(9 * S);
    expect([retention.n, retention.n_censored]).toEqual([128, 64]);
  });

  test("has an interval that reaches from what is open ending at once to its never ending", () => {
    // Of 160 stores 60 are needed for 1 s; 60 are open from the begin on, and 40 after 1 ms.
    const { retention } = sumsOf([
      ...of(60, (line) => [
        { at: line, line, op: OP.store },
        { at: S + line, line, op: OP.load },
      ]),
      ...of(60, (line) => [{ at: 3 * S + line, line, op: OP.store }]),
      ...of(40, (i) => [
        { at: i, line: 1000 + i, op: OP.store },
        { at: MS + i, line: 1000 + i, op: OP.load },
      ]),
    ]);
    const median = quantileOf(retention, 0.5);
    expect(median.hi).toBeNull();
    expect(median.lo ?? S).toBeLessThanOrEqual(MS);
  });

  test("tells how old data is by every read of it", () => {
    const { ages } = sumsOf([
      ...of(70, (line) => [
        { at: line, line, op: OP.store },
        ...Array.from({ length: 50 }, (_, k) => ({ at: 100 + line + k, line, op: OP.load })),
      ]),
      // Nobody saw these written, and each is read once, late.
      ...of(70, (i) => [{ at: S + i, line: 1000 + i, op: OP.load }]),
    ]);
    const median = quantileOf(ages, 0.5);
    expect(median.value ?? 0).toBeLessThan(200);
    expect(median.hi ?? S).toBeLessThan(200);
    expect([ages.n, ages.n_censored]).toEqual([70 * 50 + 70, 70]);
  });
});

describe("many times", () => {
  const many = (values: readonly number[]): BinnedTimes => {
    const times = binnedTimes();
    for (let i = 0; i < 2 * FEW; i++) {
      const value = values[i % values.length] ?? 0;
      addTime(times, value, binOf(value), 1, (i >> 1) % GROUPS, true);
    }
    return times;
  };

  test("that are one number have an interval that holds it", () => {
    for (const value of [0, 1, 100, 1000, 123_456, 2 ** 40 + 1]) {
      const { lo, hi } = quantileOf(many([value]), 0.5);
      expect([value, lo ?? value + 1, hi ?? 0]).toEqual([
        value,
        Math.min(lo ?? value + 1, value),
        Math.max(hi ?? 0, value),
      ]);
    }
  });

  test("that are two numbers have an interval from the one to the other where the quantile lies between", () => {
    const { lo, hi } = quantileOf(many([1000, 1_000_000]), 0.5);
    expect(lo ?? 1001).toBeLessThanOrEqual(1000);
    expect(hi ?? 0).toBeGreaterThanOrEqual(1_000_000);
  });
});

test("few times that are two numbers have an interval from the one to the other where the quantile lies between", () => {
  const times = binnedTimes();
  for (let i = 0; i < 128; i++) addTime(times, 1000 * (i % 2), binOf(1000 * (i % 2)), 1, i >> 1, true);
  expect(quantileOf(times, 0.5)).toEqual({ value: 500, lo: 0, hi: 1000 });
});

test("the curve of times of which some are open has the shares that they may have", () => {
  const times = binnedTimes();
  for (let i = 0; i < 100; i++) addTime(times, i, binOf(i), 1, i % GROUPS, i % 2 === 0);
  const { values, least, shares, most } = binnedShares(times);
  const place = values.indexOf(49);
  expect([least[place], most[place]]).toEqual([0.25, 0.5]);
  expect(shares[place] ?? 0).toBeWithin(0.25, 0.5);
});
