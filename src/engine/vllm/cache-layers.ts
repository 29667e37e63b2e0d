/** Which layers of the model keep their rows in each part of vLLM's pool, by the modules that its attention has by name. */
import type { PythonObjects } from "../cpython/objects.ts";
import type { ReadMemory } from "../engine.ts";
import { tensorPlace } from "../pytorch/module-parameters.ts";

export interface CacheLayers {
  /** The one layer that keeps its rows in a memory; null where several do, or its name has no number; undefined where none does. */
  layerIn(addr: bigint, size_bytes: number): number | null | undefined;
}

interface LayerPlace {
  readonly addr: bigint;
  /** Null where its name has no number, or several. */
  readonly layer: number | null;
}

/** As in `model.layers.3.self_attn.attn`. */
function numberIn(name: string): number | null {
  const [number, ...others] = name.split(".").filter((word) => /^\d{1,6}$/.test(word));
  return number === undefined || others.length > 0 ? null : Number(number);
}

/** Where the modules of a layer have its keys and values, or its states. */
function placesOf(read: ReadMemory, python: PythonObjects, module: bigint): bigint[] {
  const cache = python.attribute(module, "kv_cache");
  if (cache === null) return [];
  const tensors = python.className(cache) === "Tensor" ? [cache] : (python.elements(cache) ?? []);
  return tensors.flatMap((tensor) => tensorPlace(read, python, tensor) ?? []);
}

/** Those of all layers that have a cache or a state, by their names. */
function modulesOf(python: PythonObjects, runner: bigint): ReadonlyMap<string, bigint> | null {
  const settings = python.attribute(runner, "compilation_config");
  const context = settings === null ? null : python.attribute(settings, "static_forward_context");
  return context === null ? null : python.entries(context);
}

/** Null where the model runner does not say it. */
export function cacheLayers(read: ReadMemory, python: PythonObjects, runner: bigint): CacheLayers | null {
  const modules = modulesOf(python, runner);
  if (modules === null) return null;
  const places: LayerPlace[] = [];
  for (const [name, module] of modules) {
    // One that reads the cache of another layer has the same as that.
    const other = python.attribute(module, "kv_sharing_target_layer_name");
    if (other !== null && python.text(other) !== null) continue;
    for (const addr of placesOf(read, python, module)) places.push({ addr, layer: numberIn(name) });
  }
  if (places.length === 0) return null;
  return {
    layerIn(addr, size_bytes) {
      const end = addr + BigInt(size_bytes);
      const inside = places.filter((place) => place.addr >= addr && place.addr < end);
      const [layer, ...others] = new Set(inside.map((place) => place.layer));
      return others.length > 0 ? null : layer;
    },
  };
}

/** Over how many tokens each layer looks back, by its modules; null among them is all. */
function windowsOf(python: PythonObjects, modules: ReadonlyMap<string, bigint>): ReadonlySet<number | null> {
  const windows = new Set<number | null>();
  for (const module of modules.values()) {
    const window = python.attribute(module, "sliding_window");
    const kind = window === null ? null : python.className(window);
    if (kind === "NoneType") windows.add(null);
    if (window !== null && kind === "int") windows.add(python.number(window));
  }
  return windows;
}

/**
 * How many kinds of layers there are: that have blocks of their own in the pool, those too that keep a state, or that look back over
 * other numbers of tokens in the same blocks. Null where it is not said.
 */
export function cacheKinds(python: PythonObjects, runner: bigint): number | null {
  const config = python.attribute(runner, "kv_cache_config");
  const groups = config === null ? null : python.attribute(config, "kv_cache_groups");
  const count = (groups === null ? null : python.elements(groups))?.length ?? null;
  const windows = windowsOf(python, modulesOf(python, runner) ?? new Map()).size;
  return count === null && windows === 0 ? null : Math.max(count ?? 0, windows);
}
