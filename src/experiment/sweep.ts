/** The runs of an experiment: models, context lengths, batch sizes and output tokens, each warmed up and repeated. */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import type { Effective } from "../config/effective.ts";
import type { Config, ModelConfig, PromptsConfig, SweepConfig } from "../config/experiment-schema.ts";
import { promptsSchema, sweepSchema } from "../config/experiment-schema.ts";
import type { DemoOptions, RunOptions } from "../config/schema.ts";
import { readRegularFile } from "../run-directory/regular-file.ts";
import { modelSlug } from "../run-directory/run-directory.ts";

export interface Experiment {
  /** The file that declares it. */
  readonly file: string;
  readonly about: NonNullable<Config["experiment"]>;
  readonly models: readonly ModelConfig[];
  readonly sweep: SweepConfig;
  readonly prompts: PromptsConfig;
  /** Options of every run. */
  readonly run: RunOptions;
  readonly demo: DemoOptions;
}

/** One combination of the axes, all repetitions of it. */
export interface Cell {
  readonly model: ModelConfig;
  /** Slug of the model's id: the folder of its runs. */
  readonly model_id: string;
  readonly context_length: number;
  readonly batch_size: number;
  readonly output_tokens: number;
  /** Length of each prompt. */
  readonly prompt_tokens: number;
  /** Prompts of a run, of all sequences. */
  readonly prompts: number;
}

export interface PlannedRun extends Cell {
  readonly run_id: string;
  readonly is_warmup: boolean;
  /** Counts warm-ups and repetitions of a cell, each from 0. */
  readonly rep_index: number;
}

/** The experiment of a valid file; null where it holds options only. */
export function experimentOf({ file, run, demo }: Effective): Experiment | null {
  const config = file?.config;
  if (!config?.models || !config.experiment) return null;
  return {
    file: file?.path ?? "",
    about: config.experiment,
    models: config.models,
    sweep: config.sweep ?? sweepSchema.parse({}),
    prompts: config.prompts ?? promptsSchema.parse({}),
    run,
    demo,
  };
}

/** Runs of a sweep without making them: all, and how many of them warm up. */
export function countRuns(models: number, sweep: SweepConfig): { total: number; warmups: number } {
  const cells = models * sweep.context_lengths.length * sweep.batch_sizes.length * sweep.output_tokens.length;
  return { total: cells * (sweep.warmup_runs + sweep.repetitions), warmups: cells * sweep.warmup_runs };
}

/** What a prompt may be at most: the first token comes out of the prompt's own pass, the last one is never put in. */
export function promptRoom(context_length: number, output_tokens: number): number {
  return context_length - output_tokens;
}

export function* cellsOf({
  models,
  sweep,
  prompts,
}: Pick<Experiment, "models" | "sweep" | "prompts">): Generator<Cell> {
  for (const model of models) {
    for (const context_length of sweep.context_lengths) {
      for (const batch_size of sweep.batch_sizes) {
        for (const output_tokens of sweep.output_tokens) {
          yield {
            model,
            model_id: modelSlug(model.id),
            context_length,
            batch_size,
            output_tokens,
            prompt_tokens: prompts.tokens ?? promptRoom(context_length, output_tokens),
            prompts: prompts.count ?? batch_size,
          };
        }
      }
    }
  }
}

/** Options that change nothing in what is measured. */
const PRESENTATION = new Set([
  "output",
  "force",
  "run_id",
  "record_command",
  "json",
  "quiet",
  "verbose",
  "debug",
  "color",
]);
const HASH_DIGITS = 8;
const MOST_NAME = 80;

/**
 * Digest of all that decides what a run measures, so that a run made with other settings is another run.
 * @throws as readRegularFile does, where a file of prompts is gone
 */
function settingsDigest(experiment: Experiment, model: ModelConfig): (cell: Cell) => string {
  const { about, prompts, run, demo } = experiment;
  const options = Object.entries(run).filter(([name]) => !PRESENTATION.has(name));
  const isFile = prompts.source !== "random";
  const shared = JSON.stringify([
    about.name,
    [model.id, model.engine, model.params, model.type],
    model.path === undefined ? null : [model.path, statSync(model.path).size],
    prompts,
    isFile ? createHash("sha256").update(readRegularFile(prompts.source)).digest("hex") : null,
    options,
    [demo.params, demo.type, demo.threads, demo.flash_attention],
  ]);
  return ({ context_length, batch_size, output_tokens, prompt_tokens, prompts: count }) =>
    createHash("sha256")
      .update(JSON.stringify([shared, context_length, batch_size, output_tokens, prompt_tokens, count]))
      .digest("hex")
      .slice(0, HASH_DIGITS);
}

/**
 * Every run in the order in which they are made: within a cell the warm-ups come first.
 * A run's id is its place in the sweep and a digest of its settings, so that the same plan has the same ids.
 */
export function* plannedRuns(experiment: Experiment): Generator<PlannedRun> {
  const { warmup_runs, repetitions } = experiment.sweep;
  for (const model of experiment.models) {
    const digest = settingsDigest(experiment, model);
    for (const cell of cellsOf({ ...experiment, models: [model] })) {
      const settings = digest(cell);
      for (let i = 0; i < warmup_runs + repetitions; i++) {
        const is_warmup = i < warmup_runs;
        const rep_index = is_warmup ? i : i - warmup_runs;
        const kind = `${is_warmup ? "warmup" : "rep"}${rep_index}`;
        const place = `_ctx${cell.context_length}_batch${cell.batch_size}_out${cell.output_tokens}_${kind}_${settings}`;
        yield { ...cell, run_id: cell.model_id.slice(0, MOST_NAME - place.length) + place, is_warmup, rep_index };
      }
    }
  }
}
