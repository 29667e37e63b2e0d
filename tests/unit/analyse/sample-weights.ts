import type { MetricRow } from "../../../src/analyse/figures/metric-row.ts";
import type { StepSample, WatchSample } from "../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { type GivenInput, input, MS, region, watch } from "./sample-input.ts";

/** Steps of one token, every 5 ms, from 100 ms on. */
export const STEPS: StepSample[] = Array.from({ length: 180 }, (_, i) => ({
  step: "decode",
  begin_ns: (100 + 5 * i) * MS,
  end_ns: (104.5 + 5 * i) * MS,
  n_tokens: 1,
}));

/** Watches of one read per 5 ms token. */
export function readers(count: number, over: Partial<WatchSample> = {}): WatchSample[] {
  return Array.from({ length: count }, (_, i) => {
    const begin = (105 + 14 * i + ((3 * i) % 5)) * MS;
    const first = Math.ceil(begin / (5 * MS)) * 5 * MS + 1 * MS;
    const hits = Array.from({ length: 8 }, (_, k) => [first + 5 * k * MS, "load"] as const);
    return watch(hits, {
      begin_ns: begin,
      end_ns: first + 35 * MS,
      ended_by: "trap_limit",
      region_type: "weight",
      mapping_kind: "file",
      ...over,
    });
  });
}

/** The only row of a figure, of a kind of step and a source; throws where there is none. */
export function one(rows: readonly MetricRow[], metric: string, step = "all", source = "watch"): MetricRow {
  const found = rows.find((r) => r.metric === metric && r.step === step && r.source === source);
  if (!found) throw new Error(`no row ${metric} ${step} ${source}`);
  return found;
}

/** Figures of weights that each of 60 watches sees read once in each step. */
export function weights(over: GivenInput = {}): MetricRow[] {
  return computeMetrics(
    input({
      watches: readers(60),
      steps: STEPS,
      regions: [region({ region_type: "weight", mapping_kind: "file", evidence: "file_header" })],
      ...over,
    }),
  );
}
