/** What a pass does to the rows of a cache that moves for it, as its step tells it. */
import { nullsOf } from "../../schema/row.ts";
import type { EngineRow } from "../engine.ts";
import type { CacheAppend } from "./cache-append.ts";
import type { MovedLayers } from "./moved-layers.ts";

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
  /** Which layers of its model it has; null while that is not known yet. */
  readonly layering: { readonly layers: MovedLayers | null };
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

/** Which layers these are: nothing where they are all from the first on, null where it is not told. */
function numbersOf(layers: MovedLayers | null): { readonly moved_numbers?: readonly number[] | null } {
  if (layers === null || "untold" in layers) return { moved_numbers: null };
  return layers.every((number, i) => number === i) ? {} : { moved_numbers: layers };
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
    ...numbersOf(cache.layering.layers),
    moved_bytes: alike(rows.map((_, i) => [bytes[2 * i], bytes[2 * i + 1]])),
    moved_rows: alike(rows),
  });
  return sequences === 1 ? { detail, sequence_id: cache.sequence, position_first: length } : { detail };
}

/** Says of a cache which layers of its model it has, of which its first steps did not. */
export function movedStepOfLayers(
  pid: number,
  { cache, since_ns }: { readonly cache: number; readonly since_ns: bigint },
  moved_numbers: readonly number[],
): EngineRow<"step"> {
  const { engine: _, ...nothing } = nullsOf("step");
  const detail = JSON.stringify({ moved_cache: [cache], moved_numbers });
  return { ...nothing, timestamp_ns: since_ns, pid, tid: pid, kind: "engine", detail };
}
