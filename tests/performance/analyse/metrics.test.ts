import { expect, test } from "bun:test";
import type { StepSample, WatchSample } from "../../../src/analyse/input/input.ts";
import { noRegions } from "../../../src/analyse/input/region-set.ts";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { OP } from "../../../src/schema/operation.ts";
import type { RegionType } from "../../../src/schema/words.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

const MS = 1e6;
const CLASSES: readonly RegionType[] = ["weight", "kv_cache", "activation", "runtime"];

/** Metrics of `n` watches of 8 hits over four classes and three spans: figures found, and CPU time in seconds. */
function metricsOf(n: number): { readonly figures: number; readonly cpu_s: number } {
  const random = seededRandom(3);
  const run = 60_000 * MS;
  const steps: StepSample[] = [{ step: "prefill", begin_ns: 500 * MS, end_ns: 1000 * MS, n_tokens: 128 }];
  for (let t = 1000 * MS; t < run; t += 5 * MS) {
    steps.push({ step: "decode", begin_ns: t, end_ns: t + 4.5 * MS, n_tokens: 1 });
  }
  const watches = Array.from({ length: n }, (_, i): WatchSample => {
    const begin = 500 * MS + random() * (run - 600 * MS);
    const hit_ns = Float64Array.from({ length: 8 }, () => begin + random() * 60 * MS).sort();
    const region_type = CLASSES[i % 4] ?? "unknown";
    return {
      watch_id: i + 1,
      pid: 1,
      addr: BigInt(8 * i),
      size_bytes: 8,
      mode: "rw",
      design: "short",
      stratum: `${region_type}/${i % 3}`,
      region_type,
      mapping_kind: "anon",
      tensor: null,
      stratum_bytes: 1e6,
      inclusion_probability: 8e-6,
      draw_weight: 1,
      begin_ns: begin,
      end_ns: hit_ns[7] ?? begin,
      ended_by: "trap_limit",
      trap_limit: 8,
      dwell_limit_ns: 60e6,
      hit_ns,
      hit_op: Uint8Array.from({ length: 8 }, () => (random() < 0.6 ? OP.load : OP.store)),
      region_death_ns: null,
      region_birth_ns: 0,
    };
  });
  const before = process.cpuUsage();
  const rows = computeMetrics({
    run_id: "r",
    t0_ns: 0n,
    window_ns: run,
    watches,
    regions: noRegions(),
    steps,
    kvRows: [],
    kvUntold: null,
    kvWritesUntold: null,
    accessSums: [],
    allocations: [],
    streams: [],
    counts: null,
    ledger: [],
    trap_cost_ns: 9000,
    seed: 1,
    sight: [],
  });
  const used = process.cpuUsage(before);
  return { figures: rows.filter((row) => row.status === "ok").length, cpu_s: (used.user + used.system) / 1e6 };
}

test("the metrics of four times as many watches take no more than six times as long", () => {
  metricsOf(2_000);
  const few = metricsOf(5_000);
  const many = metricsOf(20_000);
  process.stderr.write(`metrics of 20,000 watches: ${many.cpu_s.toFixed(2)} s of CPU\n`);
  expect(many.figures).toBeGreaterThan(40);
  // A ratio within one run: the machine's speed cancels out.
  expect(many.cpu_s / few.cpu_s).toBeLessThan(6);
}, 60_000);
