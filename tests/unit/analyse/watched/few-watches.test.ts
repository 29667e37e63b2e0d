import { describe, expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { StepSample, WatchSample } from "../../../../src/analyse/input/input.ts";
import type { WatchSet } from "../../../../src/analyse/input/watch-set.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { tooFewOfUnnamed, tooFewWatches } from "../../../../src/analyse/watched/few-watches.ts";
import type { LabelEvidence } from "../../../../src/schema/words.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const STEPS: StepSample[] = Array.from({ length: 20 }, (_, i) => {
  return { step: "decode", begin_ns: 50 * i * MS, end_ns: (50 * i + 45) * MS, n_tokens: 1 };
});

/** Watches of which each sees a write and a read in every 20 ms. */
function watches(count: number): WatchSample[] {
  return Array.from({ length: count }, (_, i) => {
    const begin_ns = (i / count) * 890 * MS;
    const first = begin_ns + (((7 * i) % 20) + 0.5) * MS;
    const hits = [0, 20, 40, 60, 80].flatMap((after) => [
      [first + after * MS, "store"] as const,
      [first + (after + 3) * MS, "load"] as const,
    ]);
    return watch(hits, { begin_ns, end_ns: begin_ns + 105 * MS, dwell_limit_ns: 105 * MS, trap_limit: 32 });
  });
}

const run = (count: number, steps: StepSample[] = [], evidence: LabelEvidence = "engine_probe") =>
  input({ watches: watches(count), steps, regions: [region({ region_type: "activation", evidence })] });

function setOf(count: number, steps: StepSample[] = [], evidence?: LabelEvidence): WatchSet {
  const group = groupsOf(run(count, steps, evidence)).find(({ region_type }) => region_type === "activation");
  if (group === undefined) throw new Error("the class is not there");
  return group.uniform;
}

describe("bytes of a kind that none was drawn of", () => {
  test("are 4 % of all at most where 91 watches count alike, and more where fewer do", () => {
    expect(tooFewWatches(setOf(91))).toBeNull();
    expect(tooFewWatches(setOf(89))).toContain("up to 4.1 % of the bytes");
    expect(tooFewWatches(setOf(40))).toContain("by as few as 40 watches up to 8.8 % of the bytes");
  });

  test("are no matter for what is counted in steps of an engine that names its tensors", () => {
    const set = setOf(40, STEPS);
    expect(tooFewOfUnnamed(set)).toBeNull();
    expect(tooFewWatches(set)).not.toBeNull();
    expect(tooFewOfUnnamed(setOf(40))).toBe(tooFewWatches(set));
  });

  test.each(["mapping", "file", "phase", "size"] as const)(
    "are there as many as without steps where only these are known, and memory by its %s",
    (evidence) => {
      expect(tooFewOfUnnamed(setOf(40, STEPS, evidence))).toContain("by as few as 40 watches");
      expect(tooFewOfUnnamed(setOf(91, STEPS, evidence))).toBeNull();
    },
  );
});

describe("what is told over passes by few watches, though all that they saw was alike", () => {
  const few = computeMetrics(run(60));
  const enough = computeMetrics(run(120));
  const rowOf = (rows: readonly MetricRow[], metric: string) =>
    rows.find((row) => row.metric === metric && row.source === "watch");

  test.each(["read_bytes_per_s", "write_bytes_per_s"])("is a lower bound of a sum, with the reason: %s", (metric) => {
    const { status, value, lo, hi, why } = rowOf(few, metric) ?? {};
    expect([status, value, hi]).toEqual(["bound", null, null]);
    expect(lo ?? 0).toBeGreaterThan(0.7 * 50 * 8000);
    expect(why).toContain("busier ones of which none was drawn");
    expect(rowOf(enough, metric)?.status).toBe("ok");
  });

  test.each(["reads_per_write", "hits_per_pass", "iai_p50_ns", "retention_p50_ns", "age_at_read_p50_ns"])(
    "is nothing of %s, which may be anything",
    (metric) => {
      const { status, value, lo, hi } = rowOf(few, metric) ?? {};
      expect([status, value, lo, hi]).toEqual(["insufficient", null, null, null]);
      expect(rowOf(enough, metric)?.status).toBe("ok");
    },
  );

  test("is no ratio of reads and writes where steps are known either", () => {
    const row = rowOf(computeMetrics(run(60, STEPS)), "reads_per_write");
    expect([row?.phase, row?.status, row?.why]).toEqual(["generation", "insufficient", tooFewWatches(setOf(60))]);
  });

  test("is a value of the working set, in which each byte counts once", () => {
    expect(rowOf(few, "working_set_bytes")?.status).toBe("ok");
  });
});
