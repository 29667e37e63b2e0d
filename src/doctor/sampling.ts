/** Whether the kernel opens the sampling events of this machine's PMU: opened for a moment, for no process. */
import { type SamplePlan, UNTESTED } from "../collect/ebpf/samples/choose-sources.ts";
import { openSamples } from "../collect/ebpf/samples/samples.ts";
import { MrmTraceError } from "../errors.ts";
import { openBpfObject } from "../kernel/open-bpf-object.ts";
import { check } from "../schema/check.ts";
import type { Check } from "../schema/examination.ts";

export interface SamplingFacts {
  readonly source: string;
  readonly events: readonly string[];
  /** Why nothing was opened, and the fix; null where it was. */
  readonly refused: { readonly message: string; readonly hint: string } | null;
}

/** The least that sampling may cost: the events are open for some ms only. */
const BUDGET_PCT = 0.01;

/** Opens the events of a plan on every CPU and closes them. No process is watched: every sample is left out. */
export async function samplingFacts(plan: SamplePlan, kernelRelease: string): Promise<SamplingFacts> {
  const source = plan.source;
  const events = plan.events.map(({ pmu, name }) => `${pmu}/${name}`);
  try {
    using lifecycle = await openBpfObject("lifecycle");
    const targetsFd = lifecycle.map("targets").fd;
    using _opened = await openSamples({ plan, kernelRelease, targetsFd, budgetPct: BUDGET_PCT, seed: 1 });
    return { source, events, refused: null };
  } catch (error) {
    if (!(error instanceof MrmTraceError)) throw error;
    return { source, events, refused: { message: error.message, hint: error.hint } };
  }
}

export function judgeSampling(facts: SamplingFacts): Check {
  const { source, events, refused } = facts;
  const data = { ...facts };
  if (refused === null)
    return check("sampling", "ok", `${source}: ${events.join(", ")} open on their CPUs; ${UNTESTED}`, { data });
  const summary = `${source} is there, and the kernel refuses it: ${refused.message.split("\n")[0]}`;
  return check("sampling", "warn", summary, { fix: refused.hint, data });
}
