/**
 * The parts of vLLM's pool, each told once it is known which layer has it. The modules of its model say that; where these cannot be read, it
 * is the layer that is called with it, by the order of the calls. With several kinds of layers, which may keep their rows in the same
 * memory, a whole step says whether there are others.
 */
import { monotonicNs } from "../../kernel/libc.ts";
import { layoutColumns } from "../../regions/kv-layout.ts";
import type { EngineRow, LiveTensor } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import type { CacheLayers } from "./cache-layers.ts";
import type { CachePlace, LayerCache } from "./cache-tensor.ts";
import { ENGINE_NAME } from "./probes.ts";

type Call = Pick<RawRecord, "timestamp_ns" | "tid">;

export interface PlacedCaches {
  /**
   * A layer is called with a cache, in a step that was prepared for so many kinds of layers.
   * @returns true where that was not seen before
   */
  meet(cache: LayerCache, layer: number, kinds: number, call: Call): boolean;
  /** A step is over. @param isWhole true where all of its calls were told */
  endStep(isWhole: boolean): void;
  /** What the modules say of the layers; null where they say nothing, or cannot be read. */
  learn(layers: CacheLayers | null): void;
  /** True where nothing was learnt for so long that those who wait should wait no longer. */
  isImpatient(): boolean;
  /** Nothing more will be known. */
  flush(): void;
  takeRows(): EngineRow<"tensor">[];
  live(): Iterable<LiveTensor>;
}

/** A cache of which it is not told yet which layer has it. */
interface Waiting {
  readonly cache: LayerCache;
  readonly first: Call;
  readonly met_ns: bigint;
  readonly kinds: number;
  readonly layers: Set<number>;
  /** A whole step was seen. */
  isWhole: boolean;
}

/** A cache waits no longer for its model's modules to be read. */
const WAIT_NS = 2_000_000_000n;

/** None yet. */
export function placedCaches(pid: number): PlacedCaches {
  const live = new Map<bigint, LiveTensor>();
  const waiting = new Map<bigint, Waiting>();
  /** Undefined while they may still be read. */
  let layers: CacheLayers | null | undefined;
  let tensors: EngineRow<"tensor">[] = [];

  function place(
    cache: LayerCache,
    { part, addr, size_bytes, elements, layout }: CachePlace,
    layer: number | null,
    { timestamp_ns, tid }: Call,
  ): void {
    const cells = cache.blocks * cache.block_tokens;
    const [name, logical_id] =
      layer === null ? [`cache_${part}`, null] : [`cache_${part}_l${layer}`, `layer${layer}.${part}`];
    const tensor: LiveTensor = {
      ...{ engine: ENGINE_NAME, pid, name, tensor_type: cache.type, addr, size_bytes },
      ...{ ne: [elements, cells], nb: [], region_type: "kv_cache", layer, logical_id },
      ...{ kv_layout: layout, drawn: true, is_alone: true },
    };
    live.set(addr, tensor);
    tensors.push({
      ...{ timestamp_ns, pid, tid, kind: "graph", name: tensor.name, tensor_type: cache.type },
      ...{ addr, size_bytes: BigInt(size_bytes), shape: `${elements}x${cells}` },
      ...{ buffer: cache.storage.addr, buffer_addr: cache.storage.addr },
      ...{ buffer_size_bytes: BigInt(cache.storage.size_bytes), usage: "any", region_type: "kv_cache" },
      ...{ layer, logical_id: tensor.logical_id, ...layoutColumns(layout), evidence: "engine_probe" },
    });
  }

  /** By the order of calls; null where that does not say it. */
  function calledLayer({ kinds, layers: called, isWhole }: Waiting): number | null {
    const [first = null] = called;
    return kinds === 1 || (isWhole && called.size === 1) ? first : null;
  }

  /** Tells of those of which the layer is known. @param isOver nothing more will say it */
  function placeKnown(isOver = false): void {
    if (layers === undefined && !isOver) return;
    for (const [addr, one] of waiting) {
      const { cache, first, kinds, isWhole } = one;
      const size_bytes = cache.places.reduce((most, part) => Math.max(most, part.size_bytes), 0);
      const named = layers?.layerIn(addr, size_bytes);
      if (named === undefined && kinds > 1 && !isWhole && !isOver) continue;
      waiting.delete(addr);
      for (const part of cache.places) place(cache, part, named === undefined ? calledLayer(one) : named, first);
    }
  }

  return {
    meet(cache, layer, kinds, { timestamp_ns, tid }) {
      const [first] = cache.places;
      if (first === undefined || live.has(first.addr)) return false;
      const met = waiting.get(first.addr);
      met?.layers.add(layer);
      if (met !== undefined) return false;
      const called = { first: { timestamp_ns, tid }, met_ns: monotonicNs(), kinds, layers: new Set([layer]) };
      waiting.set(first.addr, { cache, ...called, isWhole: false });
      placeKnown();
      return true;
    },
    endStep(isWhole) {
      for (const one of waiting.values()) {
        one.isWhole ||= isWhole;
        // Layers of a step of which calls were lost have other numbers.
        if (!one.isWhole && one.kinds > 1) one.layers.clear();
      }
      placeKnown();
    },
    learn(said) {
      layers = said;
      placeKnown();
    },
    isImpatient() {
      const [oldest] = waiting.values();
      return layers === undefined && oldest !== undefined && monotonicNs() > oldest.met_ns + WAIT_NS;
    },
    flush: () => placeKnown(true),
    takeRows() {
      const taken = tensors;
      tensors = [];
      return taken;
    },
    live: () => live.values(),
  };
}
