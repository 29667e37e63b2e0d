/** What our BPF programs cost and skipped: run time sampled, because measuring it costs 50 ns per run of every program. */
import { enableBpfStats, type ProgramCost } from "./bpf-program.ts";

export interface CostedProgram {
  readonly name: string;
  /** The object that it is a part of. */
  readonly object: string;
  cost(): ProgramCost;
}

export interface BpfCost {
  readonly name: string;
  /** The object that the program is a part of. */
  readonly object: string;
  /** Run time of the whole run, from the sampled share of it, in ns; excludes what the kernel does to get there. */
  readonly run_ns: number;
  /** Runs seen while sampled. */
  readonly sampled_runs: number;
  /** Share of the time that was sampled, 0 to 1. */
  readonly sampled_share: number;
  /** Runs that the kernel skipped because a program was running on that CPU already; always counted. */
  readonly recursion_misses: number;
}

/** What the kernel skipped of a program. */
export interface SkippedRuns extends Pick<BpfCost, "name" | "object" | "recursion_misses"> {
  /** Runs that there were, from the sampled share of the time; null where none of it was sampled. */
  readonly runs: number | null;
}

const live = new Set<CostedProgram>();

/** Makes the programs of a loaded object known until disposed. */
export function registerPrograms(programs: readonly CostedProgram[]): Disposable {
  for (const program of programs) live.add(program);
  return {
    [Symbol.dispose]() {
      for (const program of programs) live.delete(program);
    },
  };
}

/** Statistics are on for this long ... */
const ON_NS = 40_000_000n;
/** ... in every so long: 4 % of the time. */
const EVERY_NS = 1_000_000_000n;

export interface CostSampler extends Disposable {
  /** Switches the kernel's statistics on and off as time passes; call it every few milliseconds. */
  poll(nowNs: bigint): void;
  /** Costs so far, scaled to the whole time since the start; empty where the kernel refuses statistics. */
  costs(nowNs: bigint): BpfCost[];
  /** What was skipped so far, of every program of which a run was; counted though nothing was sampled. */
  skipped(nowNs: bigint): SkippedRuns[];
}

/** Starts sampling the run time of every program that is loaded, now or later. */
export function sampleBpfCosts(startNs: bigint): CostSampler {
  let on: Disposable | null = null;
  let sinceNs = 0n;
  let sampledNs = 0n;
  // Not at once: the burst of faults of a starting program would stand for the whole run.
  let nextNs = startNs + EVERY_NS / 2n;
  const off = (nowNs: bigint): void => {
    if (on === null) return;
    on[Symbol.dispose]();
    on = null;
    sampledNs += nowNs - sinceNs;
  };
  const shareOf = (nowNs: bigint): number => Number(sampledNs) / Number(nowNs - startNs);
  return {
    poll(nowNs) {
      if (on !== null && nowNs - sinceNs >= ON_NS) off(nowNs);
      if (on !== null || nowNs < nextNs) return;
      on = enableBpfStats();
      sinceNs = nowNs;
      nextNs = nowNs + EVERY_NS;
    },
    costs(nowNs) {
      off(nowNs);
      if (sampledNs === 0n) return [];
      const share = shareOf(nowNs);
      return [...live].map((program) => {
        const { run_ns, run_count, recursion_misses } = program.cost();
        return {
          name: program.name,
          object: program.object,
          run_ns: Number(run_ns) / share,
          sampled_runs: Number(run_count),
          sampled_share: share,
          recursion_misses: Number(recursion_misses),
        };
      });
    },
    skipped(nowNs) {
      off(nowNs);
      return [...live].flatMap(({ name, object, cost }) => {
        const { run_count, recursion_misses } = cost();
        if (recursion_misses === 0n) return [];
        const runs = sampledNs === 0n ? null : Math.round(Number(run_count) / shareOf(nowNs));
        return [{ name, object, recursion_misses: Number(recursion_misses), runs }];
      });
    },
    [Symbol.dispose]() {
      on?.[Symbol.dispose]();
      on = null;
    },
  };
}
