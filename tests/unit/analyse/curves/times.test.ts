import { describe, expect, test } from "bun:test";
import { type Estimates, estimate } from "../../../../src/analyse/estimate.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import type { RowOf } from "../../../../src/schema/row.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const TRAP_NS = 9_000;

function found(watches: WatchSample[], window_ns: number): Estimates {
  return estimate(
    input({ window_ns, watches, regions: [region({ death_ns: window_ns })], trap_cost_ns: TRAP_NS }),
    null,
  );
}

const pointsOf = ({ curves }: Estimates, name: RowOf<"curves">["curve"]): RowOf<"curves">[] =>
  curves.filter(({ curve, x }) => curve === name && x !== null);

const median = ({ metrics }: Estimates) =>
  metrics.find(({ metric, source }) => metric === "iai_p50_ns" && source === "watch");

/** 600 watches of words that are read some 4 to 6 ms apart, of a program that does nothing for so long after each arming. */
function afterStill(still_ns: number): Estimates {
  const random = seededRandom(3);
  const watches = Array.from({ length: 600 }, (_, i) => {
    const begin_ns = 30 * MS * (i + 1);
    const hits: [number, "load"][] = [];
    for (let after = 5 * MS * random(); after < 20 * MS; after += (4 + 2 * random()) * MS)
      if (after >= still_ns) hits.push([begin_ns + after, "load"]);
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns: begin_ns + 20 * MS, dwell_limit_ns: 20 * MS });
  });
  return found(watches, 18_100 * MS);
}

describe("the curve of times between passes of a program that stands still after armings", () => {
  const band = (from: Estimates, q: number): (number | null)[] => {
    const points = pointsOf(from, "inter_access_interval");
    return [
      points.find(({ ci_high }) => (ci_high ?? 1) >= q)?.x ?? null,
      points.find(({ ci_low }) => (ci_low ?? 0) >= q)?.x ?? null,
    ];
  };
  test("has a band that crosses a half where the interval of the median ends", () => {
    const still = afterStill(MS);
    const { status, lo, hi } = median(still) ?? {};
    expect(status).toBe("ok");
    const [from, end] = band(still, 0.5);
    expect(from).toBeWithin(0.97 * (lo ?? 0), 1.03 * (lo ?? 0));
    expect(end).toBeWithin(0.97 * (hi ?? 0), 1.03 * (hi ?? 0));
  });
  test("has no values, and no lower ends of the share up to a time, where the median is a bound", () => {
    const still = afterStill(8 * MS);
    expect(median(still)).toMatchObject({ status: "bound", value: null, hi: null });
    const points = pointsOf(still, "inter_access_interval");
    expect(points.length).toBeGreaterThan(3);
    expect(points.filter(({ y, ci_low }) => y !== null || ci_low !== null)).toEqual([]);
  });
});

/** Every 10 ms a word is written and read twice, so near that the traps may part what is one pass. */
function parted(): Estimates {
  const random = seededRandom(3);
  const watches = Array.from({ length: 200 }, (_, i) => {
    const begin_ns = 4.95 * MS * i;
    const hits: [number, "load" | "store"][] = [];
    for (let turn = begin_ns + 10 * MS * random(); turn < begin_ns + 100 * MS; turn += 10 * MS)
      hits.push([turn, "store"], [turn + 0.053 * MS, "load"], [turn + 0.106 * MS, "load"]);
    const inside = hits.filter(([time]) => time < begin_ns + 100 * MS);
    return watch(inside, { watch_id: i + 1, begin_ns, end_ns: begin_ns + 100 * MS, trap_limit: 1000 });
  });
  return found(watches, 990 * MS);
}

test("curves of times over passes that traps may have parted have no values, and say nothing of how long the longest are", () => {
  const curves = parted();
  for (const name of ["inter_access_interval", "age_at_read"] as const) {
    const points = pointsOf(curves, name);
    expect(points.length).toBeGreaterThan(1);
    const told = points.filter(
      ({ shape, y, ci_low, ci_high }) => y !== null || (shape === "survival" ? ci_high : ci_low) !== null,
    );
    expect([name, told]).toEqual([name, []]);
    for (const { status, why } of points)
      expect([status, why]).toEqual(["bound", expect.stringContaining("the traps may have parted them")]);
  }
});
