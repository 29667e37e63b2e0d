/** The sources of accesses in a run: samples of a PMU, watches, or samples that direct watches; a timer by its name. */
import { release } from "node:os";
import { MrmTraceError } from "../../errors.ts";
import type { Capability } from "../collector.ts";
import { type ClockSource, openClock } from "./clock/clock.ts";
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
  /** Samples of the timer per second and CPU. */
  readonly clockHz: number;
}

export interface StartedSources {
  readonly clock: ClockSource | null;
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
  return { pmus: readPmus(), kernelRelease: release(), arch: process.arch };
}

export function createAccessSources(options: AccessSourceOptions, facts: SourceFacts): AccessSources {
  let choice: SourceChoice = chooseSources(options.sources, facts);

  function watches(): boolean {
    return choice.ok && choice.watch && options.watchRegisters > 0;
  }

  async function clockOf(targetsFd: number): Promise<ClockSource | null> {
    if (!choice.ok || !choice.clock) return null;
    const alone = choice.samples === null && !watches();
    // The others need the rest of the one budget.
    const budgetPct = alone ? options.budgetPct : options.budgetPct / 2;
    return await openClock({ hz: options.clockHz, budgetPct, targetsFd, seed: options.seed });
  }

  async function samplesOf(targetsFd: number, budgetPct: number): Promise<SampleReader | null> {
    if (!choice.ok || choice.samples === null) return null;
    const { seed } = options;
    try {
      return await openSamples({
        plan: choice.samples,
        kernelRelease: facts.kernelRelease,
        targetsFd,
        // One budget for both.
        budgetPct: watches() ? budgetPct / 2 : budgetPct,
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
      const timer = choice.clock ? ["clock"] : [];
      return {
        ok: true,
        sources: [...(samples === null ? [] : [samples.source]), ...(watches() ? ["watch"] : []), ...timer],
        whyNotBetter: choice.whyNotBetter,
        identifies: [
          ...(samples === null ? [] : [samples.source]),
          ...(choice.watch ? ["watch"] : []),
          ...timer,
          "step",
          "region_map",
        ],
        blindTo:
          samples !== null
            ? "no bytes were watched for every access to them"
            : choice.watch || !choice.clock
              ? "no PMU sampled the accesses"
              : "a timer samples time, not accesses, and no bytes were watched",
      };
    },
    async start(owned, targetsFd, watch) {
      const clock = await clockOf(targetsFd);
      if (clock !== null) owned.use(clock);
      const left = options.budgetPct - (clock?.spendsPct ?? 0);
      const samples = await samplesOf(targetsFd, left);
      if (samples !== null) owned.use(samples);
      const budgetPct = samples === null ? left : left / 2;
      return { clock, samples, watch: watches() ? owned.use(await watch(budgetPct, samples)) : null };
    },
  };
}
