/** Steps of an engine, one after the other. */
import type { Random } from "../../../../src/statistics/prng.ts";
import type { Step } from "../served/parts.ts";
import { exponential, SECOND } from "../shapes.ts";

export const prefill = (begin_ns: number, end_ns: number, n_tokens: number): Step => ({
  step: "prefill",
  begin_ns,
  end_ns,
  n_tokens,
});
export const decode = (begin_ns: number, end_ns: number, n_tokens = 1): Step => ({
  step: "decode",
  begin_ns,
  end_ns,
  n_tokens,
});

export const isPrefill = ({ step }: Step): boolean => step === "prefill";
export const isDecode = ({ step }: Step): boolean => step === "decode";

export const lengthOf = ({ begin_ns, end_ns }: Step): number => end_ns - begin_ns;

/** The moment at which `share` of a step has gone by. */
export const inStep = (step: Step, share: number): number => step.begin_ns + lengthOf(step) * share;

/** How long a decode step takes in the mean, ns; 0 without one. */
export function meanDecode(steps: readonly Step[]): number {
  const decodes = steps.filter(isDecode);
  return decodes.reduce((sum, { begin_ns, end_ns }) => sum + end_ns - begin_ns, 0) / Math.max(1, decodes.length);
}

/** A whole number from 1 on, geometric, about `mean` in the mean. */
export const geometric = (random: Random, mean: number): number => Math.max(1, Math.ceil(mean * exponential(random)));

/** What steps are like, each by its number. */
interface Kind {
  readonly isPrefill: (i: number) => boolean;
  readonly tokens: (i: number) => number;
  /** ns */
  readonly length: (i: number) => number;
  /** Time after it, ns. */
  readonly gap: () => number;
}

/** Steps of an engine over a run, from up to 0.3 s before it. */
export function stepsOver(run: number, random: Random, kind: Kind): Step[] {
  const out: Step[] = [];
  for (let now = -random() * 0.3 * SECOND, i = 0; now < run; i++) {
    const end = now + kind.length(i);
    out.push((kind.isPrefill(i) ? prefill : decode)(now, end, kind.tokens(i)));
    now = end + kind.gap();
  }
  return out;
}

/** A step and so many decode steps after it, each `gap` ns after the one before. */
export function answered(
  first: Step,
  count: number,
  { gap, length, tokens = 1 }: { readonly gap: number; readonly length: () => number; readonly tokens?: number },
): { readonly decodes: readonly Step[]; readonly end: number } {
  const decodes: Step[] = [];
  let end = first.end_ns;
  for (let i = 0; i < count; i++) {
    const begin = end + gap;
    end = begin + length();
    decodes.push(decode(begin, end, tokens));
  }
  return { decodes, end };
}
