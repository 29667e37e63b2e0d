/** What a run will take, from earlier runs of its model on this machine. */
import { mean } from "../statistics/mean.ts";
import type { RunRecord } from "./run-record.ts";
import type { Cell } from "./sweep.ts";

export interface Prediction {
  /** From the start of the target to sealed files. */
  readonly time_s: number;
  readonly time_lo_s: number;
  readonly time_hi_s: number;
  readonly disk_bytes: number;
  readonly slowdown_pct: number | null;
  readonly observer_cpu_pct: number | null;
  /** Earlier runs from which it comes. */
  readonly runs: number;
  /** False where it is scaled from another combination of the same model. */
  readonly is_same: boolean;
}

function meanKnown(values: readonly (number | null)[]): number | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 ? null : mean(numbers);
}

type Facts = NonNullable<RunRecord["experiment"]>;
type Axes = Pick<Cell, "context_length" | "batch_size" | "output_tokens" | "prompt_tokens" | "prompts">;

const AXES = ["context_length", "batch_size", "output_tokens", "prompt_tokens", "prompts"] as const;

function isSameCell(cell: Axes, facts: Facts): boolean {
  return AXES.every((axis) => cell[axis] === facts[axis]);
}

function distance(cell: Axes, facts: Facts): number {
  return AXES.reduce((sum, axis) => sum + Math.abs(Math.log(cell[axis] / facts[axis])), 0);
}

/** Seconds of prompts and of decoding in a run of `axes`, at the rates of an earlier run. */
function workSeconds(axes: Axes, rates: { prompt_token_s: number; step_s: number }): number {
  const passes = Math.ceil(axes.prompts / axes.batch_size);
  const steps = passes * (axes.output_tokens - 1);
  return axes.prompts * axes.prompt_tokens * rates.prompt_token_s + steps * rates.step_s;
}

/** Scaled from a run of another combination; null where that run does not tell its rates. */
function scaled(cell: Axes, record: RunRecord, facts: Facts): { lo: number; hi: number; bytes: number } | null {
  const { wall_s, ttft_ms, decode_tokens_per_s, total_s } = record;
  if (wall_s === null || ttft_ms === null || decode_tokens_per_s === null) return null;
  const prompt_token_s = ttft_ms / 1e3 / facts.prompt_tokens;
  const step_s = facts.batch_size / decode_tokens_per_s;
  const rest_s = Math.max(0, wall_s - workSeconds(facts, { prompt_token_s, step_s }));
  // A step of more sequences takes as long where memory is the limit, in proportion where arithmetic is.
  const growth = cell.batch_size / facts.batch_size;
  const walls = [1, growth].map((by) => rest_s + workSeconds(cell, { prompt_token_s, step_s: step_s * by }));
  const after_s = Math.max(0, total_s - wall_s);
  return {
    lo: Math.min(...walls) + after_s,
    hi: Math.max(...walls) + after_s,
    bytes: (record.bytes * Math.max(...walls)) / wall_s,
  };
}

/**
 * Prediction for a combination from complete runs of the same model on the same machine; null where there are none.
 * From runs of the same combination it is their mean and range; else it is scaled from the nearest one, by the time of a
 * prompt's token and of a decode step.
 */
export function predict(cell: Cell, records: readonly RunRecord[]): Prediction | null {
  const ofModel = records.filter(({ model_id, experiment }) => model_id === cell.model_id && experiment !== null);
  if (ofModel.length === 0) return null;
  const costs = {
    slowdown_pct: meanKnown(ofModel.map(({ slowdown_pct }) => slowdown_pct)),
    observer_cpu_pct: meanKnown(ofModel.map(({ observer_cpu_pct }) => observer_cpu_pct)),
  };
  const same = ofModel.filter(({ experiment }) => experiment !== null && isSameCell(cell, experiment));
  if (same.length > 0) {
    const times = same.map(({ total_s }) => total_s);
    return {
      time_s: mean(times),
      time_lo_s: Math.min(...times),
      time_hi_s: Math.max(...times),
      disk_bytes: Math.max(...same.map(({ bytes }) => bytes)),
      ...costs,
      runs: same.length,
      is_same: true,
    };
  }
  let nearest: { record: RunRecord; facts: Facts; far: number } | null = null;
  for (const record of ofModel) {
    const facts = record.experiment;
    if (facts === null) continue;
    const far = distance(cell, facts);
    if (nearest === null || far < nearest.far) nearest = { record, facts, far };
  }
  const found = nearest === null ? null : scaled(cell, nearest.record, nearest.facts);
  if (found === null) return null;
  return {
    time_s: (found.lo + found.hi) / 2,
    time_lo_s: found.lo,
    time_hi_s: found.hi,
    disk_bytes: found.bytes,
    ...costs,
    runs: 1,
    is_same: false,
  };
}
