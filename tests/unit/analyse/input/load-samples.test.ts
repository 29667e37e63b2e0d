import { expect, test } from "bun:test";
import { watchSamples } from "../../../../src/analyse/input/load-samples.ts";
import type { WatchHits } from "../../../../src/label/capture/watch-hits.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** A watch that was drawn from a cache, and began 10 ms after that was freed; its traps come later. */
const hits = (): WatchHits => {
  const sample = watch([[40 * MS, "load"]], { region_type: "kv_cache", begin_ns: 10 * MS, end_ns: 60 * MS });
  const { watch_id, pid, addr, mode, begin_ns, end_ns, hit_ns, hit_op } = sample;
  const row = { ...sample, n_accesses: 1 } as unknown as WatchHits["row"];
  return { watch_id, pid, addr, mode, begin_ns, end_ns, hit_ns, hit_op, row };
};

/** Of memory that came at 30 ms. */
const deathOver = (region_type: "kv_cache" | "runtime") => {
  const { regions } = input({ regions: [region({ region_type, birth_ns: 30 * MS })] });
  const [sample] = watchSamples([hits()], regions, { find: (_pid, _addr, time) => (time >= 30 * MS ? 0 : -1) });
  return sample?.region_death_ns;
};

test("where nothing lay as a watch began, what comes later for another class ends it", () => {
  expect(deathOver("runtime")).toBe(30 * MS);
});

test("memory of its own class that the map has a little later is what it was drawn from", () => {
  expect(deathOver("kv_cache")).toBeNull();
});
