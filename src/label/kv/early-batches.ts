/**
 * Batches of a context that came before it was known what it holds: a program may leave the positions to its engine, and
 * these follow from what was written before we came. Nothing is told of what they wrote and read.
 */
import { detailOf } from "../../schema/step-detail.ts";
import { isBatch, type StepRow } from "../timeline/step-row.ts";
import type { CacheContext } from "./kv-contexts.ts";
import type { TokenList } from "./token-list.ts";

/** Those of one context. */
export interface EarlyBatches {
  readonly batches: number;
  readonly tokens: number;
  /** Begin of the first of them, and when what they wrote was given up. */
  readonly begin_ns: number;
  readonly end_ns: number;
}

/** The same, and what is known of that context from then on. */
export interface EarlyContext extends EarlyBatches {
  readonly context: CacheContext;
  /** Tokens that were written, and reads of all of its tokens. */
  readonly known_tokens: number;
  readonly known_reads: number;
}

/** What early batches leave open of the KV rows of a run. */
export interface EarlyRows {
  /** Such as "33 of 2113 batches were before their context was known". */
  readonly why: string;
  /** The most that they wrote, over all that was written to the caches, and the same of what they needed. */
  readonly written_share: number;
  readonly needed_share: number;
  /** Whenever a cache held what they wrote, in ns since the origin of the run. */
  readonly held: readonly (readonly [begin_ns: number, end_ns: number])[];
}

/** A sequence, or all of them, lose all rows. */
function isWholeTrim(step: StepRow): boolean {
  const { position_from: from, position_to: end } = detailOf(step);
  return step.kind === "kv_trim" && typeof from === "number" && from <= 0 && typeof end === "number" && end < 0;
}

/**
 * Parts the steps of a context where it became known.
 * @param tellsRows whether a batch says which rows it writes
 * @param knowsItsStart whether a context holds nothing from a step on
 * @returns null for one that says so all the time, and for one of which it never became known
 */
export function partedEarly(
  steps: readonly StepRow[],
  tellsRows: (step: StepRow) => boolean,
  knowsItsStart: (step: StepRow) => boolean,
): { readonly early: EarlyBatches; readonly later: readonly StepRow[] } | null {
  const start = steps.findIndex((step) => knowsItsStart(step) || isWholeTrim(step));
  const last = steps.slice(0, Math.max(0, start)).findLastIndex((step) => writesRows(step) && !tellsRows(step));
  if (last < 0) return null;
  const before = steps.slice(0, last + 1).filter(writesRows);
  const early = {
    batches: before.length,
    tokens: before.reduce((sum, { n_tokens }) => sum + (n_tokens ?? 0), 0),
    begin_ns: before[0]?.begin_ns ?? 0,
    end_ns: steps[start]?.begin_ns ?? 0,
  };
  return { early, later: steps.slice(last + 1) };
}

/** A batch that puts rows into the cache. */
export const writesRows = (step: StepRow): boolean => isBatch(step) && step.kind !== "encode";

/** Why nothing is known of some batches. @param all batches of the run */
export const earlyReason = (batches: number, all: number): string =>
  `${batches} of ${all} batches were before their context was known`;

/** @param tokens of that context from then on */
export function withKnown(early: EarlyBatches, context: CacheContext, tokens: TokenList): EarlyContext {
  let [known_tokens, known_reads] = [0, 0];
  for (let i = 0; i < tokens.length; i++) {
    if (tokens.origin(i).is_written) known_tokens += 1;
    known_reads += tokens.total_reads(i);
  }
  return { ...early, context, known_tokens, known_reads };
}

/** The largest share of any context, which that of all of them together is not above. */
function mostOf(contexts: readonly EarlyContext[], share: (context: EarlyContext) => number): number {
  return Math.min(1, Math.max(0, ...contexts.map(share)));
}

/**
 * What is open for the early batches of all contexts with a cache; null where there are none.
 * @param cellsOf the most tokens that the cache of a context holds; 0 where none is known
 * @param steps of the run
 */
export function earlyRows(
  all: readonly EarlyContext[],
  cellsOf: (context: CacheContext) => number,
  steps: readonly StepRow[],
): EarlyRows | null {
  const contexts = all.filter(({ context }) => cellsOf(context) > 0);
  if (contexts.length === 0) return null;
  const batches = contexts.reduce((sum, context) => sum + context.batches, 0);
  return {
    why: earlyReason(batches, steps.filter(writesRows).length),
    written_share: mostOf(contexts, ({ tokens, known_tokens }) => tokens / (tokens + known_tokens)),
    // A batch needs each row of its cache once at most.
    needed_share: mostOf(contexts, ({ context, batches: count, known_reads }) => {
      const needed = count * cellsOf(context);
      return needed / (needed + known_reads);
    }),
    held: contexts.map(({ begin_ns, end_ns }) => [begin_ns, end_ns]),
  };
}
