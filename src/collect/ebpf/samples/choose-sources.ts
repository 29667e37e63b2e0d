/** Which sources of accesses a run uses, and why not a better one. */
import { amdEvents } from "./amd-events.ts";
import { intelEvents } from "./intel-events.ts";
import type { Pmu } from "./pmu.ts";
import type { EventChoice, SampleEvent, SampleSource } from "./sample-event.ts";

/** The part of a machine that decides. */
export interface SourceFacts {
  readonly pmus: readonly Pmu[];
  /** Such as 6.12.117+deb12-amd64. */
  readonly kernelRelease: string;
  /** As process.arch; x64 unless told. */
  readonly arch?: string;
}

export interface SamplePlan {
  readonly source: SampleSource;
  readonly events: readonly SampleEvent[];
}

export type SourceChoice =
  | {
      readonly ok: true;
      readonly samples: SamplePlan | null;
      readonly watch: boolean;
      /** Only where it was asked for: a timer tells where time goes, not how much is accessed. */
      readonly clock: boolean;
      /** Why no better source is used; empty where the best one is. */
      readonly whyNotBetter: string;
    }
  | { readonly ok: false; readonly reason: string; readonly hint: string };

/** Said wherever samples are used or described: this code was written from documentation. */
export const UNTESTED = "untested on hardware";

const SPE = /^arm_spe_\d+$/;
const SPE_REASON = "Arm SPE writes its samples to a buffer that no BPF program sees: it is not supported";

/** What each sampling source says about this machine, best first. */
export function sampleChoices({ pmus, kernelRelease }: SourceFacts): readonly EventChoice[] {
  const choices = [intelEvents(pmus), amdEvents(pmus, kernelRelease)];
  if (!pmus.some(({ name }) => SPE.test(name))) return choices;
  const hint = "use --source watch, or record with `perf record -e arm_spe//` and import it";
  return choices.map((choice) => (choice.ok ? choice : { ...choice, reason: SPE_REASON, hint }));
}

/** The reasons of all refusals in one line, each said once. */
function whyNone(choices: readonly EventChoice[]): string {
  const refused = choices.filter((choice) => !choice.ok);
  if (refused.every(({ reason }) => reason.startsWith("no "))) return "no PMU here: no pebs, no ibs";
  return [
    ...new Set(refused.map(({ source, reason }) => (reason === SPE_REASON ? reason : `${source}: ${reason}`))),
  ].join("; ");
}

/**
 * The sources of a run. `auto` takes samples with watches that they direct where a PMU can sample, else watches alone.
 * @param asked names of --source: auto, watch, pebs, ibs, clock
 */
export function chooseSources(asked: readonly string[], facts: SourceFacts): SourceChoice {
  const choices = sampleChoices(facts);
  const usable = choices.find((choice) => choice.ok) ?? null;
  const clock = asked.includes("clock");
  if (clock && (facts.arch ?? "x64") !== "x64") {
    const reason = `--source clock: the instructions of ${facts.arch} are not decoded: x64 only`;
    return { ok: false, reason, hint: "use --source watch" };
  }
  if (asked.includes("auto")) {
    return { ok: true, samples: usable, watch: true, clock, whyNotBetter: usable === null ? whyNone(choices) : "" };
  }
  const named = choices.find(({ source }) => asked.includes(source));
  if (named !== undefined && !named.ok) {
    return { ok: false, reason: `--source ${named.source}: ${named.reason}`, hint: named.hint };
  }
  const better =
    named !== undefined ? "" : usable === null ? whyNone(choices) : `${usable.source} is there, and was not asked for`;
  return { ok: true, samples: named ?? null, watch: asked.includes("watch"), clock, whyNotBetter: better };
}
