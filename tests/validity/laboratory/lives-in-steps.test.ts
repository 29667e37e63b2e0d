import { expect, test } from "bun:test";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { LIVES_IN_STEPS } from "./lives-in-steps.ts";

const SEEDS = 40;
const READS = ["read_bytes_per_s", "reads_per_byte_per_token"];

test.each(LIVES_IN_STEPS)(
  "reads of $name are true by time and by steps",
  (kind) => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => READS.includes(name)));
    const rows = coverageOf(kind, { seeds: SEEDS, families }).filter(({ metric }) => READS.includes(metric));
    expect(rows.map(({ phase, step }) => `${phase}/${step}`)).toEqual([
      "all/all",
      "generation/all",
      "generation/decode",
    ]);
    for (const { ok, held, bound, right, ratio } of rows) {
      expect(ok).toBeGreaterThanOrEqual(SEEDS / 2);
      expect(held + right).toBeGreaterThanOrEqual(0.9 * (ok + bound));
      expect(ratio ?? 0).toBeWithin(0.85, 1.15);
    }
  },
  240_000,
);
