/** The part that samples accesses with the PMU. */
import { MrmTraceError } from "../../../errors.ts";
import { ATTENTIVE_MS, type Part, type PartPrograms, type PlannedPart, type Scene } from "../part.ts";
import type { SamplePlan } from "./choose-sources.ts";
import { loadSampleObject } from "./sample-program.ts";
import { sampleWarnings } from "./sample-summary.ts";
import { ASSUMED_SAMPLE_NS, openSamples, type SampleReader } from "./samples.ts";

export interface SamplePartOptions {
  readonly plan: SamplePlan;
  /** Such as 6.12.117+deb12-amd64. */
  readonly kernelRelease: string;
  readonly seed: number;
  /** True where the run goes on without samples if the kernel refuses them. */
  readonly canDoWithout: boolean;
}

export const samplePrograms: PartPrograms = {
  name: "samples",
  gives: "hardware samples",
  required: false,
  tells: ["samples"],
  load: async (reuse) => ({ object: (await loadSampleObject(reuse)).object, uprobeMulti: false }),
};

async function startSamples(options: SamplePartOptions, scene: Scene): Promise<Part | { readonly refused: string }> {
  const { plan, kernelRelease, seed } = options;
  const share = scene.budget.next();
  const { targetsFd } = scene.mappings;
  try {
    const samples = await openSamples({ plan, kernelRelease, targetsFd, budgetPct: share.pct, seed });
    share.take(share.pct);
    return partOf(samples, plan.source);
  } catch (error) {
    if (!options.canDoWithout || !(error instanceof MrmTraceError)) throw error;
    return { refused: `${plan.source}: ${error.message}` };
  }
}

function partOf(samples: SampleReader, source: SamplePlan["source"]): Part {
  return {
    name: samplePrograms.name,
    sees: { stream: "access", source },
    offers: { heat: samples.heat },
    patienceMs: ATTENTIVE_MS,
    poll(nowNs) {
      samples.poll(nowNs);
      return samples.drain();
    },
    detach: () => samples.detach(),
    stop: () => ({ batches: samples.drain(), ledger: samples.ledger() }),
    account: () => samples.ledger(),
    costs: () => [{ what: "samples", count: samples.summary().samples, each_ns: ASSUMED_SAMPLE_NS, is_budgeted: true }],
    warnings: () => sampleWarnings(samples.summary()),
    details: () => ({ samples: samples.summary() }),
    [Symbol.dispose]: () => samples[Symbol.dispose](),
  };
}

export function samplePart(options: SamplePartOptions): PlannedPart {
  const { source } = options.plan;
  return {
    name: samplePrograms.name,
    sources: [source],
    identifies: [source],
    blindTo: "no bytes were watched for every access to them",
    spends: true,
    start: (scene) => startSamples(options, scene),
  };
}
