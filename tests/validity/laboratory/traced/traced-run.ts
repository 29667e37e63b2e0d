/** One run of a traced program under a sampler: what the product's sampled figures say of it. */
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { sumAccesses } from "../../../../src/analyse/input/load-access-sums.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import type { AccessKind } from "../../../../src/analyse/sampled/shadow.ts";
import { passGapNs } from "../../../../src/analyse/watched/passes.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { regionsOf } from "../../../fixtures/regions.ts";
import { groupsOf, type Sample } from "../../../fixtures/sampled-rows.ts";
import { input } from "../../../unit/analyse/sample-input.ts";
import { type AccessTrace, regionOf } from "./access-trace.ts";
import type { TracedSampler } from "./trace-samplers.ts";

/** Steps of the program as the timeline has them. */
export function stepsOf({ steps }: AccessTrace, cycleNs: number): StepSample[] {
  return steps.map(({ step, n_tokens, begin_cycle, end_cycle }) => ({
    step,
    n_tokens,
    begin_ns: begin_cycle * cycleNs,
    end_ns: end_cycle * cycleNs,
  }));
}

/** Separates the sampler's numbers from those of the product. */
const SAMPLER_STREAM = 51;
const MEMORY_BYTES = 2 ** 28;

/**
 * @param cycleNs length of a cycle
 * @param unshadowed kinds of accesses of which the product knows that its samples have no shadow
 */
export async function tracedRun(
  trace: AccessTrace,
  sampler: TracedSampler,
  unshadowed: readonly AccessKind[],
  cycleNs: number,
  seed: number,
): Promise<MetricRow[]> {
  const window_ns = Math.round(trace.cycles * cycleNs);
  const steps = stepsOf(trace, cycleNs);
  const samples = sampler
    .sample(trace, seededRandom(seed, SAMPLER_STREAM))
    .map(({ row, cycle, op, period }): Sample => {
      const address = trace.address[row] ?? 0;
      const time_ns = Math.round(cycle * cycleNs);
      return {
        address,
        time_ns,
        region_id: regionOf(trace, address) + 1,
        pid: 1,
        source: sampler.source,
        op,
        period,
      };
    });
  samples.sort((a, b) => a.time_ns - b.time_ns);
  const regions = trace.regions.map(({ addr, ...region }) => ({
    ...region,
    pid: 1,
    addr: BigInt(addr),
    death_ns: window_ns,
  }));
  const accessSums = await sumAccesses(
    {
      regions: regionsOf(regions),
      steps,
      originNs: 0n,
      windowNs: window_ns,
      clears: new Float64Array(0),
      gapNs: passGapNs(null),
      memoryBytes: MEMORY_BYTES,
    },
    () => groupsOf(samples),
  );
  return computeMetrics(input({ window_ns, steps, regions, accessSums, unshadowed, seed }));
}
