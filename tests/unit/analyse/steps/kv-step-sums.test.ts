/** What steps write where the last batch had not returned: it is no step, and figures have room for its rows. */
import { expect, test } from "bun:test";
import type { KvRowSample, StepSample } from "../../../../src/analyse/input/input.ts";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { kvStepSums } from "../../../../src/analyse/steps/kv-step-sums.ts";
import { input, MS, region } from "../sample-input.ts";
import { one, STEPS } from "../sample-weights.ts";

const written = ({ begin_ns }: StepSample, i: number): KvRowSample => ({
  ...{ write_ns: begin_ns + MS, is_written: true, last_read_ns: Number.NaN, evict_ns: Number.NaN },
  ...{ total_reads: 0, size_bytes: 1024, filling: i, writes: "once" },
});

test("a batch that had not returned is no step, and how many tokens it had is told of its own kind alone", () => {
  const steps: readonly StepSample[] = [
    { begin_ns: 0, end_ns: 10 * MS, step: "prefill", n_tokens: 2 },
    { begin_ns: 10 * MS, end_ns: 20 * MS, step: "decode", n_tokens: 1 },
    { begin_ns: 20 * MS, end_ns: Number.POSITIVE_INFINITY, step: "decode", n_tokens: 5, is_cut: true },
  ];
  const sumsOf = (step: "all" | "prefill" | "decode") =>
    kvStepSums(steps.slice(0, 2).map(written), steps, spanOf("all", step, [[0, 30 * MS]]));
  expect([...sumsOf("all").written_bytes]).toEqual([1024, 1024]);
  expect([...sumsOf("all").tokens]).toEqual([2, 1]);
  expect(["all", "prefill", "decode"].map((step) => sumsOf(step as "all").cut_tokens)).toEqual([5, 0, 5]);
});

test("bytes written by steps may be more by the rows of a batch that had not returned", () => {
  const last = STEPS.at(-1);
  const cut = STEPS.map((step) => (step === last ? ({ ...step, n_tokens: 40, is_cut: true } as const) : step));
  const kvRows = STEPS.slice(0, -1).map(written);
  const regions = [region({ region_type: "kv_cache", size_bytes: 180 * 1024 })];
  const figure = (steps: readonly StepSample[]) =>
    one(computeMetrics(input({ steps, kvRows, regions })), "write_bytes_per_s", "all", "step");
  const [bare, open] = [figure(STEPS.slice(0, -1)), figure(cut)];
  const tokens = STEPS.slice(0, -1).reduce((sum, { n_tokens }) => sum + n_tokens, 0);
  expect(open.status).toBe("ok");
  // Every step writes one row: there is no other width.
  expect((bare.hi ?? 0) / (bare.value ?? 0)).toBeCloseTo(1, 6);
  expect((open.lo ?? 0) / (open.value ?? 0)).toBeCloseTo(1, 6);
  expect((open.hi ?? 0) / (open.value ?? 0)).toBeCloseTo((tokens + 40) / tokens, 6);
});
