/** The engines of a run, as they told of themselves in the step stream. */

import { detailOf } from "../../schema/step-detail.ts";
import { endOf } from "../../statistics/doubling-bins.ts";
import { olderEngine } from "../capture/older-captures.ts";
import { agreedWords } from "./agreed-words.ts";
import { type EngineBuilds, engineBuilds } from "./engine-builds.ts";
import { isBatch, type StepRow } from "./step-row.ts";

export interface EngineSeen extends EngineBuilds {
  readonly name: string;
  /** Files in which it was found, in order of time. */
  readonly objects: readonly string[];
  /** What it runs with, by names of its own: the last word of each, without those that its processes say otherwise. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What the context that decoded was asked to be; null where that was not seen. Of several processes what is alike. */
  readonly context: Readonly<Record<string, unknown>> | null;
  /** Which experts of a mixture were read in the tokens that were looked at; none for other models. */
  readonly experts?: readonly ExpertsRead[];
  /** What forward passes allocated while they computed, of those that were looked at. */
  readonly activations?: Activations;
  /** What tokens took by the places between which the engine itself counts; missing where these are not probed. */
  readonly engine_time?: EngineTime;
}

/** Blocks that passes took from the allocator, less those of caches; times as the ends of quarters of a doubling. */
export interface Activations {
  readonly passes: number;
  readonly allocations_per_pass: number;
  readonly bytes_per_pass: number;
  /** The most that one pass held of its own at one moment. */
  readonly most_bytes: number;
  /** So many bytes of a hundred were kept no longer; null where more were still held when the look ended. */
  readonly kept_p50_ns: number | null;
  readonly kept_p90_ns: number | null;
  readonly kept_p99_ns: number | null;
}

/** Tokens behind the first of each answer, the time of the engine's own steps that led to them, and the quotient. */
export interface EngineTime {
  readonly tokens: number;
  readonly time_ns: number;
  readonly tokens_per_s: number;
}

/** Experts of one layer: how many of so many tokens read each. */
export interface ExpertsRead {
  readonly layer: number;
  readonly tokens: number;
  readonly reads: readonly number[];
  /** Bytes of all matrices of one expert: a token reads each of them once; null in older files. */
  readonly expert_bytes: number | null;
  /** Bytes of each expert that these tokens read; null where the bytes of one are not known. */
  readonly read_bytes: readonly number[] | null;
  /** Tokens of the same batches whose experts were not copied: too many for a record. */
  readonly untold_tokens: number;
}

/** Place of the most bytes among the sums of a look. */
const MOST = 3;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

interface Sum {
  readonly layer: number;
  tokens: number;
  readonly reads: number[];
  readonly expert_bytes: number | null;
  untold_tokens: number;
}

/** The sums of what the rows tell, by layer, and number and size of its experts. */
function expertsRead(details: readonly Readonly<Record<string, unknown>>[]): ExpertsRead[] {
  const sums = new Map<string, Sum>();
  for (const row of details.flatMap(({ experts }): unknown[] => (Array.isArray(experts) ? experts : []))) {
    const [layer, tokens, reads, size, untold]: unknown[] = Array.isArray(row) ? row : [];
    if (!isCount(layer) || !isCount(tokens) || !Array.isArray(reads) || !reads.every(isCount)) continue;
    const expert_bytes = isCount(size) && size > 0 ? size : null;
    const key = `${layer}/${reads.length}/${expert_bytes}`;
    const sum = sums.get(key) ?? { layer, tokens: 0, reads: reads.map(() => 0), expert_bytes, untold_tokens: 0 };
    sum.tokens += tokens;
    sum.untold_tokens += isCount(untold) ? untold : 0;
    for (const [i, count] of reads.entries()) sum.reads[i] = (sum.reads[i] ?? 0) + count;
    sums.set(key, sum);
  }
  return [...sums.values()].map((sum) => {
    const { reads, expert_bytes } = sum;
    return { ...sum, read_bytes: expert_bytes === null ? null : reads.map((count) => count * expert_bytes) };
  });
}

