import { expect, test } from "bun:test";
import { createGaps } from "../../../../../src/collect/ebpf/lifecycle/gaps.ts";

const table = (lost: Readonly<Record<number, number>>) =>
  new Map(Object.entries(lost).map(([pid, n]) => [Number(pid), { exec_epoch: 3, lost: n }]));
const gap = (begin: number, end: number) => ({ begin_ns: BigInt(begin), end_ns: BigInt(end) });

test("a gap is a row of each process that lost records in it, with how many", () => {
  const gaps = createGaps();
  const rows = gaps.lost(gap(10, 30), table({ 1: 0, 2: 5, 3: 7 }), []);
  expect(rows).toMatchObject([
    { kind: "lost", pid: 2, exec_epoch: 3, begin_ns: 10n, end_ns: 30n, timestamp_ns: 30n, result: 5n },
    { kind: "lost", pid: 3, result: 7n },
  ]);
  expect(gaps.lost(gap(25, 50), table({ 1: 0, 2: 5, 3: 8 }), [])).toMatchObject([{ pid: 3, result: 1n }]);
});

test("of who ended meanwhile nobody knows how many", () => {
  expect(createGaps().lost(gap(1, 2), table({}), [9])).toMatchObject([{ kind: "lost", pid: 9, result: null }]);
});

test("gaps that overlap cover their time once", () => {
  const gaps = createGaps();
  gaps.lost(gap(10, 30), table({}), []);
  gaps.lost(gap(20, 50), table({}), []);
  gaps.lost(gap(100, 105), table({}), []);
  expect(gaps.sum).toEqual({ gaps: 3, covered_ns: 45, longest_ns: 30 });
});

test("a number that is given again begins to count anew", () => {
  const gaps = createGaps();
  gaps.lost(gap(1, 2), table({ 4: 6 }), []);
  gaps.forget(4);
  expect(gaps.lost(gap(3, 4), table({ 4: 2 }), [])).toMatchObject([{ pid: 4, result: 2n }]);
});

test("names that were lost are a row of the tree", () => {
  const row = createGaps().names(gap(1, 9), 77, 12);
  expect(row).toMatchObject({ kind: "lost_names", pid: 77, begin_ns: 1n, end_ns: 9n, result: 12n });
});
