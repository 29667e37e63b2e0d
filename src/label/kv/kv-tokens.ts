/** Tokens of every KV cache by the engines' steps, or why they cannot be told. */

import { collectAfter } from "../../columnar/collect-after.ts";
import { detailOf, hasPlacedNothing } from "../../schema/step-detail.ts";
import { tooMany } from "../label-room.ts";
import { isBatch, type StepRow, withoutRefused } from "../timeline/step-row.ts";
import { keepsOrder, keptOrder } from "./batch-order.ts";
import type { CacheName } from "./cache-changes.ts";
import { type CacheSettings, leftPrefixCache, settingsOf } from "./cache-settings.ts";
import { type EarlyContext, earlyReason, partedEarly, withKnown, writesRows } from "./early-batches.ts";
import { cellList, cellsOf, cellTokens, rangesIn } from "./kv-cells.ts";
import { type CacheContext, type ContextLife, cacheContexts, livesOf } from "./kv-contexts.ts";
import type { TokenCounters } from "./kv-token.ts";
import { type MovedRows, movedRows } from "./moved-rows.ts";
import { movedCaches, tellsMoved } from "./moved-steps.ts";
import type { Positions, RowRun } from "./positions.ts";
import { namedSequences, nameOwners } from "./row-owners.ts";
import { sequenceCache } from "./sequence-cache.ts";
import { runsOf } from "./step-runs.ts";
import { tokenColumns } from "./token-columns.ts";
import { type ColumnTokens, orderOfWrites, together, tokensAt } from "./token-list.ts";
import type { CacheLists, WindowCache } from "./window-caches.ts";

/** The rows of some tokens, or why they cannot be told. */
interface KvTokenRows {
  readonly rows: Uint32Array;
  readonly untold: string | null;
}

export interface KvTokens {
  /** In order of their write; those of caches that move are not among them. */
  readonly tokens: ColumnTokens;
  /** Why nothing can be said of some tokens; null where all are told. Their lives are left out, never guessed. */
  readonly untold: string | null;
}

/** The same, and what is told of caches that move for every batch. */
export interface CacheTokens extends KvTokens {
  /** Contexts of which nothing is told at first. */
  readonly early: readonly EarlyContext[];
  readonly moved: Pick<MovedRows, "groups" | "copies">;
}

const NONE = new Uint32Array(0);
/** Tokens until what reading their steps left behind is collected. */
const COLLECT_AFTER = 1 << 16;

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** The cells of a batch's tokens in the order of its runs; null where they are not told, or not as many. */
function rowCellsOf(step: StepRow): readonly number[] | null {
  const n_tokens = step.n_tokens ?? 0;
  const cells = cellList(rangesIn(detailOf(step).kv_row_cells) ?? [], n_tokens);
  return cells.length === n_tokens ? cells : null;
}

/** Tokens of each graph of a batch; all in one unless told. */
function graphsOf(step: StepRow): readonly number[] {
  const { kv_graph_tokens: graphs } = detailOf(step);
  return Array.isArray(graphs) && graphs.every(isWhole) ? graphs : [step.n_tokens ?? 0];
}

/** It may have been given up at once, or in its midst. */
export const RESTORE_FAILED =
  "a saved cache could not be restored, and what became of the rows that were there is not told";

/** Those that it had before it was seen. */
export const COPIED_UNSEEN = "a sequence was given the rows of another one before it was known which rows that one has";

/** As those of an image have, in models that give it positions by its lines and columns. */
export const UNCOUNTED_ROWS =
  "several rows of a sequence have one position, so that it is not known how many there were before the first batch that was seen";

/** Of a layer that looks back over a window only, most rows are kept that no step reads any more. */
export const SEVERAL_CACHES =
  "some layers have another cache than the others, as those that look back over a window have, and how far these look back is not known";

function positionsOf(step: StepRow): Positions {
  const { position_from: from, position_to: end } = detailOf(step);
  return {
    from: isWhole(from) ? Math.max(0, from) : 0,
    to: isWhole(end) && end >= 0 ? end : Number.POSITIVE_INFINITY,
  };
}

const KNOWS_ITS_START = new Set(["context", "kv_clear"]);

const knowsItsStart = ({ kind }: StepRow): boolean => KNOWS_ITS_START.has(kind);
const tellsRows = (step: StepRow): boolean => runsOf(step) !== null;

