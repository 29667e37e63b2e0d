/** The cells of an experiment in figures: the mean over the runs that count, and how much they differ. */
import type { DataClass } from "../schema/words.ts";
import { studentQuantile } from "../statistics/student.ts";
import { isUsed, type RunResult } from "./outcome.ts";
import type { RunFigure } from "./run-figures.ts";
import type { Cell } from "./sweep.ts";

/** A figure of each run that is told in runs.csv, in the summary and in its table. */
export interface SummaryFigure {
  /** Column of runs.csv. */
  readonly name: string;
  readonly of: (result: RunResult) => number | null;
  /** The values of the runs that tell it alike, over which its mean is. */
  readonly ofAll: (results: readonly RunResult[]) => number[];
}

const CLASSES = ["weight", "kv_cache", "activation"] as const satisfies readonly DataClass[];
const METRICS = [
  "reads_per_byte_per_token",
  "writes_per_byte_per_token",
  "retention_p50_ns",
  "working_set_bytes",
] as const;

/**
 * What tells a metric of a class in a run, that which counts first: while decoding where it is told, else over the whole run; as the
 * engine's steps tell it where they do, because every run has those.
 */
function tellersOf({ figures }: RunResult, region_type: string, metric: string): RunFigure[] {
  const rank = ({ step, source }: RunFigure): number => (step === "decode" ? 0 : 2) + (source === "step" ? 0 : 1);
  return figures
    .filter((one) => one.region_type === region_type && one.metric === metric && one.step !== "prefill")
    .sort((a, b) => rank(a) - rank(b));
}

/** The values of as many runs as tell a metric alike: a mean over different sources, steps or grains would be of different things. */
function alikeOf(results: readonly RunResult[], region_type: string, metric: string): number[] {
  const lists = results.map((result) => tellersOf(result, region_type, metric));
  const keyOf = ({ step, source, grain_bytes }: RunFigure): string => [step, source, grain_bytes].join("/");
  const keys = new Set(lists.flat().map(keyOf));
  const values = [...keys].map((key) =>
    lists.flatMap((list) => list.filter((one) => keyOf(one) === key).slice(0, 1)).map(({ value }) => value),
  );
  return values.reduce<number[]>((most, some) => (some.length > most.length ? some : most), []);
}

function ofRuns(name: string, figureOf: SummaryFigure["of"]): SummaryFigure {
  return { name, of: figureOf, ofAll: (results) => results.map(figureOf).filter((value) => value !== null) };
}

export const SUMMARY_FIGURES: readonly SummaryFigure[] = [
  ofRuns("decode_tokens_per_s", ({ record }) => record?.decode_tokens_per_s ?? null),
  ofRuns("ttft_ms", ({ record }) => record?.ttft_ms ?? null),
  ofRuns("slowdown_pct", ({ record }) => record?.slowdown_pct ?? null),
  ofRuns("observer_cpu_pct", ({ record }) => record?.observer_cpu_pct ?? null),
  ...CLASSES.flatMap((region_type) =>
    METRICS.map(
      (metric): SummaryFigure => ({
        name: `${region_type}_${metric}`,
        of: (result) => tellersOf(result, region_type, metric)[0]?.value ?? null,
        ofAll: (results) => alikeOf(results, region_type, metric),
      }),
    ),
  ),
];

export interface Aggregate {
  readonly name: string;
  /** Runs that have the figure. */
  readonly n: number;
  /** Null where not all runs that count have the figure: those that do may have it because theirs is short, or large. */
  readonly mean: number | null;
  /** 95 % interval of the mean over runs (Student's t); null below two runs. */
  readonly lo: number | null;
  readonly hi: number | null;
}

export interface CellSummary {
  readonly cell: Cell;
  /** Repetitions, warm-ups left out. */
  readonly runs: number;
  /** Of them, those that count: complete and not contaminated. */
  readonly used: number;
  readonly aggregates: readonly Aggregate[];
}

/**
 * Mean and 95 % interval by Student's t.
 * @param runs how many should have the figure
 */
export function aggregate(name: string, values: readonly number[], runs = values.length): Aggregate {
  const n = values.length;
  if (n === 0 || n < runs) return { name, n, mean: null, lo: null, hi: null };
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n === 1) return { name, n, mean, lo: null, hi: null };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  const half = studentQuantile(0.975, n - 1) * Math.sqrt(variance / n);
  return { name, n, mean, lo: mean - half, hi: mean + half };
}

function cellName({ model_id, context_length, batch_size, output_tokens }: Cell): string {
  return [model_id, context_length, batch_size, output_tokens].join("/");
}

/** One summary for each combination, in the order of the sweep. */
export function summarise(results: readonly RunResult[]): CellSummary[] {
  const cells = new Map<string, RunResult[]>();
  for (const result of results) {
    if (result.entry.planned.is_warmup) continue;
    const name = cellName(result.entry.planned);
    const list = cells.get(name);
    if (list === undefined) cells.set(name, [result]);
    else list.push(result);
  }
  return [...cells.values()].flatMap((runs) => {
    const [first] = runs;
    if (first === undefined) return [];
    const { run_id: _, is_warmup: __, rep_index: ___, ...cell } = first.entry.planned;
    const used = runs.filter(isUsed);
    const aggregates = SUMMARY_FIGURES.map(({ name, ofAll }) => aggregate(name, ofAll(used), used.length));
    return [{ cell, runs: runs.length, used: used.length, aggregates }];
  });
}
