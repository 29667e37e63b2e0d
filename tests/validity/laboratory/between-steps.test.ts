import { expect, test } from "bun:test";
import { readBytesPerSecond } from "../../../src/analyse/metrics/byte-rates.ts";
import { readsPerWrite } from "../../../src/analyse/metrics/reads-per-write.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { BETWEEN_STEPS } from "./between-steps.ts";

const SEEDS = 30;

test.each(BETWEEN_STEPS)(
  "reads of $name are true, whatever of the time between steps the windows happen to hold",
  (kind) => {
    const rows = coverageOf(kind, { seeds: SEEDS, families: [readBytesPerSecond, readsPerWrite] });
    const whole = rows.filter(({ phase, step }) => phase === "generation" && step === "all");
    expect(whole.map(({ metric }) => metric)).toEqual(["read_bytes_per_s", "reads_per_write"]);
    for (const { ok, held, ratio } of whole) {
      expect(ok).toBe(SEEDS);
      expect(held).toBeGreaterThanOrEqual(0.9 * SEEDS);
      expect(ratio ?? 0).toBeWithin(0.95, 1.05);
    }
  },
  240_000,
);
