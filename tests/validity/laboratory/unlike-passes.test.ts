import { expect, test } from "bun:test";
import { hitsPerPass } from "../../../src/analyse/metrics/hits-per-pass.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { UNLIKE_PASSES } from "./unlike-passes.ts";

const SEEDS = 20;

test.each(UNLIKE_PASSES)(
  "accesses per pass of $name are in the interval, though few words have most of them",
  (kind) => {
    const rows = coverageOf(kind, { seeds: SEEDS, families: [hitsPerPass] });
    expect(rows.map(({ phase }) => phase).sort()).toEqual(["all", "generation"]);
    for (const { ok, held, bound, right } of rows) {
      expect(ok + bound).toBeGreaterThanOrEqual(SEEDS / 4);
      expect(held).toBeGreaterThanOrEqual(0.9 * ok);
      expect(right).toBeGreaterThanOrEqual(0.9 * bound);
    }
  },
  240_000,
);
