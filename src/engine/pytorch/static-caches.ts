/**
 * Caches of keys and values that stay where they are, by the rows that passes write into them: in each pass the same pairs of
 * tensors in the same order, keys first, which is the order of the layers. Told from the second pass on, once it is known how many
 * layers the model has: some may be written otherwise, as those whose window a prompt fills, or have no such cache.
 */
import { nullsOf } from "../../schema/row.ts";
import type { EngineRow, LiveTensor, ReadMemory } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { cachePart, cacheRow } from "./cache-row.ts";
import { isThere, type Storage } from "./cache-tensor.ts";
import type { CacheWrite } from "./cache-write.ts";
import { goneRow } from "./gone-row.ts";
import type { ModelLayers } from "./model-layers.ts";
import { sequenceNumbers } from "./sequence-numbers.ts";

/** A write of a pass, and when. */
export interface TimedWrite extends Pick<RawRecord, "timestamp_ns" | "tid"> {
  readonly write: CacheWrite;
}

export interface StaticCaches {
  /** A pass that is not over wrote rows. */
  note(write: TimedWrite): void;
  /**
   * A pass is over.
   * @param isWhole false where it may have been cut: it has rows only where it wrote all that the one before it wrote
   * @param table where that of its tokens lies, by which its model is known; null where that could not be read
   * @returns steps of its thread that are decided, with the rows that they wrote, where these are told
   */
  endPass(
    row: EngineRow<"step">,
    writes: readonly TimedWrite[],
    isWhole: boolean,
    table: bigint | null,
  ): readonly EngineRow<"step">[];
  /** Asks again for the layers of the models that wrote caches. @returns the steps that waited for that */
  settle(): readonly EngineRow<"step">[];
  /** The steps that are not decided yet: nothing more comes soon. */
  flush(): readonly EngineRow<"step">[];
  /**
   * Looks whether the memory of each cache is still that, once all writes so far were noted. What is missed ends with the
   * next call, as it may have been written until then. @param isLast now, however short ago it did
   */
  check(read: ReadMemory, now_ns: () => bigint, isLast?: boolean): void;
  takeRows(): { readonly tensors: EngineRow<"tensor">[]; readonly steps: EngineRow<"step">[] };
  live(): LiveTensor[];
  /** Why the layers of some are not told; empty while those of all are. */
  untold(): readonly string[];
}

/** Layers of the model whose table lies at an address, which was used at that time; null while that is not known yet. */
export type LayersOf = (table: bigint, since_ns: bigint) => ModelLayers | null;

interface Cache {
  /** Its tensors in their order. */
  readonly keys: readonly string[];
  /** What the pass wrote in which they were first seen. */
  readonly first: readonly [TimedWrite, ...TimedWrite[]];
  /** Number of its first sequence among all of the process. */
  readonly sequence: number;
  /** The table of the pass in which they were first seen. */
  readonly table: bigint | null;
  /** Whether these are all layers of its model, or why that is not so; null while it is not known yet. */
  layers: "all" | Untold | null;
  /** Steps that wrote it until then. */
  readonly waiting: Undecided[];
  /** The row behind the last that was written. */
  next: number;
  /** When it was last known to be there. */
  alive_ns: bigint;
  /** Null until it is told of, and again once it is gone. */
  tensors: readonly LiveTensor[] | null;
  wasTold: boolean;
  /** When it was seen not to be there: no write after that is of it. */
  missed_ns: bigint | null;
  /** The pass that wrote it last may not be over. */
  isGone: boolean;
}

/** A step of a cache that is not told of and had rows before: whose they are, only the next pass says. */
interface Undecided {
  readonly row: EngineRow<"step">;
  readonly withRows: EngineRow<"step">;
  readonly cache: Cache;
}

interface Untold {
  readonly untold: string;
}

