/** The cells of an experiment in figures: the mean over the runs that count, and how much they differ. */
import type { DataClass } from "../schema/words.ts";
import { studentQuantile } from "../statistics/student.ts";
import { isUsed, type RunResult } from "./outcome.ts";
import type { Cell } from "./sweep.ts";

/** A figure of each run that is told in runs.csv, in the summary and in its table. */
export interface SummaryFigure {
  /** Column of runs.csv. */
  readonly name: string;
  readonly of: (result: RunResult) => number | null;
}

const CLASSES = ["weight", "kv_cache", "activation"] as const satisfies readonly DataClass[];
const METRICS = [
  "reads_per_byte_per_token",
  "writes_per_byte_per_token",
  "retention_p50_ns",
  "working_set_bytes",
] as const;

/**
 * A metric of a class: while decoding where it is told, else over the whole run; as the engine's steps tell it where they do,
 * because every run has those: a mean over different sources would be of different things.
 */
function metricOf({ figures }: RunResult, region_type: string, metric: string): number | null {
  const found = figures.filter((figure) => figure.region_type === region_type && figure.metric === metric);
  const decoding = found.filter(({ step }) => step === "decode");
  const candidates = decoding.length > 0 ? decoding : found;
  return (candidates.find(({ source }) => source === "step") ?? candidates[0])?.value ?? null;
}

export const SUMMARY_FIGURES: readonly SummaryFigure[] = [
  { name: "decode_tokens_per_s", of: ({ record }) => record?.decode_tokens_per_s ?? null },
  { name: "ttft_ms", of: ({ record }) => record?.ttft_ms ?? null },
  { name: "slowdown_pct", of: ({ record }) => record?.slowdown_pct ?? null },
  { name: "observer_cpu_pct", of: ({ record }) => record?.observer_cpu_pct ?? null },
  ...CLASSES.flatMap((region_type) =>
    METRICS.map(
      (metric): SummaryFigure => ({
        name: `${region_type}_${metric}`,
        of: (result) => metricOf(result, region_type, metric),
      }),
    ),
  ),
];

export interface Aggregate {
  readonly name: string;
  /** Runs that have the figure. */
  readonly n: number;
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

/** Mean and 95 % interval by Student's t. */
export function aggregate(name: string, values: readonly number[]): Aggregate {
  const n = values.length;
  if (n === 0) return { name, n, mean: null, lo: null, hi: null };
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
    const aggregates = SUMMARY_FIGURES.map(({ name, of: figureOf }) =>
      aggregate(
        name,
        used.map(figureOf).filter((value) => value !== null),
      ),
    );
    return [{ cell, runs: runs.length, used: used.length, aggregates }];
  });
}
