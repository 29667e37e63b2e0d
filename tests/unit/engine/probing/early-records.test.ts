import { expect, test } from "bun:test";
import { earlyRecords, type Found } from "../../../../src/engine/probing/early-records.ts";
import type { RawRecord } from "../../../../src/engine/probing/raw-record.ts";

/** Record of a process with a mark, in memory that the next one gets too. */
const memory = new DataView(new ArrayBuffer(16));
function found(pid: number, mark: number, execEpoch = 1): Found {
  memory.setUint32(8, mark, true);
  const record: Partial<RawRecord> = { pid, execEpoch, payload: new DataView(memory.buffer, 8, 4) };
  return { engine: 0, record: record as RawRecord };
}
const marks = (all: readonly Found[]) => all.map(({ record }) => record.payload.getUint32(0, true));

test("a record of a process whose libraries are known waits for nothing", () => {
  const early = earlyRecords(() => true);
  expect(early.keep(found(7, 1))).toBe(false);
  expect(early.take()).toEqual([]);
});

test("others wait as they are until their libraries are known, and those behind them too", () => {
  const mapped = new Set<number>();
  const early = earlyRecords(({ record }) => mapped.has(record.pid));
  expect([early.keep(found(7, 1)), early.keep(found(8, 2)), early.keep(found(7, 3))]).toEqual([true, true, true]);
  expect(early.take()).toEqual([]);
  mapped.add(7);
  expect(early.keep(found(7, 4))).toBe(true);
  expect(marks(early.take())).toEqual([1, 3, 4]);
  expect(early.keep(found(7, 5))).toBe(false);
});

test("a process of which no library becomes known, such as a fork, waits for three turns", () => {
  const early = earlyRecords(() => false);
  early.keep(found(7, 1));
  expect([early.take(), early.take()]).toEqual([[], []]);
  early.keep(found(7, 2, 2));
  expect(marks(early.take())).toEqual([1]);
  expect(early.take()).toEqual([]);
  expect(marks(early.take())).toEqual([2]);
});

test("in the end nothing waits", () => {
  const early = earlyRecords(() => false);
  early.keep(found(7, 1));
  early.keep(found(8, 2));
  expect(early.isEmpty()).toBe(false);
  expect(marks(early.take(true))).toEqual([1, 2]);
  expect([early.take(true), early.isEmpty()]).toEqual([[], true]);
});
