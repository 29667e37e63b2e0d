/** A program that does nothing else: four words by turns, watched by up to three at once. */
import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../../src/analyse/figures/metric-row.ts";
import { computeMetrics } from "../../../../../src/analyse/metrics/registry.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

const TRAP_NS = 9000;
const ROUND_NS = 160_000;
const TRAPS = 8;
const TURN_NS = 20 * MS;
const TURNS = 120;
const TOGETHER = 3;

/** Every 20 ms three watches begin together; the program goes round a buffer, each word of which it reads once a round, and stands still in each trap. */
function readPerSecond(): MetricRow | undefined {
  const random = seededRandom(5);
  const watches = Array.from({ length: TURNS }, (_, turn) => {
    const begin_ns = turn * TURN_NS;
    const places = Array.from({ length: TOGETHER }, () => random()).sort((a, b) => a - b);
    const from = random();
    const hits = places.map((): [number, "load"][] => []);
    // Place and round in the program's own time; what traps take comes to it.
    let stood_ns = 0;
    for (let round = 0; hits.some((mine) => mine.length < TRAPS); round++) {
      for (const [i, place] of places.entries()) {
        const own_ns = (round + place - from) * ROUND_NS;
        if (own_ns < 0 || (hits[i]?.length ?? 0) >= TRAPS) continue;
        hits[i]?.push([begin_ns + own_ns + stood_ns, "load"]);
        stood_ns += TRAP_NS;
      }
    }
    return hits.map((mine, i) =>
      watch(mine, {
        watch_id: TOGETHER * turn + i + 1,
        begin_ns,
        end_ns: mine.at(-1)?.[0] ?? begin_ns,
        ended_by: "trap_limit",
        trap_limit: TRAPS,
        dwell_limit_ns: 10 * MS,
      }),
    );
  }).flat();
  const window_ns = TURNS * TURN_NS;
  const rows = computeMetrics(
    input({ window_ns, watches, regions: [region({ death_ns: window_ns })], trap_cost_ns: TRAP_NS }),
  );
  return rows.find(({ metric, source }) => metric === "read_bytes_per_s" && source === "watch");
}

describe("a program that works all the time, and is slowed by the traps while it is watched", () => {
  test("may have read what it would have without them", () => {
    const row = readPerSecond();
    const bytes = region().size_bytes ?? 0;
    const unwatched = (bytes * 1e9) / ROUND_NS;
    const watched = (bytes * 1e9) / (ROUND_NS + TOGETHER * TRAP_NS);
    expect(row?.status).toBe("ok");
    expect([(row?.lo ?? 0) <= watched, (row?.hi ?? 0) >= unwatched]).toEqual([true, true]);
  });
});
