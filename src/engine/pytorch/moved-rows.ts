/** What a pass does to the rows of a cache that moves for it, as its step tells it. */
import type { EngineRow } from "../engine.ts";
import type { CacheAppend } from "./cache-append.ts";

/** What is put behind keys or values of a layer. */
export interface Append {
  readonly append: CacheAppend;
}

/** Of one layer: rows of the pass before that lie in front of those that are kept, how many these are, and how many come behind. */
export type LayerRows = readonly [from: number, kept: number, added: number];

/** What all passes of a cache have alike. */
export interface MovedCache {
  /** Among all of the process. */
  readonly number: number;
  /** Number of its first sequence among all of the process. */
  readonly sequence: number;
}

/** Once, where all are alike. */
function alike<T>(values: readonly T[]): readonly T[] {
  const [first] = values;
  return first !== undefined && values.every((value) => String(value) === String(first)) ? [first] : values;
}

/**
 * Rows of each layer; null where keys and values differ, or the pass before left fewer than are kept.
 * @param layers keys and values of one layer after another
 * @param before the same after the pass before; null where that was not seen
 */
export function layerRows(layers: readonly Append[], before: readonly Append[] | null): readonly LayerRows[] | null {
  const rows: LayerRows[] = [];
  for (const [i, { append }] of layers.entries()) {
    const mine: LayerRows = [append.before?.from ?? 0, append.before?.rows ?? 0, append.count];
    const left = before === null ? Number.POSITIVE_INFINITY : (before[i]?.append.into.rows ?? 0);
    if (mine[0] + mine[1] > left) return null;
    if (i % 2 === 0) rows.push(mine);
    else if (String(rows.at(-1)) !== String(mine)) return null;
  }
  return rows;
}

/** How many rows the sequences of a cache have had in all, where that is known: layers that look back over a window keep fewer. */
export function lengthBefore(rows: readonly LayerRows[], before: number | null, left: number): number | null {
  const [first = [0, 0, 0] as const] = rows;
  // What is cut behind the rows that are kept is cut of all layers.
  if (before !== null) return before - (left - first[0] - first[1]);
  const whole = rows.filter(([from]) => from === 0).map(([, kept]) => kept);
  return whole.length > 0 ? Math.max(...whole) : null;
}

/** The facts of a step that moved a cache. @param pass how many of its passes were seen before */
export function movedStep(
  cache: MovedCache,
  pass: number,
  layers: readonly Append[],
  rows: readonly LayerRows[],
  length: number | null,
): Partial<EngineRow<"step">> {
  const bytes = layers.map(({ append: { into } }) => into.heads * into.head_elements * into.element_bytes);
  const sequences = layers[0]?.append.into.sequences ?? 0;
  const detail = JSON.stringify({
    moved_cache: [cache.number, pass],
    moved_sequences: [cache.sequence, sequences],
    moved_layers: rows.length,
    moved_bytes: alike(rows.map((_, i) => [bytes[2 * i], bytes[2 * i + 1]])),
    moved_rows: alike(rows),
  });
  return sequences === 1 ? { detail, sequence_id: cache.sequence, position_first: length } : { detail };
}
