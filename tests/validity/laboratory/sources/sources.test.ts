/** What sources other than watches say of worlds of which everything is known; the seeds are fixed, so that the outcome is too. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { MAPPED_REGIONS } from "./mapped-regions.ts";
import { sourceCoverage } from "./source-worlds.ts";

setDefaultTimeout(60_000);

const RUNS = 5;

test.each(MAPPED_REGIONS.map((world) => [world.name, world] as const))(
  "what the map of regions says is true in every run, whatever becomes of what is alive: %s",
  async (_, world) => {
    const rows = await sourceCoverage(world, { seeds: RUNS });
    expect(rows.map(({ metric }) => metric).sort()).toEqual([
      "allocated_bytes",
      "lifetime_p50_ns",
      "lifetime_p90_ns",
      "lifetime_p99_ns",
    ]);
    for (const { metric, ok, held, bound, right } of rows) {
      expect([metric, held + right]).toEqual([metric, ok + bound]);
      expect([metric, ok + bound]).toEqual([metric, RUNS]);
    }
  },
);
