/** The pieces of time that a figure covers: the run, a phase of it, or the prefill or decode steps of its generation. */

import { type WordOf, wordsOf } from "../../schema/row.ts";
import type { Phase, Step } from "../../schema/words.ts";
import { countUpTo } from "../../statistics/first-index.ts";
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
  /** Time in which the engine goes over its data once: of a decode call, whatever its sequences; of a token of a prefill. */
  readonly turn_ns: number | null;
  /** The steps in the pieces; none where the engine decodes nothing; arrays parallel. */
  readonly steps: SpanSteps;
  /** Of a generation as a whole the spans of its steps of each kind; none of any other. */
  readonly parts: readonly Span[];
}

/** Steps in order of time, each cut where the next one begins. */
export interface SpanSteps {
  readonly begin_ns: Float64Array;
  readonly end_ns: Float64Array;
  /** End of the turn of each: where the next step of any kind begins, or its own end where that is not near. */
  readonly turn_end_ns: Float64Array;
  /** Begin and end of the last step of another kind before each; -Infinity where there is none. */
  readonly other_begin_ns: Float64Array;
  readonly other_end_ns: Float64Array;
  /** Tokens of all steps up to it, its own among them. */
  readonly tokens: Float64Array;
  /** Prefill or decode of each. */
  readonly kind: readonly Step[];
  /** How many steps of a kind there are up to it, itself where it is one. */
  readonly counts: Readonly<Record<Step, Float64Array>>;
}

/** Number of the first piece that ends after a time: asked for every pass of every watch. */
const pieceAfter = ({ end_ns }: Span, time: number): number => countUpTo(end_ns, time);

/** True where a time lies in a piece of the span. */
export function isInside(span: Span, time: number): boolean {
  const piece = pieceAfter(span, time);
  return piece < span.begin_ns.length && (span.begin_ns[piece] ?? 0) <= time;
}

/** True where a moment from one to another, both among them, lies in a piece of the span. */
export function isMet(span: Span, from: number, end: number): boolean {
  return (span.begin_ns[pieceAfter(span, from)] ?? Number.POSITIVE_INFINITY) <= end;
}

/** Time from one moment to another that lies in pieces of the span, ns. */
export function coveredNs(span: Span, from: number, end: number): number {
  let sum = 0;
  for (let i = pieceAfter(span, from); i < span.begin_ns.length && (span.begin_ns[i] ?? 0) < end; i++) {
    sum += Math.max(0, Math.min(end, span.end_ns[i] ?? 0) - Math.max(from, span.begin_ns[i] ?? 0));
  }
  return sum;
}

/** Number of the last step that began by a time; -1 before the first. */
export const stepBy = ({ begin_ns }: SpanSteps, time: number): number => countUpTo(begin_ns, time) - 1;

/** What the steps of a span hold of a running sum from its begin to a time: of a step that goes on, the share that has gone by. */
function heldUntil(steps: SpanSteps, sums: Float64Array, time: number): number {
  const last = stepBy(steps, time);
  if (last < 0) return 0;
  const [begin, end] = [steps.begin_ns[last] ?? 0, steps.end_ns[last] ?? 0];
  const before = sums[last - 1] ?? 0;
  const share = time < end ? (time - begin) / (end - begin) : 1;
  return before + share * ((sums[last] ?? 0) - before);
}

/** Tokens that the steps of a span decode from one moment to another. */
export function coveredTokens({ steps }: Span, from: number, end: number): number {
  return end > from ? heldUntil(steps, steps.tokens, end) - heldUntil(steps, steps.tokens, from) : 0;
}

/** How many steps of a kind go on from one moment to another: of a step that is cut, the share of its time. */
export function coveredSteps({ steps }: Span, kind: Step, from: number, end: number): number {
  const sums = steps.counts[kind];
  return end > from ? heldUntil(steps, sums, end) - heldUntil(steps, sums, from) : 0;
}

/** Time from one moment to another in which a step of the span goes on, ns. */
export function coveredStepNs({ steps }: Span, from: number, end: number): number {
  let sum = 0;
  for (let i = Math.max(0, stepBy(steps, from)); (steps.begin_ns[i] ?? Number.POSITIVE_INFINITY) < end; i++) {
    sum += Math.max(0, Math.min(end, steps.end_ns[i] ?? 0) - Math.max(from, steps.begin_ns[i] ?? 0));
  }
  return sum;
}

/** The number of the step that goes on at a time; null between steps. */
export function stepNumberAt({ steps }: Span, time: number): number | null {
  const last = stepBy(steps, time);
  return time < (steps.end_ns[last] ?? Number.NEGATIVE_INFINITY) ? last : null;
}

/** Tokens that a step decodes: one whose batch could not be read decoded something. */
const tokensOf = ({ n_tokens }: StepSample): number => Math.max(1, n_tokens);

