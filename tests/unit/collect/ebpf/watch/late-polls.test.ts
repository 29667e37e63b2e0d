import { describe, expect, test } from "bun:test";
import { lateNotes } from "../../../../../src/collect/ebpf/watch/late-polls.ts";

const MS = 1_000_000;
/** Polls at some ms, each with the CPU time of the tracer so far, in ms. */
function noted(polls: readonly (readonly [at_ms: number, cpu_ms: number])[], isPrompt = false) {
  const notes = lateNotes(isPrompt);
  for (const [at_ms, cpu_ms] of polls) notes.polled(BigInt(at_ms * MS), cpu_ms * MS);
  return notes.soFar();
}
const stretch = (begin_ms: number, end_ms: number) => ({
  begin_ns: BigInt(begin_ms * MS),
  end_ns: BigInt(end_ms * MS),
});

describe("polls of the watches", () => {
  const even = Array.from({ length: 50 }, (_, i) => [1000 + 20 * i, i] as const);

  test("are on time where they come after the rest between two of them", () => {
    expect(noted(even)).toEqual({ stretches: [], left_out: 0, left_out_ns: 0 });
  });

  test("are late by all but the longest rest where the tracer was stopped", () => {
    const { stretches } = noted([...even, [2280, 50], [2300, 51]]);
    expect(stretches).toEqual([stretch(2001, 2280)]);
  });

  test("are not late where the tracer was at work meanwhile", () => {
    expect(noted([...even, [2280, 300], [2300, 301]]).stretches).toEqual([]);
  });

  test("are not late where it waits a while, as on every busy machine", () => {
    expect(noted(Array.from({ length: 50 }, (_, i) => [1000 + 100 * i, i] as const)).stretches).toEqual([]);
  });

  test("are late where it waits a while though it goes before others: it was not to run", () => {
    const throttled = Array.from({ length: 50 }, (_, i) => [1000 + 100 * i, i] as const);
    const { stretches } = noted(throttled, true);
    expect(stretches.length).toBe(49);
    expect(stretches[0]).toEqual(stretch(1021, 1100));
    expect(noted(even, true).stretches).toEqual([]);
  });

  test("are late from the first one on only: before it nobody had begun", () => {
    expect(noted([[90_000, 1]]).stretches).toEqual([]);
  });

  test("are kept up to a number, and counted behind it", () => {
    const { stretches, left_out, left_out_ns } = noted(Array.from({ length: 1001 }, (_, i) => [220 * i, 0] as const));
    expect(stretches.length + left_out).toBe(1000);
    expect(stretches.length).toBeLessThan(500);
    expect(left_out_ns).toBe(left_out * 200 * MS);
  });
});
