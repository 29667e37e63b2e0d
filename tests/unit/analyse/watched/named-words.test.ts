import { describe, expect, test } from "bun:test";
import { estimate } from "../../../../src/analyse/estimate.ts";
import type { AnalysisInput, WatchSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const RUN = 4000 * MS;
const CYCLE = 100 * MS;
/** Idle for the rest of each cycle. */
const BUSY = 30 * MS;
const EVERY = 0.1 * MS;
/** Accesses after which a watch of a word that was named is ended, and the next one begins. */
const ENOUGH = 40;

/** One busy word, watched again as soon as its accesses ended a watch. */
function namedWatches(): WatchSample[] {
  const place = { stratum: "named/1", stratum_bytes: 8, inclusion_probability: 1, design: "long" } as const;
  const watches: WatchSample[] = [];
  let hits: [number, "load"][] = [];
  let begin_ns = 0;
  for (let cycle = 0; cycle < RUN; cycle += CYCLE) {
    for (let time = cycle + 70 * MS; time < cycle + 70 * MS + BUSY; time += EVERY) {
      hits.push([time, "load"]);
      if (hits.length < ENOUGH) continue;
      const times = { watch_id: watches.length + 1, begin_ns, end_ns: time, dwell_limit_ns: 10_000 * MS };
      watches.push(watch(hits, { ...place, ...times, trap_limit: 1 << 16 }));
      hits = [];
      begin_ns = time;
    }
  }
  return watches;
}

/** Words that were drawn from all bytes of the class. */
const drawnWatches = (): WatchSample[] =>
  Array.from({ length: 400 }, (_, i) => {
    const begin_ns = (i * (RUN - 100 * MS)) / 400;
    const hits = [10, 40, 70].map((ms) => [begin_ns + ms * MS, "load"] as const);
    return watch(hits, { watch_id: i + 1, addr: BigInt(4096 + 8 * i), begin_ns, end_ns: begin_ns + 100 * MS });
  });

const of = (watches: WatchSample[]): AnalysisInput =>
  input({ window_ns: RUN, watches, regions: [region({ death_ns: RUN, addr: 4096n })] });

const WHY = "was named, not drawn";

describe("a word that was named", () => {
  const rows = computeMetrics(of(namedWatches()));

  test("tells no figure of its class: when its watches begin is what its accesses said", () => {
    for (const { metric, source, status, value, lo, hi } of rows) {
      if (source !== "watch") continue;
      expect([metric, status, value, lo, hi]).toEqual([metric, "not_identifiable", null, null, null]);
    }
    for (const metric of ["next_use_p50_ns", "iai_p90_ns", "read_bytes_per_s", "working_set_bytes", "hits_per_pass"]) {
      expect(rows.find((row) => row.metric === metric)?.why).toContain(WHY);
    }
    expect(rows.find(({ metric }) => metric === "suitability")).toMatchObject({ status: "not_identifiable" });
  });

  test("has no curve either", () => {
    const { curves } = estimate(of(namedWatches()), null);
    const ofWatches = curves.filter(({ source }) => source === "watch");
    expect(ofWatches.length).toBeGreaterThan(0);
    for (const { curve, status, x } of ofWatches) expect([curve, status, x]).toEqual([curve, "not_identifiable", null]);
  });

  test("leaves what the map tells of its class", () => {
    const ofMap = (watches: WatchSample[]) =>
      computeMetrics(of(watches)).filter(({ metric }) => metric.startsWith("lifetime"));
    expect(ofMap(namedWatches())).toEqual(ofMap([]));
  });

  test("changes nothing of what drawn words tell beside it", () => {
    const drawn = drawnWatches();
    const beside = namedWatches().map((one) => ({
      ...one,
      watch_id: one.watch_id + drawn.length,
      stratum: "breakpoint/1",
    }));
    expect(computeMetrics(of([...drawn, ...beside]))).toEqual(computeMetrics(of(drawn)));
  });
});
