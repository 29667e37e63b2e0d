import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const TRAP_NS = 9_000;
const WATCHES = 200;
const RUN_NS = 990 * MS;
const TURN_NS = 10 * MS;

/** Every 10 ms a word is written and read twice, so far apart; each access waits for the trap of the one before. */
function figures(apart_ns: number, trap_ns = TRAP_NS): Map<string, MetricRow> {
  const random = seededRandom(3);
  const watches = Array.from({ length: WATCHES }, (_, i) => {
    const begin = (i * RUN_NS) / WATCHES;
    const hits: [number, "load" | "store"][] = [];
    for (let turn = begin + TURN_NS * random(); turn < begin + 100 * MS; turn += TURN_NS) {
      const step = apart_ns + trap_ns;
      hits.push([turn, "store"], [turn + step, "load"], [turn + 2 * step, "load"]);
    }
    const inside = hits.filter(([time]) => time < begin + 100 * MS);
    return watch(inside, { watch_id: i + 1, begin_ns: begin, end_ns: begin + 100 * MS, trap_limit: 1000 });
  });
  const rows = computeMetrics(input({ watches, regions: [region()], trap_cost_ns: TRAP_NS }));
  return new Map(rows.filter(({ source }) => source === "watch").map((row) => [row.metric, row]));
}

describe("accesses that are one pass without the traps between them, and three with them", () => {
  const parted = figures(44_000);
  const joined = figures(20_000);
  const apart = figures(200_000);

  test("have ends of the bytes read and written that hold both", () => {
    for (const metric of ["read_bytes_per_s", "write_bytes_per_s"]) {
      const truth = joined.get(metric)?.value ?? Number.NaN;
      expect(truth).toBeGreaterThan(0);
      expect(parted.get(metric)?.lo ?? 1e99).toBeLessThanOrEqual(truth);
    }
    expect(parted.get("read_bytes_per_s")).toMatchObject({ status: "bound", value: null });
    expect(parted.get("read_bytes_per_s")?.why).toContain("so soon after another that the traps may have parted them");
  });
  test("have no upper end of accesses per pass, and none of the times over passes", () => {
    for (const metric of ["hits_per_pass", "iai_p50_ns", "age_at_read_p50_ns"]) {
      expect([metric, parted.get(metric)?.value, parted.get(metric)?.hi]).toEqual([metric, null, null]);
    }
    expect(parted.get("iai_p50_ns")?.lo ?? 1e99).toBeLessThanOrEqual(joined.get("iai_p50_ns")?.value ?? 0);
  });
  test("have reads per write that hold both", () => {
    const { lo, hi } = parted.get("reads_per_write") ?? {};
    expect(joined.get("reads_per_write")?.value).toBeCloseTo(1, 1);
    expect([(lo ?? 1e99) <= 1, (hi ?? 1e99) >= 1]).toEqual([true, true]);
  });
  test("are values where they are far from both", () => {
    for (const metric of ["read_bytes_per_s", "hits_per_pass", "iai_p50_ns", "reads_per_write"]) {
      expect([metric, apart.get(metric)?.status]).toEqual([metric, "ok"]);
      expect([metric, joined.get(metric)?.status]).toEqual([metric, "ok"]);
    }
  });
});
