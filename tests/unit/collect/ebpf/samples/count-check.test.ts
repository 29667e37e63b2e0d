import { expect, test } from "bun:test";
import { checkCount, type EventTally } from "../../../../../src/collect/ebpf/samples/count-check.ts";

const tally = (of: Partial<EventTally>): EventTally => ({
  runs: 1000,
  period: 1000 * 250_007,
  count: 1000 * 250_007,
  enabledNs: 1e9,
  runningNs: 1e9,
  stoppedNs: 0,
  ...of,
});

test("a program that saw every sample caught all, the rest below one period on each CPU left out", () => {
  const { caught, unseen, running } = checkCount([tally({ count: 1000 * 250_007 + 200_000 }), tally({})]);
  expect(caught).toBe(1);
  expect(unseen).toBe(0);
  expect(running).toBe(1);
});

test("records held back in batches show: only the last of each was seen", () => {
  const { caught, unseen } = checkCount([tally({ runs: 100, period: 100 * 250_007 })]);
  expect(caught ?? 1).toBeLessThan(0.11);
  expect(unseen).toBeCloseTo(899, 0);
});

test("time without a counter is estimated from the time with one", () => {
  const { unseen, running, caught } = checkCount([tally({ enabledNs: 1e9, runningNs: 0.5e9 })]);
  expect(running).toBe(0.5);
  expect(caught).toBe(1);
  expect(unseen).toBeCloseTo(1000, 0);
});

test("time in which the kernel had stopped an event is estimated from the rest of that CPU's time", () => {
  const { unseen, stopped, caught } = checkCount([tally({ stoppedNs: 0.2e9 }), tally({})]);
  expect(stopped).toBe(0.1);
  expect(caught).toBe(1);
  expect(unseen).toBeCloseTo(250, 6);
  expect(checkCount([tally({ stoppedNs: 2e9 })]).stopped).toBe(1);
});

test("too few events say nothing, and none seen of many says none", () => {
  expect(checkCount([tally({ runs: 3, period: 3 * 250_007, count: 4 * 250_007 })]).caught).toBeNull();
  expect(checkCount([tally({ runs: 0, period: 0 })]).caught).toBe(0);
  expect(checkCount([tally({ runs: 0, period: 0, count: 0 })]).caught).toBeNull();
  expect(checkCount([])).toEqual({ caught: null, unseen: 0, running: 1, stopped: 0 });
});
