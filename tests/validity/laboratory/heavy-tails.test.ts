/** Words of which few are used so often that most draws meet none of them: shares that fall as a power of how often (Pareto). */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readBytesPerSecond } from "../../../src/analyse/metrics/byte-rates.ts";
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

test("bytes read have room for words like the busiest that was drawn, beyond what drawing again tells", () => {
  const kind = describedWorld(
    worldSchema.parse({
      run: "20s",
      strata: [
        {
          class: "activation",
          bytes: "50MiB",
          period: "4s",
          uneven: 0.5,
          pareto: 0.8,
          writes: 0.3,
          random: ["writes"],
        },
      ],
    }),
  );
  const rows = coverageOf(kind, { seeds: 50, first: 700001, families: [readBytesPerSecond] });
  const read = rows.find(({ metric }) => metric === "read_bytes_per_s");
  expect(read?.ok).toBeGreaterThan(20);
  expect(read?.held).toBeGreaterThanOrEqual(0.88 * (read?.ok ?? 0));
  expect(read?.right).toBe(read?.bound ?? -1);
});
