/** Rows of the step stream as the labels read them: times as ns since the origin of the run. */
import type { RowOf } from "../../schema/row.ts";
import { contextOf, detailOf, draftedBy, promptSequences, surelyTaken } from "../../schema/step-detail.ts";
import { relativeNs } from "./origin.ts";

export interface StepRow {
  readonly pid: number;
  /** The engine that told; null in captures that know one engine only. */
  readonly engine: string | null;
  readonly kind: string;
  readonly begin_ns: number;
  /** Infinity while it had not returned. */
  readonly end_ns: number;
  readonly n_tokens: number | null;
  readonly n_sequences: number | null;
  readonly position_first: number | null;
  readonly sequence_id: number | null;
  readonly result: number | null;
  readonly detail: string | null;
  /** True of a draft model, which computes to guess what another model decodes. */
  readonly is_guess?: true;
}

/** False for a row by which an engine was recognised that tells no steps: nothing may be taken from their absence. */
export function tellsSteps(step: StepRow): boolean {
  return step.kind !== "engine" || detailOf(step).tells_steps !== false;
}

/** Engines that do not tell of all their tensors: of a process where one works, nothing may be taken from what has no name. */
export function partialEngines(steps: readonly StepRow[]): ReadonlySet<string | null> {
  const partial = steps.filter((step) => step.kind === "engine" && detailOf(step).tells_tensors === false);
  return new Set(partial.map(({ engine }) => engine));
}

/** Steps that say only that a library of an engine is there, or what something is called. */
const RECOGNISED = new Set(["engine", "probes", "request"]);

/**
 * True for a step of an engine that loaded a model or computed: not for a load that placed no tensor, as of one that reads its
 * model's words alone, nor for the end of a model.
 */
export function isWork(step: StepRow): boolean {
  if (step.kind === "model_load") return detailOf(step).simulated !== true;
  return !RECOGNISED.has(step.kind) && step.kind !== "model_free";
}

/** Step rows in order of their begin. */
export function stepRows(rows: Iterable<RowOf<"step">>, originNs: bigint): StepRow[] {
  /** Contexts of draft models, with their process. */
  const guessing = new Set<string>();
  const steps = Array.from(rows, (row): StepRow => {
    const drafter = draftedBy(row);
    if (drafter !== null) guessing.add(`${row.pid}/${drafter}`);
    return {
      pid: row.pid,
      engine: row.engine,
      kind: row.kind,
      begin_ns: relativeNs(row.timestamp_ns, originNs) ?? 0,
      end_ns: relativeNs(row.end_ns, originNs) ?? Number.POSITIVE_INFINITY,
      n_tokens: row.n_tokens,
      n_sequences: row.n_sequences,
      position_first: row.position_first,
      sequence_id: row.sequence_id,
      result: row.result === null ? null : Number(row.result),
      detail: row.detail,
    };
  });
  const isGuess = (step: StepRow): boolean => guessing.size > 0 && guessing.has(`${step.pid}/${contextOf(step)}`);
  return steps
    .map((step): StepRow => (isGuess(step) ? { ...step, is_guess: true } : step))
    .sort((left, right) => left.begin_ns - right.begin_ns);
}

/**
 * True for a batch of prompt tokens: more tokens than sequences, or more than one where sequences are not known, guesses of what will be
 * sampled left out, or one that its engine tells to be of a prompt; what is encoded is none that is generated.
 */
export function isPrefill(step: StepRow): boolean {
  if (step.kind === "encode" || surelyTaken(step.n_tokens ?? 1, step) > (step.n_sequences ?? 1)) return true;
  return promptSequences(step).length > 0;
}

/** True for a call that decodes or encodes and that the engine carried out: other results than 0 say that it placed nothing. */
export function isBatch(step: StepRow): boolean {
  return (
    (step.kind === "decode" || step.kind === "encode") &&
    (step.n_tokens ?? 0) > 0 &&
    (step.result === null || step.result === 0)
  );
}

/** True for a batch of which tokens come: not for one in which a draft model guesses those of another. */
export const isTurn = (step: StepRow): boolean => isBatch(step) && step.is_guess !== true;

/**
 * The last batch of each context where it had not returned when its process, or the recording, ended: which of its rows were written, and
 * which it had read, nobody knows.
 */
export function cutBatches(steps: readonly StepRow[]): ReadonlySet<StepRow> {
  const last = new Map<string, StepRow>();
  for (const step of steps) {
    if (isBatch(step)) last.set(`${step.pid}/${step.engine ?? ""}/${contextOf(step)}`, step);
  }
  return new Set([...last.values()].filter(({ end_ns }) => end_ns === Number.POSITIVE_INFINITY));
}

/** Steps without the last batches that were cut, and without what sequences were given of the rows that these wrote. */
export function withoutCut(steps: readonly StepRow[]): readonly StepRow[] {
  const cut = cutBatches(steps);
  if (cut.size === 0) return steps;
  const lastOf = new Map<number, StepRow>();
  return steps.filter((step) => {
    if (cut.has(step)) lastOf.set(step.pid, step);
    // An engine that tells of rows in a batch says who shares them right behind it.
    const isGiven = step.kind === "kv_copy" && lastOf.get(step.pid)?.begin_ns === step.begin_ns;
    return !cut.has(step) && !isGiven;
  });
}

/** True for a row which says that a call took nothing away. */
const isRefused = (step: StepRow): boolean => step.kind === "kv_trim" && detailOf(step).refused === true;

/** Steps without the calls that took nothing away, each of which has two rows: its own, and that which says so. */
export function withoutRefused(steps: readonly StepRow[]): readonly StepRow[] {
  const begins = new Set(steps.filter(isRefused).map(({ begin_ns }) => begin_ns));
  return begins.size === 0 ? steps : steps.filter(({ kind, begin_ns }) => kind !== "kv_trim" || !begins.has(begin_ns));
}
