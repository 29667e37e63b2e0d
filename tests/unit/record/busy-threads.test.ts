import { describe, expect, test } from "bun:test";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { createBusyThreads } from "../../../src/record/busy-threads.ts";
import { type Given, rowWith } from "../../fixtures/row-with.ts";

/** A sample of a process of which so many threads were busy since the one before. */
const reading = (pid: number, at_s: number, busy_threads: number | null, more: Given<"process"> = {}) =>
  rowWith("process", {
    ...{ pid, role: "target", timestamp_ns: BigInt(at_s * 1e9), run_delay_ns: 1n, busy_threads },
    ...more,
  });

/** What is told of these samples, of all times and processes or of spans in seconds. */
function told(rows: readonly ReturnType<typeof reading>[], spans: readonly (readonly [number, number, number])[] = []) {
  const threads = createBusyThreads();
  for (const row of rows) threads.take(batchFromRows("process", [row]));
  return threads.mean(new Map(spans.map(([pid, from, to]) => [pid, { begin_ns: from * 1e9, end_ns: to * 1e9 }])));
}

const spanOf = (pid: number, from: number, to: number) => [[pid, from, to] as const];

describe("the threads that were busy at once", () => {
  test("are the mean over the time", () => {
    expect(told([reading(1, 10, null), reading(1, 11, 4), reading(1, 14, 2)])).toBe(2.5);
  });

  test("are looked for in the given times alone, and in the processes that have some", () => {
    const rows = [reading(1, 0, null), reading(1, 4, 1), reading(1, 5, 3), reading(1, 6, 1), reading(1, 9, 7)];
    const other = [reading(7, 0, null), reading(7, 9, 8)];
    expect(told([...rows, ...other], [[1, 3.5, 6.5]])).toBe(2);
    expect(told([...rows, ...other], [...spanOf(1, 3.5, 6.5), ...spanOf(7, 0, 9)])).toBe(10);
    expect(told(rows, spanOf(1, 4.5, 5.5))).toBeNull();
    expect(told(rows, spanOf(2, 0, 9))).toBeNull();
  });

  test("are summed over the processes, each by the time of all", () => {
    expect(told([reading(1, 0, null), reading(2, 8, null), reading(1, 10, 1), reading(2, 10, 2)])).toBe(1.4);
    expect(told([reading(1, 0, null), reading(2, 8, null), reading(1, 10, 1)])).toBe(1);
  });

  test("are not known where nothing was read twice", () => {
    expect(told([])).toBeNull();
    expect(told([reading(1, 3, null)])).toBeNull();
    expect(told([reading(1, 3, null), reading(1, 4, null, { run_delay_ns: null })])).toBeNull();
    const tracer: Given<"process"> = { role: "tracer" };
    expect(told([reading(1, 3, null, tracer), reading(1, 4, 2, tracer)])).toBeNull();
  });

  test("of a long recording are known from begin to end", () => {
    const rows = Array.from({ length: 10_000 }, (_, s) => reading(1, s, 3));
    expect(told(rows)).toBe(3);
    expect(told(rows, spanOf(1, 5000, 6000))).toBe(3);
  });
});