/** The sums of all looks; null where no pass was looked at. */
function activationsOf(details: readonly Readonly<Record<string, unknown>>[]): Activations | null {
  const sums = [0, 0, 0, 0, 0];
  const kept = new Map<number, number>();
  for (const { activations } of details) {
    const [head, bins]: unknown[] = Array.isArray(activations) ? activations : [];
    if (!Array.isArray(head) || head.length !== sums.length || !head.every(isCount) || !Array.isArray(bins)) continue;
    head.forEach((count, i) => {
      sums[i] = i === MOST ? Math.max(sums[i] ?? 0, count) : (sums[i] ?? 0) + count;
    });
    for (const row of bins) {
      const [bin, , bytes]: unknown[] = Array.isArray(row) ? row : [];
      if (isCount(bin) && isCount(bytes)) kept.set(bin, (kept.get(bin) ?? 0) + bytes);
    }
  }
  const [passes = 0, allocations = 0, bytes = 0, most_bytes = 0] = sums;
  if (passes === 0) return null;
  const inOrder = [...kept].sort(([a], [b]) => a - b);
  const quantile = (q: number): number | null => {
    let sum = 0;
    const reached = inOrder.find(([, share]) => {
      sum += share;
      return sum >= q * bytes;
    });
    return reached === undefined || bytes === 0 ? null : Math.round(endOf(reached[0]));
  };
  return {
    passes,
    allocations_per_pass: allocations / passes,
    bytes_per_pass: bytes / passes,
    most_bytes,
    kept_p50_ns: quantile(0.5),
    kept_p90_ns: quantile(0.9),
    kept_p99_ns: quantile(0.99),
  };
}

/** Null where nothing was counted. */
function engineTime(details: readonly Readonly<Record<string, unknown>>[]): EngineTime | null {
  let [tokens, time_ns] = [0, 0];
  for (const { engine_time: one } of details) {
    const [count, ns]: unknown[] = Array.isArray(one) ? one : [];
    if (!isCount(count) || !isCount(ns)) continue;
    tokens += count;
    time_ns += ns;
  }
  return tokens > 0 && time_ns > 0 ? { tokens, time_ns, tokens_per_s: tokens / (time_ns / 1e9) } : null;
}

/** The context of the first batch of each process, as it was asked for; else the last that was made. Null where one of them is not known. */
function contextAsked(steps: readonly StepRow[]): EngineSeen["context"] {
  const made = steps.filter(({ kind, result }) => kind === "context" && result !== null && result !== 0);
  const first = new Map<number, StepRow>();
  for (const step of steps) if (isBatch(step) && !first.has(step.pid)) first.set(step.pid, step);
  const asked = [...first.values()].map((batch) => {
    const used = made.filter(({ result }) => `0x${(result ?? 0).toString(16)}` === detailOf(batch).context);
    const mine = (one: StepRow): boolean => one.pid === batch.pid;
    // A process that was forked decodes in a context that its parent made.
    return used.findLast(mine) ?? used.at(-1) ?? made.findLast(mine) ?? made.at(-1);
  });
  const words = (asked.length === 0 ? made.slice(-1) : asked).map((step) => {
    const { model: _, ...said } = step === undefined ? {} : detailOf(step);
    return said;
  });
  if (words.some((one) => Object.keys(one).length === 0)) return null;
  const agreed = agreedWords(words);
  return Object.keys(agreed).length === 0 ? null : agreed;
}

/** The last word of each process, where none says otherwise. */
function settingsTold(steps: readonly StepRow[]): EngineSeen["settings"] {
  const said = Map.groupBy(steps, ({ pid }) => pid).values();
  return agreedWords([...said].map((mine) => Object.assign({}, ...mine.map((step) => detailOf(step).settings))));
}

/** Names of engines that others of the run are built on. */
function foundations(engineSteps: readonly StepRow[]): ReadonlySet<unknown> {
  return new Set(engineSteps.map(detailOf).flatMap(({ built_on }) => (Array.isArray(built_on) ? built_on : [])));
}

/** Every engine that was recognised, in order of its first step, those last that others are built on. @param steps in order of time */
export function enginesSeen(steps: readonly StepRow[]): EngineSeen[] {
  const engineSteps = steps.filter(({ kind }) => kind === "engine");
  const lower = foundations(engineSteps);
  const seen = [...Map.groupBy(engineSteps, ({ engine }) => engine)].map(([engine, stepsOfEngine]) => {
    const details = stepsOfEngine.map(detailOf);
    const paths = details.flatMap(({ path }) => (typeof path === "string" ? [path] : []));
    const objects = [...new Set(paths)];
    const mine = steps.filter((step) => step.engine === engine);
    const context = contextAsked(mine);
    const experts = expertsRead(details);
    const about = { objects, ...engineBuilds(mine), context };
    if (engine === null) return { ...about, ...olderEngine(steps) };
    const settings = settingsTold(stepsOfEngine);
    const engine_time = engineTime(details);
    const activations = activationsOf(details);
    return {
      ...{ name: engine, settings, ...about },
      ...(experts.length === 0 ? {} : { experts }),
      ...(activations === null ? {} : { activations }),
      ...(engine_time === null ? {} : { engine_time }),
    };
  });
  return seen.toSorted((one, other) => Number(lower.has(one.name)) - Number(lower.has(other.name)));
}
