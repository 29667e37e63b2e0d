import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { accessBuckets } from "../../../../src/analyse/stream/access-buckets.ts";
import { type AddressSums, addressPass, addressSums } from "../../../../src/analyse/stream/address-pass.ts";
import { binnedQuantiles, censoredShare } from "../../../../src/analyse/stream/binned-quantiles.ts";
import { timePass } from "../../../../src/analyse/stream/time-pass.ts";
import { CLASS_SHIFT, CLASSES, CODE_BITS } from "../../../../src/analyse/stream/trace-columns.ts";
import { OP } from "../../../../src/schema/operation.ts";

interface Access {
  readonly address: bigint;
  readonly time: bigint;
  readonly kind: number;
  readonly op: number;
  readonly thread: number;
}

const START = 2n ** 40n + 12_345n;
const accesses: fc.Arbitrary<Access[]> = fc
  .array(
    fc.record({
      // Few addresses, some on one line, some 2^47 apart: so that they meet.
      address: fc
        .tuple(fc.nat(40), fc.constantFrom(0n, 0x7fff_0000_0000n, 0xffff_8000_0000_0000n))
        .map(([word, base]) => base + BigInt(word) * 24n),
      gap: fc.oneof(fc.nat(3), fc.nat(5_000_000_000)),
      kind: fc.constantFrom(0, 1, 4),
      op: fc.nat(3),
      thread: fc.constantFrom(7, 8, 7 + 65_536),
    }),
    { maxLength: 120 },
  )
  .map((rows) => {
    let time = START;
    return rows.map(({ gap, ...row }) => {
      time += BigInt(gap);
      return { ...row, time };
    });
  });

function columnsOf(rows: readonly Access[]) {
  return {
    rows: rows.length,
    address: new Uint32Array(BigUint64Array.from(rows, (row) => row.address).buffer),
    time_ns: new Uint32Array(BigUint64Array.from(rows, (row) => row.time).buffer),
    code: Uint32Array.from(rows, (row) => (row.thread << CODE_BITS) + (row.kind << CLASS_SHIFT) + row.op),
  };
}

function reduced(rows: readonly Access[]): { sums: AddressSums[]; time: ReturnType<typeof timePass> } {
  const time = timePass(1);
  const buckets = accessBuckets();
  const half = rows.length >> 1;
  for (const part of [rows.slice(0, half), rows.slice(half)]) {
    time.add(columnsOf(part));
    buckets.add(columnsOf(part), time.first_ns);
  }
  time.end();
  const sums = CLASSES.map(() => addressSums());
  buckets.drain((sorted) => addressPass(sorted, time.window_ns, sums));
  return { sums, time };
}

const sumOf = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);
const reads = (row: Access): boolean => row.op === OP.load || row.op === OP.load_store;
const writes = (row: Access): boolean => row.op === OP.store || row.op === OP.load_store;

