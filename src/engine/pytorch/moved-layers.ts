/**
 * Which layers of its model a cache that moves has keys and values of: others may keep a state, or share the cache of one before them.
 * By the weights that a pass multiplied with last before it moved those of a layer and first behind that, where both are of one layer by
 * their names; else by how many layers the model has, where as many were moved.
 */
import { layerNumbers, type ModelLayers } from "./model-layers.ts";

/** Their numbers in the model, or why these are not known. */
export type MovedLayers = readonly number[] | { readonly untold: string };

/** Addresses of the weights around what a pass did; null for none that was seen. */
export interface Multiplied {
  before: bigint | null;
  behind: bigint | null;
}

export interface LayersOfCaches {
  /** What was around the keys and the values of one layer after another, in a pass of the model whose table lies there. */
  note(table: bigint, parts: readonly Multiplied[]): void;
  /**
   * Of a cache of so many layers; null while it is not known yet.
   * @param since_ns when the table was used
   */
  layersOf(table: bigint, count: number, since_ns: bigint): MovedLayers | null;
  /** By what is known already. */
  layersNow(table: bigint, count: number): readonly number[] | null;
}

/** Models with caches of so many layers: a program that makes one for each request would fill our memory. */
const MODELS = 256;

const isRising = (numbers: readonly number[]): boolean => numbers.every((one, i) => one > (numbers[i - 1] ?? -1));

/**
 * None seen yet.
 * @param nameAt what the parameter is called that begins at an address; null for none
 */
export function layersOfCaches(
  modelLayers: (table: bigint, since_ns: bigint) => ModelLayers | null,
  nameAt: (addr: bigint) => string | null,
): LayersOfCaches {
  /** What was around each layer. */
  const seen = new Map<string, readonly (readonly [before: bigint, behind: bigint])[]>();

  function layersNow(table: bigint, count: number): readonly number[] | null {
    const ofTable = nameAt(table);
    const around = seen.get(`${table}/${count}`)?.flat().map(nameAt);
    if (ofTable === null || around === undefined) return null;
    const names = around.filter((name) => name !== null);
    const numbers = names.length < around.length ? null : layerNumbers(names, ofTable);
    if (numbers === null || numbers.some((one, i) => one !== numbers[i - (i % 2)])) return null;
    const layers = numbers.filter((_, i) => i % 2 === 0);
    return isRising(layers) ? layers : null;
  }

  return {
    note(table, parts) {
      const around: (readonly [bigint, bigint])[] = [];
      for (const [i, { before }] of parts.entries()) {
        if (i % 2 !== 0) continue;
        const behind = parts[i + 1]?.behind ?? null;
        // The probe was taken away in its midst, or its weights are given to another operator.
        if (before === null || behind === null) return;
        around.push([before, behind]);
      }
      if (seen.size >= MODELS) seen.clear();
      seen.set(`${table}/${around.length}`, around);
    },
    layersOf(table, count, since_ns) {
      const found = layersNow(table, count);
      if (found !== null) return found;
      const layers = modelLayers(table, since_ns);
      if (layers === null || typeof layers !== "number") return layers;
      if (layers === count) return Array.from({ length: count }, (_, i) => i);
      const moved = `${count} ${count === 1 ? "layer was" : "layers were"} seen to be moved`;
      return { untold: `${moved}, its model has ${layers}, and the weights that are used beside do not tell which` };
    },
    layersNow,
  };
}
