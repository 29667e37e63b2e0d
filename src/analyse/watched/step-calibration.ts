/** Gives the windows of watches as many steps of each kind as the run has. */
import { wordsOf } from "../../schema/row.ts";
import type { Step } from "../../schema/words.ts";
import type { WatchSet } from "../input/group.ts";
import { coveredStepNs, coveredSteps, stepAt } from "../input/span.ts";
import { type CountWindows, windowOf } from "./count-window.ts";

/** With fewer windows that hold some of a kind, they say too little of how much of it windows hold. */
const FEWEST_WINDOWS = 10;

const BETWEEN = "between";
type Kind = Step | typeof BETWEEN;
const STEPS = wordsOf("trace", "step");
const KINDS: readonly Kind[] = [...STEPS, BETWEEN];

/** What a pass of a stratum counts for that begins at a time: 1 where nothing is known of steps. */
export type PassWeight = (stratum: number, time_ns: number) => number;

/** Steps of each kind, a cut one by its share, and time between steps, ns. */
type Amounts = Record<Kind, number>;
const nothing = (): Amounts => ({ prefill: 0, decode: 0, between: 0 });

interface Held {
  /** Time of the windows, ns, by the weights of their addresses; so are the amounts. */
  time: number;
  readonly amounts: Amounts;
  /** Windows that hold some of a kind. */
  readonly windows: Amounts;
}

/**
 * Post-strata of what goes on. A step that was to begin while its CPUs were busy with an arming begins right after it and takes longer,
 * so that windows hold more steps, and more time of steps, than as much time of the run does. Passes in steps of a kind count by the
 * steps of that kind in a second of the run over those in a second of the windows, passes between steps by the time between steps
 * in either; of each stratum by itself, as the shorter its windows are, the more steps they hold.
 * @param windows those in which passes are counted
 */
export function calibrateSteps(set: WatchSet, { length_ns, time_ns }: CountWindows): PassWeight {
  const { span, weights } = set;
  const { begin_ns, end_ns, counts } = span.steps;
  if (span.tokens !== null || begin_ns.length === 0) return () => 1;
  const run = nothing();
  for (const kind of STEPS) run[kind] = counts[kind].at(-1) ?? 0;
  run.between = span.window_ns - end_ns.reduce((sum, end, i) => sum + end - (begin_ns[i] ?? end), 0);
  const strata = new Map<number, Held>();
  set.exposures.forEach((_, i) => {
    const time = time_ns[i] ?? 0;
    if (time <= 0) return;
    const stratum = weights.stratum[i] ?? 0;
    const held = strata.get(stratum) ?? { time: 0, amounts: nothing(), windows: nothing() };
    const window = windowOf(set, i, length_ns[i] ?? 0);
    const here = nothing();
    for (const kind of STEPS) here[kind] = coveredSteps(span, kind, ...window);
    here.between = Math.max(0, time - coveredStepNs(span, ...window));
    const w = weights.bytes[i] ?? 0;
    held.time += w * time;
    for (const kind of KINDS) {
      held.amounts[kind] += w * here[kind];
      if (here[kind] > 0) held.windows[kind] += 1;
    }
    strata.set(stratum, held);
  });
  return (stratum, time) => {
    const held = strata.get(stratum);
    const kind = stepAt(span, time) ?? BETWEEN;
    if (held === undefined || held.windows[kind] < FEWEST_WINDOWS) return 1;
    return run[kind] / span.window_ns / (held.amounts[kind] / held.time);
  };
}