function byKey<T>(rows: readonly T[], key: (row: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return [...groups.values()];
}

describe("the passes over a trace", () => {
  test("count addresses, stores, lines and pages as a plain loop does", () => {
    fc.assert(
      fc.property(accesses, (rows) => {
        const { sums } = reduced(rows);
        CLASSES.forEach((_, kind) => {
          const own = rows.filter((row) => row.kind === kind);
          const of = sums[kind] as AddressSums;
          const stores = byKey(own, (row) => String(row.address)).map((group) => group.filter(writes).length);
          expect(sumOf(of.addresses)).toBe(stores.length);
          expect(sumOf(of.written)).toBe(stores.filter((n) => n > 0).length);
          expect(sumOf(of.written_once)).toBe(stores.filter((n) => n === 1).length);
          for (const [blocks, shift] of [
            [of.lines, 6n],
            [of.pages, 12n],
          ] as const) {
            const counts = byKey(own, (row) => String(row.address >> shift)).map((group) => group.length);
            expect(blocks).toEqual({
              distinct: counts.length,
              once: counts.filter((n) => n === 1).length,
              twice: counts.filter((n) => n === 2).length,
            });
          }
        });
      }),
      { seed: 21, numRuns: 150 },
    );
  });

  test("find the gaps, needs and ages that a plain loop finds", () => {
    fc.assert(
      fc.property(accesses, (rows) => {
        const { sums } = reduced(rows);
        CLASSES.forEach((_, kind) => {
          const gaps: number[] = [];
          const needs: { value: number; complete: boolean }[] = [];
          let aged = 0;
          for (const group of byKey(
            rows.filter((row) => row.kind === kind),
            (row) => String(row.address),
          )) {
            let written: number | null = null;
            let need = 0;
            const own: typeof needs = [];
            group.forEach((row, i) => {
              const now = Number(row.time - START);
              if (i > 0) gaps.push(Number(row.time - (group[i - 1]?.time ?? 0n)));
              if (reads(row)) {
                aged += 1;
                if (written !== null) need = now - written;
              }
              if (writes(row)) {
                if (written !== null) own.push({ value: need, complete: true });
                written = now;
                need = 0;
              }
            });
            if (written !== null) own.push({ value: need, complete: false });
            needs.push(...own);
          }
          const of = sums[kind] as AddressSums;
          expect(of.reuse.n).toBe(gaps.length);
          const last = byKey(
            rows.filter((row) => row.kind === kind),
            (row) => String(row.address),
          ).length;
          expect([of.intervals.n, of.intervals.n_censored]).toEqual([gaps.length + last, last]);
          expect([...of.reuse.value.subarray(0, gaps.length)].sort((a, b) => a - b)).toEqual(
            gaps.sort((a, b) => a - b),
          );
          expect(sumOf(of.reuse_ns)).toBe(gaps.reduce((a, b) => a + b, 0));
          expect(of.retention.n).toBe(needs.length);
          expect(of.retention.n_censored).toBe(needs.filter(({ complete }) => !complete).length);
          expect([...of.retention.value.subarray(0, needs.length)].sort((a, b) => a - b)).toEqual(
            needs.map(({ value }) => value).sort((a, b) => a - b),
          );
          expect(of.ages.n).toBe(aged);
        });
      }),
      { seed: 22, numRuns: 150 },
    );
  });

  test("pair each access with the one before it of its thread and class", () => {
    fc.assert(
      fc.property(accesses, (rows) => {
        const { time } = reduced(rows);
        CLASSES.forEach((_, kind) => {
          const strides: number[] = [];
          const runs: number[] = [];
          let same = 0;
          // Threads whose numbers share their low bits lose pairs to each other, so one of them is left out.
          const threads = new Set(rows.map(({ thread }) => thread));
          if (threads.has(7) && threads.has(7 + 65_536)) return;
          for (const group of byKey(
            rows.filter((row) => row.kind === kind),
            (row) => String(row.thread),
          )) {
            runs.push(1);
            group.slice(1).forEach((row, i) => {
              const before = group[i]?.address ?? 0n;
              const isNext = row.address >= before && row.address - before <= 64n;
              if (isNext) runs.push((runs.pop() ?? 0) + 1);
              else runs.push(1);
              strides.push(Math.abs(Number(row.address - before)));
              if (row.address >> 12n === before >> 12n) same += 1;
            });
          }
          const own = (sums: Float64Array) => sumOf(sums.slice(kind * 64, kind * 64 + 64));
          expect(own(time.pairs)).toBe(strides.length);
          expect(own(time.same_page)).toBe(same);
          expect(time.strides[kind]?.n).toBe(strides.length);
          const lengths = time.runs[kind]?.value.subarray(0, runs.length) ?? [];
          expect(time.runs[kind]?.n).toBe(runs.length);
          expect([...lengths].sort((a, b) => a - b)).toEqual(runs.sort((a, b) => a - b));
          const mine = rows.filter((row) => row.kind === kind);
          expect(own(time.loads)).toBe(mine.filter(reads).length);
          expect(own(time.stores)).toBe(mine.filter(writes).length);
        });
        expect(time.inOrder).toBe(true);
      }),
      { seed: 23, numRuns: 150 },
    );
  });

  test("give quantiles that rise inside their intervals, and shares from 0 to 1", () => {
    fc.assert(
      fc.property(accesses, (rows) => {
        for (const of of reduced(rows).sums) {
          for (const times of [of.intervals, of.reuse, of.retention, of.ages]) {
            const [median, late] = binnedQuantiles(times, [0.5, 0.9]);
            if (median?.value != null && late?.value != null) expect(late.value).toBeGreaterThanOrEqual(median.value);
            for (const one of [median, late]) {
              if (one?.value != null && one.lo != null) expect(one.lo).toBeLessThanOrEqual(one.value);
              if (one?.value != null && one.hi != null) expect(one.hi).toBeGreaterThanOrEqual(one.value);
            }
            const share = censoredShare(times);
            expect(share).toBeGreaterThanOrEqual(0);
            expect(share).toBeLessThanOrEqual(1 + 1e-9);
          }
        }
      }),
      { seed: 24, numRuns: 100 },
    );
  });
});
