import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { allowingForTraps, TRAPPED, withoutTraps } from "../../../../src/analyse/watched/trap-delay.ts";
import { interval } from "../../../../src/statistics/interval.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const TRAP_NS = 16_000;
const WATCHES = 200;

/** Every 10 ms a word is written, and read `reads` times from `after_ns` on; each access waits for the trap of the one before. */
function figures(after_ns: number, reads: number, count = WATCHES): Map<string, MetricRow> {
  const random = seededRandom(3);
  const watches = Array.from({ length: count }, (_, i) => {
    const begin = (i * 990 * MS) / count;
    const hits: [number, "load" | "store"][] = [];
    for (let turn = begin + 10 * random() * MS; turn < begin + 100 * MS; turn += 10 * MS) {
      let time = turn;
      const add = (op: "load" | "store", apart_ns: number): void => {
        time += apart_ns;
        hits.push([time, op]);
        time += TRAP_NS * (0.9 + 0.2 * random());
      };
      add("store", 0);
      for (let k = 0; k < reads; k++) add("load", after_ns);
    }
    const inside = hits.filter(([time]) => time < begin + 100 * MS);
    return watch(inside, { watch_id: i + 1, begin_ns: begin, end_ns: begin + 100 * MS, trap_limit: 1000 });
  });
  const rows = computeMetrics(input({ watches, regions: [region()], trap_cost_ns: TRAP_NS }));
  return new Map(rows.filter(({ source }) => source === "watch").map((row) => [row.metric, row]));
}

describe("times between accesses, in each of which the program stands still for a trap", () => {
  test("that are shorter than a trap have an upper end only, and say why", () => {
    const rows = figures(400, 1);
    for (const metric of ["age_at_read_p50_ns", "retention_p50_ns", "retention_p90_ns"]) {
      const row = rows.get(metric);
      expect([row?.status, row?.value, row?.lo, row?.why]).toEqual(["bound", null, 0, TRAPPED]);
      expect(row?.hi).toBeWithin(400, 2 * TRAP_NS);
    }
  });
  test("are as short at the 99th percentile", () => {
    expect(figures(400, 1, 400).get("retention_p99_ns")).toMatchObject({ status: "bound", lo: 0, why: TRAPPED });
  });
  test("that are longer have intervals that hold the time without the traps", () => {
    const rows = figures(300_000, 4);
    const kept = rows.get("retention_p50_ns");
    expect(kept?.status).toBe("ok");
    expect([(kept?.lo ?? 1e12) <= 4 * 300_000, 4 * 300_000 <= (kept?.hi ?? 0)]).toEqual([true, true]);
    expect(kept?.lo).toBeGreaterThan(4 * 300_000 - 8 * TRAP_NS);
    const apart = rows.get("iai_p50_ns");
    expect([(apart?.lo ?? 1e12) <= 300_000, 300_000 <= (apart?.hi ?? 0)]).toEqual([true, true]);
  });
});

test("a time never becomes less than nothing", () => {
  expect(withoutTraps(10_000, 1, TRAP_NS)).toBe(0);
  expect(withoutTraps(10_000, 0, TRAP_NS)).toBe(10_000);
});
test("what has no end stays without", () => {
  const nothing = interval(null, null, null);
  expect(allowingForTraps(nothing, nothing)).toEqual({ estimate: nothing, why: null });
});
test("data that nothing reads is kept for no time, traps or not", () => {
  const none = interval(0, 0, 0);
  expect(allowingForTraps(none, none)).toEqual({ estimate: none, why: null });
});