/** What is told of caches that move, and the steps that are about others. */
interface Moved extends MovedRows {
  readonly untold: readonly string[];
  readonly others: readonly StepRow[];
}

const NOTHING_MOVED: MovedRows = { groups: [], copies: [], lost: 0 };

/** True for a batch that says of no cache which rows it writes. */
const isBare = (step: StepRow): boolean =>
  isBatch(step) && step.kind !== "encode" && runsOf(step) === null && cellsOf(step) === null;

/** @param steps of one engine in one process */
function movedOf(steps: readonly StepRow[], counters: TokenCounters): Moved {
  const [first] = steps;
  if (first === undefined || !steps.some(tellsMoved)) return { ...NOTHING_MOVED, untold: [], others: steps };
  const caches = movedCaches(first.pid, first.engine, steps);
  // One batch alone is no cache yet, or none any more: of the first and the last nobody can know.
  const [several, once] = [
    caches.filter(({ batches }) => batches.length > 1),
    caches.filter(({ batches }) => batches.length === 1),
  ];
  const batches = steps.filter(isBatch);
  const edges = new Set([batches[0], batches.at(-1)]);
  const others = steps.filter((step) => !tellsMoved(step));
  const isAlone = !others.some((step) => isBatch(step) && !isBare(step));
  const bare = new Set(isAlone ? others.filter(isBare) : []);
  const unknown =
    once.filter(({ batches: [batch] }) => !edges.has(batch?.step)).length +
    [...bare].filter((step) => !edges.has(step)).length;
  const rows = movedRows(several, counters);
  const untold = [
    ...(unknown > 0
      ? [`${unknown} of ${batches.length} batches say of no cache that is known which rows they write`]
      : []),
    ...(rows.lost > 0
      ? [
          `${rows.lost} rows were in caches that were made anew by what is not probed, as where a batch is reordered: what became of them is not known`,
        ]
      : []),
  ];
  return { ...rows, untold, others: others.filter((step) => !bare.has(step)) };
}

/** Why a batch does not tell its rows. @param batches of the run */
function untoldBatch(step: StepRow, steps: readonly StepRow[], batches: number): string {
  if (step.n_sequences !== null || steps.some(knowsItsStart))
    return "the engine does not tell the sequences of a batch";
  return earlyReason(steps.filter((one) => writesRows(one) && !tellsRows(one)).length, batches);
}

interface ContextLayout extends CacheSettings {
  /** Other layers keep a state of each sequence. */
  readonly hasStates: boolean;
  readonly streamCells: number | null;
  /** Some batch names the cells of its tokens. */
  readonly tellsCells: boolean;
  /** Null where it has several caches of which nothing is known. */
  readonly window: WindowCache | null;
  readonly batches: number;
}

/** Tokens of one context, of which `steps` are in order of their begin. */
function contextTokens({ steps, ...name }: CacheContext, layout: ContextLayout, counters: TokenCounters): KvTokenRows {
  const { streamCells, caches, keepsPrefixes, window, batches, hasStates } = layout;
  if (caches > 1) {
    if (window === null) return { rows: NONE, untold: SEVERAL_CACHES };
    return windowTokens({ steps, ...name }, { ...layout, window }, counters);
  }
  const tellsCells = caches === 1 && layout.tellsCells;
  // An engine of which graphs are read that name no cells is one that moves rows where there are holes between them.
  const mayMove = caches === 1 && !tellsCells;
  const place = { streamCells, tellsCells, mayMove, window: Number.POSITIVE_INFINITY };
  return layerTokens(
    steps,
    { ...name, ...place, ...counters },
    { keepsPrefixes, batches, hasStates, namesCells: tellsCells },
  );
}

