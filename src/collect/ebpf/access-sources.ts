/** The sources of accesses in a run: samples of a PMU, watches, or samples that direct watches. */
import { release } from "node:os";
import { MrmTraceError } from "../../errors.ts";
import type { Capability } from "../collector.ts";
import { chooseSources, type SourceChoice, type SourceFacts } from "./samples/choose-sources.ts";
import { readPmus } from "./samples/pmu.ts";
import { openSamples, type SampleReader } from "./samples/samples.ts";
import type { WatchSource } from "./watch/watch.ts";

export interface AccessSourceOptions {
  /** Names of --source. */
  readonly sources: readonly string[];
  readonly budgetPct: number;
  readonly watchRegisters: number;
  readonly seed: number;
}

export interface StartedSources {
  readonly samples: SampleReader | null;
  readonly watch: WatchSource | null;
}

export interface AccessSources {
  capability(): Capability;
  /**
   * Starts what was chosen. Where `auto` chose samples and the kernel refuses them, watches alone.
   * @param watch starts watches within a budget, drawn with regard to the samples where there are any
   * @throws MrmTraceError environment
   */
  start(
    owned: DisposableStack,
    targetsFd: number,
    watch: (budgetPct: number, samples: SampleReader | null) => Promise<WatchSource>,
  ): Promise<StartedSources>;
}

/** This machine, as the choice of sources sees it. */
export function sourceFacts(): SourceFacts {
  return { pmus: readPmus(), kernelRelease: release() };
}

export function createAccessSources(options: AccessSourceOptions, facts: SourceFacts): AccessSources {
  let choice: SourceChoice = chooseSources(options.sources, facts);

  async function samplesOf(targetsFd: number): Promise<SampleReader | null> {
    if (!choice.ok || choice.samples === null) return null;
    const { budgetPct, seed } = options;
    const watches = choice.watch && options.watchRegisters > 0;
    try {
      return await openSamples({
        plan: choice.samples,
        kernelRelease: facts.kernelRelease,
        targetsFd,
        // One budget for both.
        budgetPct: watches ? budgetPct / 2 : budgetPct,
        seed,
      });
    } catch (error) {
      if (!options.sources.includes("auto") || !(error instanceof MrmTraceError)) throw error;
      choice = { ...choice, samples: null, whyNotBetter: `${choice.samples.source}: ${error.message}` };
      return null;
    }
  }

  return {
    capability() {
      if (!choice.ok) return choice;
      const { samples } = choice;
      const watches = choice.watch && options.watchRegisters > 0;
      return {
        ok: true,
        sources: [...(samples === null ? [] : [samples.source]), ...(watches ? ["watch"] : [])],
        whyNotBetter: choice.whyNotBetter,
        identifies: [
          ...(samples === null ? [] : [samples.source]),
          ...(choice.watch ? ["watch"] : []),
          "step",
          "region_map",
        ],
        blindTo: samples === null ? "no PMU sampled the accesses" : "no bytes were watched for every access to them",
      };
    },
    async start(owned, targetsFd, watch) {
      const samples = await samplesOf(targetsFd);
      if (samples !== null) owned.use(samples);
      const watches = choice.ok && choice.watch && options.watchRegisters > 0;
      const budgetPct = samples === null ? options.budgetPct : options.budgetPct / 2;
      return { samples, watch: watches ? owned.use(await watch(budgetPct, samples)) : null };
    },
  };
}
