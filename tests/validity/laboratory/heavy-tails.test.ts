/** Words of which few are used so often that most draws meet none of them: shares that fall as a power of how often (Pareto). */
import { expect, setDefaultTimeout, test } from "bun:test";
import { interAccessInterval } from "../../../src/analyse/metrics/inter-access-interval.ts";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";

setDefaultTimeout(180_000);

test("times between passes are at least what is told, also where most passes are over words that no watch was drawn of", () => {
  const kind = describedWorld(
    worldSchema.parse({
      run: "20s",
      strata: [{ class: "weight", bytes: "50MiB", period: "500ms", pareto: 1.2, writes: 0.05 }],
    }),
  );
  const rows = coverageOf(kind, { seeds: 40, first: 700001, families: [interAccessInterval] });
  expect(rows.map(({ metric }) => metric).sort()).toEqual(["iai_p50_ns", "iai_p90_ns", "iai_p99_ns"]);
  for (const { metric, ok, held, bound, right } of rows) {
    expect([metric, held >= 0.9 * ok, right >= 0.97 * bound]).toEqual([metric, true, true]);
  }
  // Of the higher ones something is told: they rest on the many words that are used as seldom as they are.
  expect(rows.find(({ metric }) => metric === "iai_p90_ns")?.bound).toBeGreaterThan(10);
});
