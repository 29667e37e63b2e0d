/** Turns of a cache that go to rows ahead, for a part of the run. */
import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { input, MS, watch } from "../sample-input.ts";

const TURNS = 1200;

/** By turns of the cache and of the weights; of the first half of the run every other turn of the cache goes to rows ahead. */
const draws = Array.from({ length: TURNS }, (_, i): WatchSample => {
  const begin_ns = (1000 * MS * i) / TURNS;
  const isCache = i % 2 === 0;
  const hasAhead = isCache && i < TURNS / 2;
  return watch([], {
    watch_id: i + 1,
    begin_ns,
    end_ns: begin_ns + MS,
    dwell_limit_ns: MS,
    design: hasAhead && i % 4 === 0 ? "ahead" : "short",
    region_type: isCache ? "kv_cache" : "weight",
    stratum: isCache ? "kv_cache/k" : "weight/f16",
    draw_weight: hasAhead && i % 4 !== 0 ? 0.25 : 0.5,
  });
});

test.each(["weight", "kv_cache"])("%s counts alike with rows ahead and without, whatever its own draws are", (name) => {
  const group = groupsOf(input({ watches: draws })).find(({ region_type }) => region_type === name);
  for (const set of [group?.uniform, group?.stores]) {
    const words = (set?.exposures ?? []).flatMap(({ watch: { begin_ns } }, i) => {
      return [{ isFirst: begin_ns < 500 * MS, bytes: set?.weights.bytes[i] ?? 0 }];
    });
    const sumOf = (some: typeof words): number => some.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(words.length).toBe(name === "weight" ? TURNS / 2 : (3 * TURNS) / 8);
    expect(sumOf(words.filter(({ isFirst }) => isFirst)) / sumOf(words)).toBeCloseTo(0.5, 1);
  }
});
