import { expect, test } from "bun:test";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { copiedCaches } from "./brief/copied-caches.ts";
import { pagedBlocks } from "./brief/paged-blocks.ts";
import { resultsBetweenSteps } from "./brief/results-between-steps.ts";

const SEEDS = 10;
const FIGURES = ["read_bytes_per_s", "reads_per_byte_per_token", "working_set_bytes", "write_once_ratio"];

test.each([pagedBlocks, copiedCaches, resultsBetweenSteps])(
  "what is told of $name is true",
  (kind) => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => FIGURES.includes(name)));
    const rows = coverageOf(kind, { seeds: SEEDS, families }).filter(({ metric }) => FIGURES.includes(metric));
    const wrong = rows.filter(({ ok, held, bound, right }) => held + right < ok + bound - 1);
    expect(wrong.map((row) => `${row.region_type} ${row.metric} ${row.phase} ${row.step}`)).toEqual([]);
    // A row without an answer would be true for nothing.
    expect(rows.filter(({ ok, bound }) => ok + bound >= SEEDS / 2).length).toBeGreaterThan(rows.length / 2);
  },
  120_000,
);