/** A step among those of every kind. */
interface Turn {
  readonly step: StepSample;
  readonly end_ns: number;
  readonly other_begin_ns: number;
  readonly other_end_ns: number;
}

function stepsOf(turns: readonly Turn[]): SpanSteps {
  const steps = turns.map(({ step }) => step);
  let tokens = 0;
  const begin_ns = Float64Array.from(steps, (step) => step.begin_ns);
  const end_ns = Float64Array.from(steps, (step, i) => Math.min(step.end_ns, begin_ns[i + 1] ?? step.end_ns));
  const countsOf = (kind: Step): Float64Array => {
    let sum = 0;
    return Float64Array.from(steps, ({ step }) => (sum += step === kind ? 1 : 0));
  };
  return {
    begin_ns,
    end_ns,
    turn_end_ns: Float64Array.from(turns, (turn) => turn.end_ns),
    other_begin_ns: Float64Array.from(turns, ({ other_begin_ns }) => other_begin_ns),
    other_end_ns: Float64Array.from(turns, ({ other_end_ns }) => other_end_ns),
    tokens: Float64Array.from(steps, (step) => (tokens += tokensOf(step))),
    kind: steps.map(({ step }) => step),
    counts: { prefill: countsOf("prefill"), decode: countsOf("decode") },
  };
}

/** A span of disjoint pieces in order of time, without steps. */
export function spanOf(phase: Span["phase"], step: StepName, pieces: readonly [number, number][]): Span {
  return spanOfTurns(phase, step, pieces, []);
}

/** @param samples those of its steps whose tokens are counted together */
function spanOfTurns(
  phase: Span["phase"],
  step: StepName,
  pieces: readonly [number, number][],
  samples: readonly Turn[],
): Span {
  const window = pieces.reduce((sum, [begin, end]) => sum + end - begin, 0);
  const steps = stepsOf(samples);
  const tokens = steps.tokens.at(-1) ?? 0;
  const turns = step === "decode" ? samples.length : tokens;
  return {
    phase,
    step,
    begin_ns: Float64Array.from(pieces, ([begin]) => begin),
    end_ns: Float64Array.from(pieces, ([, end]) => end),
    window_ns: window,
    tokens: tokens > 0 ? tokens : null,
    turn_ns: turns > 0 ? window / turns : null,
    steps,
    parts: [],
  };
}

function makeSpans(steps: readonly StepSample[], windowNs: number): readonly Span[] {
  const usable = steps
    .filter((s) => !s.is_guess && Number.isFinite(s.begin_ns) && s.end_ns >= s.begin_ns)
    .sort((a, b) => a.begin_ns - b.begin_ns);
  const first = usable[0];
  if (!first) return [spanOf("all", "all", [[0, windowNs]])];
  const lengths = usable.map((s) => s.end_ns - s.begin_ns).sort((a, b) => a - b);
  const pause = 10 * (lengths[lengths.length >> 1] ?? 0);
  const pieces: Record<Step, [number, number][]> = { prefill: [], decode: [] };
  const turns: Record<Step, Turn[]> = { prefill: [], decode: [] };
  const all: Turn[] = [];
  /** Begins and ends of the last steps of each kind. */
  const begins: Record<Step, number> = { prefill: Number.NEGATIVE_INFINITY, decode: Number.NEGATIVE_INFINITY };
  const ends: Record<Step, number> = { ...begins };
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
    const other = step.step === "decode" ? "prefill" : "decode";
    const turn = { step, end_ns: end, other_begin_ns: begins[other], other_end_ns: ends[other] };
    turns[step.step].push(turn);
    all.push(turn);
    begins[step.step] = step.begin_ns;
    ends[step.step] = Math.max(ends[step.step], step.end_ns);
    last = Math.max(last, step.end_ns);
  });
  const parts = wordsOf("trace", "step")
    .filter((step) => turns[step].length > 0)
    .map((step) => spanOfTurns("generation", step, pieces[step], turns[step]));
  return [{ ...spanOf("generation", "all", [[first.begin_ns, last]]), steps: stepsOf(all), parts }, ...parts];
}

/** By their steps: many ask for the spans of a run, and those of hundreds of thousands of steps are made once. */
const spansBySteps = new WeakMap<
  readonly StepSample[],
  { readonly windowNs: number; readonly spans: readonly Span[] }
>();

/**
 * The spans of a run. Without steps: the whole run. With them: generation from the first step to the end of the last,
 * and one piece per unbroken sequence of steps of one kind, so that the time between two decode calls is decode.
 * A pause of more than ten steps' median time ends a piece: nobody was waiting for a token.
 * @param windowNs length of the run
 */
export function spansOf(steps: readonly StepSample[], windowNs: number): readonly Span[] {
  const made = spansBySteps.get(steps);
  if (made?.windowNs === windowNs) return made.spans;
  const spans = makeSpans(steps, windowNs);
  spansBySteps.set(steps, { windowNs, spans });
  return spans;
}
