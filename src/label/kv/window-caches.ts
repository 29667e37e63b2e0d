/** Where some layers look back over a window: which cache tensors are theirs, and how far they look. */
import { isInBlocks } from "../../regions/kv-layout.ts";
import type { ModelFacts } from "../../schema/model-facts.ts";
import type { KvTensor } from "./kv-lifecycle.ts";

/** Layers by the list of cells by which they write, in order of the first write. */
export type CacheLists = readonly (readonly number[])[];

export interface WindowCache {
  readonly layers: ReadonlySet<number>;
  /** A row at position p is needed by the tokens at p to p + tokens - 1. */
  readonly tokens: number;
  /** The cells that the engine names for its batches are those of these layers; else of the others. */
  readonly hasCells: boolean;
  /** Cells of one sequence in these layers, and in the others; null where sequences share them. */
  readonly streamCells: number | null;
  readonly fullStreamCells: number | null;
}

const sorted = (layers: Iterable<number>): string => JSON.stringify([...layers].sort((one, other) => one - other));

const isList = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((one) => Number.isSafeInteger(one));

/** The lists in the settings of an engine; null where it tells none. */
export function cacheLists(settings: object): CacheLists | null {
  if (!("kv_lists" in settings) || !Array.isArray(settings.kv_lists)) return null;
  return settings.kv_lists.every(isList) ? settings.kv_lists : null;
}

/** How many cells all of some tensors have, and streams; null where they differ. */
function shapeOf(tensors: readonly KvTensor[]): Pick<KvTensor, "cells" | "streams"> | null {
  const [first] = tensors;
  const isOne = tensors.every(({ cells, streams }) => cells === first?.cells && streams === first.streams);
  return isOne && first !== undefined ? first : null;
}

/** True where tensors are those of a model of which it is certain that some layers look back over a window, or that they may. */
export function haveWindows(tensors: readonly KvTensor[], model: ModelFacts | null): boolean {
  const layers = new Set(tensors.map(({ layer }) => layer));
  // Some of those of which less is certain have no rows.
  if (model?.has_other_windows === true) return layers.size <= (model.layers ?? layers.size);
  return (model?.window_layers?.length ?? 0) > 0 && layers.size === model?.layers;
}

/**
 * What three say alike: the graphs, which layers share a list of cells; the architecture and the header of the model, which
 * of them have a window, and how long it is; and the tensors, that their caches are no larger than the others.
 * @param tensors of the cache of one context
 * @param graphs lists of all graphs of its process
 * @param model null where no file of one was read, or of which no more is known than that
 * @returns null where they do not
 */
export function windowCache(
  tensors: readonly KvTensor[],
  graphs: readonly CacheLists[],
  model: ModelFacts | null,
): WindowCache | null {
  const { window_tokens: tokens, window_layers, layers: all } = model ?? {};
  if (tokens === undefined || window_layers === undefined || tensors.some(({ layout }) => isInBlocks(layout)))
    return null;
  const layers = new Set(tensors.map(({ layer }) => layer ?? -1));
  if (layers.has(-1) || layers.size !== all) return null;
  const mine = graphs.filter((lists) => sorted(lists.flat()) === sorted(layers));
  const [lists, ...others] = new Set(mine.map((one) => JSON.stringify(one)));
  if (lists === undefined || others.length > 0 || mine[0]?.length !== 2) return null;
  const first = mine[0].findIndex((list) => sorted(list) === sorted(window_layers));
  if (first < 0) return null;
  const windowed = new Set(window_layers);
  const isWindowed = ({ layer }: KvTensor): boolean => windowed.has(layer ?? -1);
  const short = shapeOf(tensors.filter(isWindowed));
  const long = shapeOf(tensors.filter((tensor) => !isWindowed(tensor)));
  if (short === null || long === null || short.cells > long.cells || short.streams !== long.streams) return null;
  const isShared = short.streams === 1;
  return {
    layers: windowed,
    tokens,
    hasCells: first === 0,
    streamCells: isShared ? null : short.cells,
    fullStreamCells: isShared ? null : long.cells,
  };
}
