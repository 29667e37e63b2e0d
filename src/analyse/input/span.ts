/** The pieces of time that a figure covers: the run, a phase of it, or the prefill or decode steps of its generation. */

import { type WordOf, wordsOf } from "../../schema/row.ts";
import type { Phase, Step } from "../../schema/words.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import type { StepSample } from "./input.ts";

/** Phases in which the engine decodes nothing. */
export type OtherPhase = Exclude<Phase, "generation">;
export type StepName = WordOf<"metrics", "step">;

/** Disjoint pieces in order of time, ns since the start of the run. */
export interface Span {
  readonly phase: WordOf<"metrics", "phase">;
  readonly step: StepName;
  readonly begin_ns: Float64Array;
  readonly end_ns: Float64Array;
  /** Sum of the pieces. */
  readonly window_ns: number;
  /** Tokens that the steps in the pieces decode, all sequences together; null where there is no engine, or for `all`. */
  readonly tokens: number | null;
  /** window_ns / tokens. */
  readonly token_period_ns: number | null;
  /** Time in which the engine goes over its data once: of a decode call, whatever its sequences; of a token of a prefill. */
  readonly turn_ns: number | null;
}

/** Number of the first piece that ends after a time. */
function pieceAfter({ end_ns }: Span, time: number): number {
  return firstIndex(end_ns.length, (i) => (end_ns[i] ?? 0) <= time);
}

/** True where a time lies in a piece of the span. */
export function isInside(span: Span, time: number): boolean {
  const piece = pieceAfter(span, time);
  return piece < span.begin_ns.length && (span.begin_ns[piece] ?? 0) <= time;
}

/** Time from one moment to another that lies in pieces of the span, ns. */
export function coveredNs(span: Span, from: number, end: number): number {
  let sum = 0;
  for (let i = pieceAfter(span, from); i < span.begin_ns.length && (span.begin_ns[i] ?? 0) < end; i++) {
    sum += Math.max(0, Math.min(end, span.end_ns[i] ?? 0) - Math.max(from, span.begin_ns[i] ?? 0));
  }
  return sum;
}

interface Count {
  tokens: number;
  turns: number;
}

/** A span of disjoint pieces in order of time. */
export function spanOf(
  phase: Span["phase"],
  step: StepName,
  pieces: readonly [number, number][],
  { tokens, turns }: Count = { tokens: 0, turns: 0 },
): Span {
  const window = pieces.reduce((sum, [begin, end]) => sum + end - begin, 0);
  return {
    phase,
    step,
    begin_ns: Float64Array.from(pieces, ([begin]) => begin),
    end_ns: Float64Array.from(pieces, ([, end]) => end),
    window_ns: window,
    tokens: tokens > 0 ? tokens : null,
    token_period_ns: tokens > 0 ? window / tokens : null,
    turn_ns: turns > 0 ? window / turns : null,
  };
}

/**
 * The spans of a run. Without steps: the whole run. With them: generation from the first step to the end of the last,
 * and one piece per unbroken sequence of steps of one kind, so that the time between two decode calls is decode.
 * A pause of more than ten steps' median time ends a piece: nobody was waiting for a token.
 * @param windowNs length of the run
 */
export function spansOf(steps: readonly StepSample[], windowNs: number): Span[] {
  const usable = steps
    .filter((s) => Number.isFinite(s.begin_ns) && s.end_ns >= s.begin_ns)
    .sort((a, b) => a.begin_ns - b.begin_ns);
  const first = usable[0];
  if (!first) return [spanOf("all", "all", [[0, windowNs]])];
  const lengths = usable.map((s) => s.end_ns - s.begin_ns).sort((a, b) => a - b);
  const pause = 10 * (lengths[lengths.length >> 1] ?? 0);
  const pieces: Record<Step, [number, number][]> = { prefill: [], decode: [] };
  const counts: Record<Step, Count> = {
    prefill: { tokens: 0, turns: 0 },
    decode: { tokens: 0, turns: 0 },
  };
  let last = 0;
  usable.forEach((step, i) => {
    const next = usable[i + 1];
    const near = next !== undefined && next.begin_ns - step.end_ns <= pause;
    const end = near ? Math.max(next.begin_ns, step.begin_ns) : step.end_ns;
    const list = pieces[step.step];
    const open = list[list.length - 1];
    const previous = usable[i - 1];
    if (open && previous?.step === step.step && open[1] >= step.begin_ns) open[1] = Math.max(open[1], end);
    else list.push([step.begin_ns, end]);
    const count = counts[step.step];
    // A call whose batch could not be read decoded something.
    const decoded = Math.max(1, step.n_tokens);
    count.tokens += decoded;
    count.turns += step.step === "decode" ? 1 : decoded;
    last = Math.max(last, step.end_ns);
  });
  const out = [spanOf("generation", "all", [[first.begin_ns, last]])];
  for (const step of wordsOf("trace", "step")) {
    if (counts[step].tokens > 0) out.push(spanOf("generation", step, pieces[step], counts[step]));
  }
  return out;
}