/** A program that makes a cache for each request would fill our memory. */
const CACHES = 256;
const TOO_MANY = `more than ${CACHES} caches were written before it was known how many layers their model has`;
const TOO_LATE = "nothing more was seen before it was known how many layers its model has";
/** Of a pass; a step of more is told without its rows. */
const SEQUENCES = 256;
/** Time between looks at the storages. */
const LOOK_NS = 100_000_000n;

/** How many numbers of rows there is room for in the layers. */
const sizesOf = (layers: readonly TimedWrite[]): number => new Set(layers.map(({ write }) => write.rows)).size;

const keyOf = ({ storage, addr, type, sequences, heads, rows, head_elements }: CacheWrite): string =>
  `${storage.structure}/${addr}/${type}/${sequences}x${heads}x${rows}x${head_elements}`;

/** Writes into keys and values of one layer after another, of the same rows; null for others. */
function layersOf(writes: readonly TimedWrite[], tokens: number): readonly [TimedWrite, ...TimedWrite[]] | null {
  // What an encoder read has other rows than the tokens of the pass.
  const mine = writes.filter(({ write: { sequences, count } }) => sequences * count === tokens);
  const [first] = mine;
  if (first === undefined || mine.length % 2 !== 0) return null;
  const { sequences, first: row, count } = first.write;
  const isAlike = ({ write }: TimedWrite, i: number): boolean => {
    const keys = mine[i - (i % 2)]?.write;
    if (write.sequences !== sequences || write.first !== row || write.count !== count) return false;
    return write.heads === keys?.heads && write.rows === keys.rows && write.type === keys.type;
  };
  if (!mine.every(isAlike) || new Set(mine.map(({ write }) => keyOf(write))).size < mine.length) return null;
  return [first, ...mine.slice(1)];
}