/** The same where some layers look back over a window: each token has a row with a life of its own there. */
function windowTokens(
  { steps, ...name }: CacheContext,
  { keepsPrefixes, batches, hasStates, window }: ContextLayout & { readonly window: WindowCache },
  counters: TokenCounters,
): KvTokenRows {
  const fillings = new Map<string, number>();
  const nextFilling = (filling = ""): number => {
    const number = fillings.get(filling) ?? counters.nextFilling();
    fillings.set(filling, number);
    return number;
  };
  const found: Uint32Array[] = [];
  for (const in_window of [false, true]) {
    const layers: CacheName = {
      ...{ ...name, ...counters, nextFilling },
      // Where a row lies is known of the layers whose cells are named; of the others it is not concluded.
      ...{ tellsCells: true, mayMove: false },
      streamCells: in_window ? window.streamCells : window.fullStreamCells,
      window: in_window ? window.tokens : Number.POSITIVE_INFINITY,
      in_window,
    };
    // What a state in part brings back is that of layers with a window.
    const mine = in_window ? steps : steps.filter((step) => !isPartRestored(step));
    const namesCells = in_window === window.hasCells;
    const { rows, untold } = layerTokens(mine, layers, {
      keepsPrefixes,
      batches,
      hasStates,
      namesCells,
      restoresParts: true,
    });
    if (untold !== null) return { rows: NONE, untold };
    found.push(rows);
  }
  return { rows: together(found), untold: null };
}

const isPartRestored = (step: StepRow): boolean => step.kind === "kv_restore" && detailOf(step).partial === true;

interface LayerSteps extends Pick<ContextLayout, "keepsPrefixes" | "batches" | "hasStates"> {
  /** The cells that batches name are those of these layers. */
  readonly namesCells: boolean;
  readonly restoresParts?: true;
}

/** Tokens in layers that keep the same rows. */
function layerTokens(
  steps: readonly StepRow[],
  layers: CacheName,
  { keepsPrefixes, batches, hasStates, namesCells, restoresParts }: LayerSteps,
): KvTokenRows {
  const cache = sequenceCache(layers);
  const isOrdered = (runs: readonly RowRun[], step: StepRow): boolean =>
    hasStates ? keepsOrder(runs) : !restoresParts || keptOrder(runs, graphsOf(step));
  for (const step of steps) {
    const detail = detailOf(step);
    const sequence = step.sequence_id;
    // Of a call that placed nothing it makes no difference what it was asked to.
    if (step.kind === "encode" || (step.kind === "decode" && hasPlacedNothing(step.result ?? 0))) continue;
    if (step.kind === "decode" && step.n_tokens === null) {
      return { rows: NONE, untold: "a batch could not be read" };
    }
    if (step.kind === "decode" && (step.result ?? 0) !== 0) {
      return { rows: NONE, untold: "a batch was given up in its midst" };
    }
    if (isBatch(step)) {
      const runs = runsOf(step);
      if (runs === null) return { rows: NONE, untold: untoldBatch(step, steps, batches) };
      // Where each sequence has its own cells, these say of whom they are.
      const isInOrder = layers.streamCells !== null || isOrdered(runs, step);
      cache.batch(step, runs, namesCells && isInOrder ? rowCellsOf(step) : null);
      if (!cache.isSure()) return { rows: NONE, untold: COPIED_UNSEEN };
    } else if (knowsItsStart(step) || step.kind === "context_free") {
      cache.empty(step);
    } else if (step.kind === "kv_trim") {
      // A trim that does not say of what takes what was seen, and promises nothing of what was not.
      if (isWhole(detail.position_from)) cache.trim(step, sequence, positionsOf(step));
      else cache.trim(step, sequence, { from: Number.MIN_VALUE, to: Number.POSITIVE_INFINITY });
    } else if (step.kind === "kv_copy" && isWhole(detail.sequence_from) && sequence !== null) {
      cache.copy(step, detail.sequence_from, sequence, positionsOf(step));
    } else if (step.kind === "kv_free") {
      cache.free(step, cellsOf(step) ?? [], leftPrefixCache(step, keepsPrefixes));
    } else if (step.kind === "kv_keep" && sequence !== null) {
      cache.keep(step, sequence);
    } else if (step.kind === "kv_shift" && isWhole(detail.positions)) {
      const { positions } = detail;
      cache.move(step, sequence, positionsOf(step), (position) => position + positions);
    } else if (step.kind === "kv_divide" && isWhole(detail.divisor) && detail.divisor > 0) {
      const { divisor } = detail;
      cache.move(step, sequence, positionsOf(step), (position) => Math.floor(position / divisor));
    } else if (step.kind === "kv_restore") {
      if (detail.failed === true) return { rows: NONE, untold: RESTORE_FAILED };
      if (detail.partial === true && !restoresParts)
        return { rows: NONE, untold: "a part of a saved cache was restored" };
      cache.restore(step, sequence);
    }
  }
  if (!cache.isCounted()) return { rows: NONE, untold: UNCOUNTED_ROWS };
  return { rows: cache.finish(), untold: null };
}

