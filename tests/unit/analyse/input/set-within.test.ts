import { expect, test } from "bun:test";
import { groupsOf, setWithin } from "../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** By turns of half a second watches are given some 32 ms each 10 ms, and some 240 each 25 ms. */
const isSlow = (begin_ns: number): boolean => Math.floor(begin_ns / (500 * MS)) % 2 === 1;

function watches(end_ns: number): WatchSample[] {
  const out: WatchSample[] = [];
  for (let begin_ns = 0; begin_ns < end_ns; begin_ns += (isSlow(begin_ns) ? 25 : 10) * MS) {
    const dwell_limit_ns = (isSlow(begin_ns) ? 240 : 32) * MS * (0.6 + 0.1 * (out.length % 9));
    const ends = { end_ns: begin_ns + dwell_limit_ns, dwell_limit_ns };
    out.push(watch([], { watch_id: out.length, begin_ns, ...ends }));
  }
  return out;
}

test("watches of a part of a run stand for the time in which theirs were so long, as those of all of it", () => {
  const window_ns = 8000 * MS;
  const regions = [region({ death_ns: window_ns })];
  const [group] = groupsOf(input({ window_ns, regions, watches: watches(window_ns) }));
  if (group === undefined) throw new Error("no group");
  const part = setWithin(group.uniform, spanOf("all", "all", [[2000 * MS, 4000 * MS]]), 1, 1);
  for (const { exposures, weights } of [group.uniform, part]) {
    const begun = [...exposures.keys()].filter((i) => (exposures[i]?.armed_ns ?? 0) >= (exposures[i]?.begin_ns ?? 0));
    const sumOf = (some: readonly number[]): number => some.reduce((sum, i) => sum + (weights.bytes[i] ?? 0), 0);
    const slow = begun.filter((i) => isSlow(exposures[i]?.armed_ns ?? 0));
    expect(sumOf(slow) / sumOf(begun)).toBeWithin(0.42, 0.58);
  }
});