/** None seen yet. @param modelLayers is asked once more for what is not known yet, with each pass and when it is told to */
export function staticCaches(
  pid: number,
  modelLayers: LayersOf = () => null,
  takeSequences = sequenceNumbers(),
): StaticCaches {
  /** By their first tensor. */
  const caches = new Map<string, Cache>();
  /** By thread. */
  const undecided = new Map<number, Undecided>();
  /** Of which it is not known whether they have all layers, the oldest first. */
  const unsettled = new Set<Cache>();
  const untold = new Set<string>();
  let kinds = 0;
  let lookedNs = 0n;
  let tensors: EngineRow<"tensor">[] = [];
  let steps: EngineRow<"step">[] = [];

  const storagesOf = ({ first }: Cache): Storage[] => [
    ...new Map(first.map(({ write: { storage } }) => [storage.structure, storage])).values(),
  ];

  const partsOf = ({ first, layers }: Cache): LiveTensor[] =>
    first.map(({ write }, i) => cachePart(pid, write, i, layers === "all" ? i >> 1 : null));

  function addTensors(cache: Cache): void {
    for (const [i, part] of partsOf(cache).entries()) {
      const { write, timestamp_ns, tid } = cache.first[i] ?? cache.first[0];
      tensors.push(cacheRow(part, write, { timestamp_ns, tid }, "graph"));
    }
    if (cache.layers !== null && cache.layers !== "all") untold.add(cache.layers.untold);
  }

  function freeTensors(cache: Cache): void {
    const from = { timestamp_ns: cache.alive_ns, pid, tid: cache.first[0].tid, evidence: "operand" } as const;
    for (const storage of storagesOf(cache)) tensors.push(goneRow(storage, from));
  }

  /** Its memory may be something else's. */
  function forget(cache: Cache): void {
    cache.isGone = true;
    cache.missed_ns ??= cache.alive_ns;
    if (cache.tensors === null) return;
    cache.tensors = null;
    if (cache.layers !== null) freeTensors(cache);
  }

  function forgetMissed(): void {
    for (const cache of caches.values()) if (cache.missed_ns !== null && !cache.isGone) forget(cache);
  }

  /** Tells of a cache; what lay there before is gone. */
  function tell(cache: Cache): void {
    const mine = storagesOf(cache);
    const meetsMine = (other: Storage): boolean =>
      mine.some((one) => one.addr < other.addr + other.size_bytes && other.addr < one.addr + one.size_bytes);
    for (const other of caches.values()) if (other !== cache && storagesOf(other).some(meetsMine)) forget(other);
    cache.tensors = partsOf(cache);
    cache.wasTold = true;
    if (cache.layers !== null) addTensors(cache);
  }

  /** The cache that these are, told of once they come a second time: of one that stays, rows that follow those before, or come again. */
  function cacheOf(layers: readonly [TimedWrite, ...TimedWrite[]], table: bigint | null): Cache {
    const keys = layers.map(({ write }) => keyOf(write));
    const [key = ""] = keys;
    const [{ write, timestamp_ns: alive_ns }] = layers;
    const next = write.first + write.count;
    const existing = caches.get(key) ?? [...caches.values()].find((one) => !one.isGone && one.keys.includes(key));
    // Layers whose window is full are written otherwise.
    const isSame = keys.every((one) => existing?.keys.includes(one)) && write.first <= (existing?.next ?? 0);
    if (existing !== undefined && isSame && (existing.missed_ns === null || alive_ns <= existing.alive_ns)) {
      if (existing.tensors === null && !existing.isGone) tell(existing);
      existing.next = next;
      if (existing.alive_ns < alive_ns) existing.alive_ns = alive_ns;
      return existing;
    }
    if (existing !== undefined) forget(existing);
    if (caches.size >= CACHES) for (const [other, one] of caches) if (one.tensors === null) caches.delete(other);
    const cache: Cache = {
      keys,
      first: layers,
      sequence: takeSequences(write.sequences),
      table,
      layers: null,
      waiting: [],
      next,
      alive_ns,
      tensors: null,
      wasTold: false,
      missed_ns: null,
      isGone: false,
    };
    caches.set(key, cache);
    const [oldest] = unsettled;
    if (oldest !== undefined && unsettled.size >= CACHES) steps.push(...settleOne(oldest, { untold: TOO_MANY }));
    unsettled.add(cache);
    return cache;
  }

  function isLikeBefore(layers: readonly [TimedWrite, ...TimedWrite[]]): boolean {
    const keys = layers.map(({ write }) => keyOf(write));
    return caches.get(keys[0] ?? "")?.keys.join() === keys.join();
  }

  /** How many caches the layers have: some may have room for fewer rows, as those that look back over a window. */
  function tellKinds({ timestamp_ns, tid }: Pick<EngineRow<"step">, "timestamp_ns" | "tid">, kv_caches: number): void {
    if (kv_caches <= kinds) return;
    kinds = kv_caches;
    const { engine: _engine, ...none } = nullsOf("step");
    steps.push({
      ...{ ...none, timestamp_ns, pid, tid, kind: "engine" },
      detail: JSON.stringify({ settings: { kv_caches } }),
    });
  }

  /** It is known by now whether it has all layers. @returns the steps that waited for that */
  function settleOne(cache: Cache, layers: "all" | Untold): readonly EngineRow<"step">[] {
    unsettled.delete(cache);
    cache.layers = layers;
    if (cache.wasTold) {
      addTensors(cache);
      if (cache.tensors === null) freeTensors(cache);
      else cache.tensors = partsOf(cache);
    }
    return cache.waiting.splice(0).flatMap(written);
  }

  /** @returns the steps that waited, where the layers of its model are known by now */
  function settle(cache: Cache): readonly EngineRow<"step">[] {
    const layers = cache.table === null ? null : modelLayers(cache.table, cache.first[0].timestamp_ns);
    if (layers === null) return [];
    if (typeof layers !== "number") return settleOne(cache, layers);
    const seen = cache.first.length / 2;
    if (seen === layers) return settleOne(cache, "all");
    // The others have a cache that is written otherwise, or none.
    if (seen < layers) tellKinds(cache.first[0], Math.max(2, sizesOf(cache.first)));
    const counts = `${seen} ${seen === 1 ? "layer was" : "layers were"} seen to be written, and its model has ${layers}`;
    return settleOne(cache, { untold: counts });
  }

  /** A step that wrote a cache: it waits until it is known whether that has all layers, and has rows where it does. */
  function written(step: Undecided): readonly EngineRow<"step">[] {
    const { row, withRows, cache } = step;
    if (cache.layers !== null) return [cache.layers === "all" ? withRows : row];
    cache.waiting.push(step);
    return settle(cache);
  }

  /** With the rows that it writes; as it is where they are too many. */
  function rowsOf(row: EngineRow<"step">, write: CacheWrite, { sequence, first: whole }: Cache): EngineRow<"step"> {
    const { sequences: batch, rows, first, count } = write;
    const { addr } = whole[0].write;
    if (batch > SEQUENCES) return row;
    const numbers = Array.from({ length: batch }, (_, i) => i);
    const kv_rows = numbers.map((i) => [sequence + i, first, count]);
    const kv_row_cells = numbers.map((i) => [i * rows + first, count]);
    const detail = JSON.stringify({ context: `0x${addr.toString(16)}`, kv_rows, kv_row_cells });
    return batch === 1 ? { ...row, sequence_id: sequence, position_first: first, detail } : { ...row, detail };
  }

  function decide(threads: readonly number[]): readonly EngineRow<"step">[] {
    return threads.flatMap((tid) => {
      const step = undecided.get(tid);
      undecided.delete(tid);
      if (step === undefined) return [];
      return step.cache.wasTold ? written(step) : [step.row];
    });
  }

  return {
    note({ write, timestamp_ns }) {
      const cache = caches.get(keyOf(write));
      // Rows that do not follow may be of another that lies there now: that is known once the pass is over.
      if (cache?.tensors == null || write.first !== cache.next) return;
      if (timestamp_ns > (cache.missed_ns ?? timestamp_ns)) return;
      if (cache.alive_ns < timestamp_ns) cache.alive_ns = timestamp_ns;
    },
    endPass(row, writes, isWhole, table) {
      const found = layersOf(writes, row.n_tokens ?? 0);
      const layers = found !== null && (isWhole || isLikeBefore(found)) ? found : null;
      const cache = layers && cacheOf(layers, table);
      const decided = decide([row.tid]);
      if (layers === null || cache === null) return [...decided, row];
      const withRows = rowsOf(row, layers[0].write, cache);
      tellKinds(row, sizesOf(layers));
      const step = { row, withRows, cache };
      if (cache.wasTold || layers[0].write.first === 0) return [...decided, ...written(step)];
      undecided.set(row.tid, step);
      return decided;
    },
    settle: () => [...unsettled].flatMap(settle),
    flush() {
      forgetMissed();
      const decided = decide([...undecided.keys()]);
      return [...decided, ...[...unsettled].flatMap((cache) => settleOne(cache, { untold: TOO_LATE }))];
    },
    check(read, now_ns, isLast = false) {
      forgetMissed();
      const begin_ns = now_ns();
      if (caches.size === 0 || (begin_ns < lookedNs + LOOK_NS && !isLast)) return;
      lookedNs = begin_ns;
      for (const cache of caches.values()) {
        if (cache.tensors === null) continue;
        if (!storagesOf(cache).every((storage) => isThere(storage, read))) cache.missed_ns = now_ns();
        else if (cache.alive_ns < begin_ns) cache.alive_ns = begin_ns;
      }
    },
    takeRows() {
      const taken = { tensors, steps };
      tensors = [];
      steps = [];
      return taken;
    },
    untold: () =>
      [...untold].map((why) => `the layers of a static KV cache, and its rows, are not identifiable: ${why}`),
    live: () =>
      [...caches.values()].flatMap(({ tensors: placed, missed_ns }) => (missed_ns === null ? (placed ?? []) : [])),
  };
}