/**
 * Tokens of every engine and process with batches.
 * @param streamCells how many cells of a context's cache each sequence has for itself, while the context lives; null where all share them
 * @param windowOf what is known of the layers of a context that look back over a window; null where that is not enough,
 *   undefined where nothing says that some do
 * @param hasStates whether layers of an engine in a process keep a state of each sequence
 * @throws MrmTraceError environment at more than `mostTokens`
 */
export function kvTokens(
  steps: readonly StepRow[],
  streamCells: (context: ContextLife) => number | null = () => null,
  mostTokens = Number.POSITIVE_INFINITY,
  windowOf: (context: CacheContext, lists: readonly CacheLists[]) => WindowCache | null | undefined = () => undefined,
  hasStates: (context: CacheContext) => boolean = () => false,
): CacheTokens {
  const found: Uint32Array[] = [];
  const columns = tokenColumns();
  const moved = { groups: [] as MovedRows["groups"][number][], copies: [] as MovedRows["copies"][number][] };
  const untold = new Set<string>();
  const early: EarlyContext[] = [];
  const batches = steps.filter(writesRows).length;
  let fillings = 0;
  let count = 0;
  const read = collectAfter(COLLECT_AFTER);
  const counters: TokenCounters = {
    columns,
    nextFilling: () => fillings++,
    countToken() {
      if (++count > mostTokens) throw tooMany("tokens in caches", mostTokens);
      read(1);
    },
  };
  for (const allSteps of Map.groupBy(steps, ({ pid, engine }) => `${pid}/${engine ?? ""}`).values()) {
    const ofMoved = movedOf(withoutRefused(allSteps), counters);
    for (const why of ofMoved.untold) untold.add(why);
    for (const group of ofMoved.groups) moved.groups.push(group);
    for (const copies of ofMoved.copies) moved.copies.push(copies);
    const engineSteps = ofMoved.others;
    const [first] = engineSteps;
    if (first === undefined) continue;
    if (!engineSteps.some(({ kind }) => kind === "decode")) {
      if (engineSteps.some(({ kind }) => kind === "graph") && !engineSteps.some(isBatch))
        untold.add("graphs were computed, and no batch was seen");
      continue;
    }
    if (engineSteps.some((step) => isBatch(step) && cellsOf(step) !== null)) {
      found.push(cellTokens(first.pid, first.engine, engineSteps, counters));
      continue;
    }
    const { contexts, untold: why } = cacheContexts(engineSteps);
    if (why !== null) untold.add(why);
    else {
      const settings = settingsOf(engineSteps);
      const named = namedSequences(engineSteps);
      for (const context of contexts) {
        const windows = windowOf(context, settings.lists);
        const window = windows ?? null;
        // Graphs that are computed in parts, or were not read, show one cache or none.
        const caches = windows === undefined ? settings.caches : Math.max(2, settings.caches);
        // Shares of what came early are those of one cache.
        const parted = window === null ? partedEarly(context.steps, tellsRows, knowsItsStart) : null;
        const sinceKnown = { ...context, steps: parted?.later ?? context.steps };
        const tellsCells = context.steps.some((step) => rowCellsOf(step) !== null && isBatch(step));
        const layout = { tellsCells, hasStates: hasStates(context), window, batches, ...settings, caches };
        const lives = livesOf(sinceKnown).map((life) =>
          contextTokens(life, { ...layout, streamCells: streamCells(life) }, counters),
        );
        const rows = together(lives.map((life) => life.rows));
        if (named !== null) nameOwners(columns, rows, named);
        found.push(rows);
        for (const life of lives) if (life.untold !== null) untold.add(life.untold);
        if (parted !== null && lives.every((life) => life.untold === null))
          early.push(withKnown(parted.early, context, tokensAt(columns, rows)));
      }
    }
  }
  const ended = together(found);
  const rows = orderOfWrites(columns, ended).map((place) => ended[place] as number);
  const tokens = tokensAt(columns, rows);
  return { tokens, moved, early, untold: untold.size === 0 ? null : [...untold].join("; ") };
}
