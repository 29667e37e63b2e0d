import { describe, expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../../src/analyse/input/input.ts";
import { countWindows } from "../../../../../src/analyse/watched/counting/count-window.ts";
import { evenLaws } from "../../../../../src/analyse/watched/counting/even-laws.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input, MS, watch } from "../../sample-input.ts";

const RUN = 40_000 * MS;
const WATCHES = 800;

/** Words that are used each so many ms in the halves of a run, of which every fourth watch takes six times as long as the others in the first half, and every sixteenth in the second. */
function watched(period: (isFirst: boolean) => number) {
  const random = seededRandom(11);
  const watches = Array.from({ length: WATCHES }, (_, i): WatchSample => {
    const begin_ns = (RUN * i) / WATCHES;
    const isFirst = i < WATCHES / 2;
    const isLong = i % (isFirst ? 4 : 16) === 0;
    const dwell_limit_ns = (isLong ? 300 : 50) * MS;
    const end_ns = Math.min(begin_ns + dwell_limit_ns, RUN);
    const each = period(isFirst) * MS;
    const hits: [number, "load"][] = [];
    for (let time = begin_ns + random() * each; time < end_ns; time += each) hits.push([time, "load"]);
    const design = isLong ? "long" : "short";
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns, dwell_limit_ns, design, trap_limit: 32 });
  });
  const [group] = groupsOf(input({ watches, window_ns: RUN }));
  if (group === undefined) throw new Error("no group");
  const { time_ns } = countWindows(group.uniform);
  return { even: evenLaws(group.uniform, time_ns), time_ns };
}

describe("windows that are longer in the first half of a run", () => {
  test("count each half by its moments where it is used more in one of them", () => {
    for (const [first, second] of [
      [30, 300],
      [300, 30],
    ] as const) {
      const { even, time_ns } = watched((isFirst) => (isFirst ? first : second));
      const held = Array.from(time_ns, (ns, i) => ns * (even[i] ?? 1));
      const sumOf = (times: readonly number[]): number => times.reduce((sum, ns) => sum + ns, 0);
      const ofFirst = (times: readonly number[]): number => sumOf(times.slice(0, WATCHES / 2)) / sumOf(times);
      expect(ofFirst([...time_ns])).toBeGreaterThan(0.6);
      expect(ofFirst(held)).toBeCloseTo(0.5, 2);
    }
  });

  test("count as they are where both are used alike", () => {
    expect(new Set(watched(() => 60).even)).toEqual(new Set([1]));
  });
});
