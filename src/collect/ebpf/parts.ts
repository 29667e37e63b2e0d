/** The parts of the eBPF collector: their programs, and which of them a recording asks for. */
import type { Engine } from "../../engine/engine.ts";
import type { Capability } from "../collector.ts";
import { askedParts, leftOut, sourcesLeft } from "./asked-parts.ts";
import { clockPart, clockPrograms, heatPart } from "./clock/clock-part.ts";
import { enginePart, enginePrograms } from "./engine/engine-part.ts";
import { faultPart, faultPrograms } from "./faults/fault-part.ts";
import { lifecyclePrograms } from "./lifecycle/lifecycle-part.ts";
import type { PartPrograms, PlannedPart } from "./part.ts";
import { residencyPart } from "./residency/residency-part.ts";
import { chooseSources, type SourceFacts } from "./samples/choose-sources.ts";
import { samplePart, samplePrograms } from "./samples/sample-part.ts";
import { watchPart, watchPrograms } from "./watch/watch-part.ts";

/** The programs of every part, in the order in which parts start. */
export const PROGRAMS: readonly PartPrograms[] = [
  lifecyclePrograms,
  faultPrograms,
  enginePrograms,
  clockPrograms,
  samplePrograms,
  watchPrograms,
];

export interface PartOptions {
  /** Debug registers to use on each CPU; 0 watches nothing. */
  readonly watchRegisters: number;
  /** Names of --source: auto, watch, pebs, ibs, clock. */
  readonly sources: readonly string[];
  /** Samples of the timer per second and CPU. */
  readonly clockHz: number;
  readonly seed: number;
  /** True where watches have the whole budget and a part of it by turns; one budget unless told. */
  readonly budgetByTurns?: boolean;
  /** Shared objects of an engine that are known before the target starts: probed at once, so nothing is missed. */
  readonly engineObjects: readonly string[];
  /** Engines that are recognised; those of engines.ts unless told. */
  readonly engines?: readonly Engine[];
  /** True where this process is the tracer's alone, and may go before others; false where it is absent. */
  readonly isOwnProcess?: boolean;
  /** Names of --ebpf: what is recorded beside mappings; everything unless told. */
  readonly parts?: readonly string[];
}

export interface Plan {
  readonly ok: true;
  /** What is started beside the mappings that every recording has, in order. */
  readonly parts: readonly PlannedPart[];
  /** Why no better source of accesses is used; empty where the best one is. */
  readonly whyNotBetter: string;
  /** What --ebpf left out; null where nothing was. */
  readonly leftOut: string | null;
}

/** The parts that the options ask for on this machine, or why that cannot be. */
export function planParts(options: PartOptions, facts: SourceFacts): Plan | Extract<Capability, { ok: false }> {
  const { seed, watchRegisters } = options;
  const asked = askedParts(options.parts);
  const sources = sourcesLeft(asked, options.sources);
  const choice = chooseSources(sources, facts);
  if (!choice.ok) return choice;
  const parts: PlannedPart[] = asked.residency ? [residencyPart] : [];
  if (asked.faults) parts.push(faultPart);
  if (asked.engine) parts.push(enginePart(options.engineObjects, options.engines));
  const hasDraws = choice.watch && watchRegisters > 0 && asked.words.length === 0;
  if (choice.clock) parts.push(clockPart({ hz: options.clockHz, seed, hasDraws }));
  else if (hasDraws && choice.samples === null && facts.arch === "x64") parts.push(heatPart({ seed }));
  if (choice.samples !== null) {
    const { kernelRelease } = facts;
    parts.push(samplePart({ plan: choice.samples, kernelRelease, seed, canDoWithout: sources.includes("auto") }));
  }
  if (choice.watch && watchRegisters > 0)
    parts.push(
      watchPart({
        registers: watchRegisters,
        seed,
        byTurns: options.budgetByTurns ?? false,
        words: asked.words,
        isOwnProcess: options.isOwnProcess ?? false,
      }),
    );
  return { ok: true, parts, whyNotBetter: choice.whyNotBetter, leftOut: leftOut(asked) };
}

/** Why nothing is known of accesses, best first: the reason of the best source that is used counts. */
const BEST_FIRST = [samplePrograms.name, watchPrograms.name, clockPrograms.name];

/** What the parts of a plan can tell, and why nothing else. */
export function capabilityOf({ parts, whyNotBetter, leftOut }: Plan): Capability {
  const ranked = BEST_FIRST.flatMap((name) => parts.filter((part) => part.name === name));
  const others = parts.filter((part) => !ranked.includes(part));
  return {
    ok: true,
    sources: ranked.flatMap(({ sources }) => sources),
    whyNotBetter,
    identifies: [...[...ranked, ...others].flatMap(({ identifies }) => identifies), "region_map"],
    blindTo: leftOut ?? ranked[0]?.blindTo ?? "no bytes were watched, and no accesses sampled",
  };
}
