/** What `compare --arms` reports: how much each collector slows its target, and how sure that is. */

/** The figures of a run, and whether more of one is better. */
export const EFFECT_FIGURES = {
  tokens_per_s: { unit: "tokens/s", better: "more", what: "decoded tokens per second" },
  ttft_ms: { unit: "ms", better: "less", what: "time to the first token" },
  token_p50_ms: { unit: "ms", better: "less", what: "time between tokens, median" },
  token_p99_ms: { unit: "ms", better: "less", what: "time between tokens, 99th percentile" },
  wall_s: { unit: "s", better: "less", what: "wall time of the process" },
  peak_rss_bytes: { unit: "bytes", better: "less", what: "peak RSS of the process tree" },
} as const;

export type EffectFigure = keyof typeof EFFECT_FIGURES;
export const FIGURE_NAMES = Object.keys(EFFECT_FIGURES) as readonly EffectFigure[];

/** Figures of one run; null for what its workload does not tell. */
export type FigureValues = Readonly<Record<EffectFigure, number | null>>;

/** The arm without a tracer, and the same arm again: the noise of the machine. */
export const OFF = "off";
export const OFF_AGAIN = "off-again";

export type EffectVerdict = "PASS" | "FAIL" | "INCONCLUSIVE";

/** An estimate with its two-sided 95 % interval. */
export interface EffectInterval {
  readonly value: number;
  readonly lo: number;
  readonly hi: number;
}

/** One figure of one arm against the arm `off`. */
export interface FigureEffect {
  readonly figure: EffectFigure;
  readonly unit: string;
  readonly blocks: number;
  /** Blocks left out, as the figure was missing in a run of them. */
  readonly unusable: number;
  /** Geometric means over the runs of the usable blocks. */
  readonly off: number;
  readonly on: number;
  /** How much worse in %: slower, later, larger. */
  readonly slowdown_pct: EffectInterval;
  readonly lower_bound_pct: number;
  readonly upper_bound_pct: number;
  readonly hodges_lehmann_pct: number;
  /** Two-sided p of the signed-rank test: a check by order alone, no verdict. */
  readonly wilcoxon_p: number;
  readonly sd_pct: number;
  readonly verdict: EffectVerdict;
  /** Why there is no other verdict; null where the interval decides. */
  readonly why: string | null;
  /** Runs of each arm with which a verdict can be expected; null where none helps or none is needed. */
  readonly repeats_needed: number | null;
}

export interface ArmEffect {
  readonly arm: string;
  /** Options of the tracer; empty for `off-again`. */
  readonly options: readonly string[];
  /** Why the arm could not run here; null where it did. */
  readonly unavailable: string | null;
  /** By the figure that decides: tokens per second where there is one, else wall time. */
  readonly verdict: EffectVerdict;
  readonly figures: readonly FigureEffect[];
  /** Means over the runs. */
  readonly runs: number;
  readonly events_kept: number | null;
  readonly events_lost: number | null;
  readonly loss_pct: number | null;
  readonly capture_bytes_per_event: number | null;
  /** CPU of everything that the tracer started or is, in % of one CPU, while the target ran. */
  readonly tracer_cpu_pct: number | null;
  readonly tracer_rss_bytes: number | null;
  readonly cost_per_event_ns: EffectInterval | null;
}

/** One run, in the order in which they were made. */
export interface EffectRun extends FigureValues {
  /** -1 for warm-ups, which count for nothing. */
  readonly block: number;
  readonly arm: string;
  readonly threads: number | null;
  readonly pinned: boolean;
}

export interface ObserverEffect {
  readonly schema_version: string;
  readonly compare_id: string;
  readonly workload: { readonly kind: "demo" | "command" | "server"; readonly command: readonly string[] };
  /** Runs of each arm that were declared before the first one. */
  readonly repeats: number;
  readonly blocks: number;
  readonly seed: number;
  readonly margin_pct: number;
  readonly deciding_figure: EffectFigure;
  readonly stopped_by: "complete" | "interrupted" | "terminated";
  readonly settings: {
    readonly target_cpus: readonly number[];
    readonly tool_cpus: readonly number[];
    /** Most threads of the target; null where none was seen. */
    readonly threads: number | null;
    /** Variables that set threads and how they wait. */
    readonly environment: Readonly<Record<string, string>>;
  };
  readonly warnings: readonly string[];
  /** The first is `off-again`: without its PASS no claim is made. */
  readonly arms: readonly ArmEffect[];
  readonly runs: readonly EffectRun[];
  readonly host: Readonly<Record<string, unknown>>;
}
