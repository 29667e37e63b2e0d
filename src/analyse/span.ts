/** The pieces of time that a figure covers: the run, its generation, or the prefill or decode steps of it. */
import type { StepSample } from "./input.ts";

export type StepName = "prefill" | "decode" | "all";

/** Disjoint pieces in order of time, ns since the start of the run. */
export interface Span {
  readonly phase: "generation" | "all";
  readonly step: StepName;
  readonly begin_ns: Float64Array;
  readonly end_ns: Float64Array;
  /** Sum of the pieces. */
  readonly window_ns: number;
  /** Tokens in the pieces: batch tokens of prefill, calls of decode; null where there is no engine, or for `all`. */
  readonly tokens: number | null;
  /** window_ns / tokens. */
  readonly token_period_ns: number | null;
}

function span(phase: Span["phase"], step: StepName, pieces: readonly [number, number][], tokens: number | null): Span {
  const window = pieces.reduce((sum, [begin, end]) => sum + end - begin, 0);
  return {
    phase,
    step,
    begin_ns: Float64Array.from(pieces, ([begin]) => begin),
    end_ns: Float64Array.from(pieces, ([, end]) => end),
    window_ns: window,
    tokens,
    token_period_ns: tokens !== null && tokens > 0 ? window / tokens : null,
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
  if (!first) return [span("all", "all", [[0, windowNs]], null)];
  const lengths = usable.map((s) => s.end_ns - s.begin_ns).sort((a, b) => a - b);
  const pause = 10 * (lengths[lengths.length >> 1] ?? 0);
  const pieces: Record<"prefill" | "decode", [number, number][]> = { prefill: [], decode: [] };
  const tokens = { prefill: 0, decode: 0 };
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
    tokens[step.step] += step.step === "decode" ? 1 : step.n_tokens;
    last = Math.max(last, step.end_ns);
  });
  const out = [span("generation", "all", [[first.begin_ns, last]], null)];
  for (const step of ["prefill", "decode"] as const) {
    if (tokens[step] > 0) out.push(span("generation", step, pieces[step], tokens[step]));
  }
  return out;
}
