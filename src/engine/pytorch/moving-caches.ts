/**
 * Caches of keys and values that move for every pass, by what is put behind their rows: in each pass the same pairs in the same
 * order, keys first, which is the order of the layers; each begins with what the pass before left. Where they lie is told from the
 * second pass on, once it is known which layers of the model these are; what becomes of their rows with every pass.
 */
import { nullsOf } from "../../schema/row.ts";
import type { EngineRow, ReadMemory } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import type { CacheAppend } from "./cache-append.ts";
import { cachePart, cacheRow } from "./cache-row.ts";
import { isThere } from "./cache-tensor.ts";
import { goneRow } from "./gone-row.ts";
import { type DecidedEnd, movedEnds } from "./moved-ends.ts";
import type { LayersOfCaches, MovedLayers, Multiplied } from "./moved-layers.ts";
import { type LayerRows, layerRows, lengthBefore, movedStep, movedStepOfLayers } from "./moved-rows.ts";
import { sequenceNumbers } from "./sequence-numbers.ts";

/** What was appended in a pass, and when. */
export interface TimedAppend extends Pick<RawRecord, "timestamp_ns" | "tid"> {
  readonly append: CacheAppend;
  /** What its pass multiplied with around it. */
  readonly multiplied: Multiplied;
}

export interface MovingCaches {
  /** A pass that is not over moved a part of a cache. */
  note(append: TimedAppend): void;
  /**
   * A pass of so many tokens is over, in which these were made.
   * @param isWhole false where it may have been cut
   * @param table where that of its tokens lies, by which its model is known; null where that could not be read
   * @returns what its step tells of their rows
   */
  endPass(
    tokens: number,
    appends: readonly TimedAppend[],
    isWhole: boolean,
    table: bigint | null,
  ): Partial<EngineRow<"step">>;
  /** Asks again which layers of their models the caches have. */
  settle(): void;
  /** Nothing more comes. @param isGone whether the process has ended: what it had lately may have gone before */
  flush(isGone: boolean): void;
  /** Looks whether the memory of each cache is still that, once all that was appended so far was noted. @param isLast now, however short ago it did */
  check(read: ReadMemory, now_ns: () => bigint, isLast?: boolean): void;
  /** No pass is seen any more: where a cache lies that has gone from there is told until it was last known to be there. */
  leave(read: ReadMemory): void;
  takeRows(): { readonly tensors: EngineRow<"tensor">[]; readonly steps: EngineRow<"step">[] };
  /** Why the rest is not told; empty while all is. */
  untold(): readonly string[];
}

/** Which layers of its model a cache has. */
interface Layering {
  /** Number of the cache. */
  readonly cache: number;
  readonly table: bigint | null;
  readonly count: number;
  readonly since_ns: bigint;
  /** Null while it is not known yet. */
  layers: MovedLayers | null;
}

/** What is told once it is known which layer it is of. */
interface Held {
  readonly layering: Layering;
  row(): EngineRow<"tensor">;
}

interface Cache {
  readonly number: number;
  readonly layering: Layering;
  /** Number of its first sequence among all of the process. */
  readonly sequence: number;
  /** How many of its passes were seen. */
  readonly passes: number;
  /** Rows that each sequence has had, without those that were given up; null where that is not known. */
  readonly length: number | null;
  /** Its parts where the last whole pass left them, in their order. */
  readonly parts: readonly [TimedAppend, ...TimedAppend[]];
  /** More than one of its passes was seen. */
  readonly isTold: boolean;
  /** Where its parts lie is told. */
  readonly isPlaced: boolean;
  /** When they were last known to be there. */
  alive_ns: bigint;
  /** When they were seen not to be there. */
  missed_ns: bigint | null;
  /** When a pass that is not over moved a part of it; null where none did. */
  moved_ns: bigint | null;
}

/** A program that makes a cache for each request would fill our memory. */
const CACHES = 256;
type Layers = Cache["parts"];
const TOO_MANY = `more than ${CACHES} caches were moved before it was known which layers of their model they have`;
const TOO_LATE = "nothing more was seen before it was known which layers of its model it has";
const NO_TABLE = "the table of tokens of its model could not be read";

/** So often parts of caches of one process are told to have moved: each is a region of the map, and a label for each token cannot go on for ever. */
const MOST_MOVES = 1 << 16;
/** Time between looks at the storages. */
const LOOK_NS = 100_000_000n;
/** A pass that does nothing for so long will not end any more. */
const PASS_NS = 60_000_000_000n;
/** Behind every time. */
const FOREVER_NS = 2n ** 63n;

const structureOf = ({ append }: TimedAppend): bigint => append.into.storage.structure;

/** Keys and values of one layer after another, to each of which the tokens of the pass were added; null for others. */
function layersOf(appends: readonly TimedAppend[], tokens: number): Layers | null {
  const mine = appends.filter(({ append: { into, count } }) => into.sequences * count === tokens);
  const [first] = mine;
  if (first === undefined || mine.length % 2 !== 0) return null;
  const isAlike = ({ append: { into, before } }: TimedAppend, i: number): boolean => {
    const keys = mine[i - (i % 2)]?.append;
    if (into.sequences !== first.append.into.sequences || into.heads !== keys?.into.heads) return false;
    return into.rows === keys.into.rows && into.type === keys.into.type && before?.rows === keys.before?.rows;
  };
  if (!mine.every(isAlike) || new Set(mine.map(structureOf)).size < mine.length) return null;
  return [first, ...mine.slice(1)];
}

/** What a cache has that is made anew by other means: its layers, but not how many sequences are in it. */
const shapeOf = (layers: Layers): string =>
  layers.map(({ append: { into } }) => `${into.heads}x${into.head_elements}${into.type}`).join();

/** None seen yet. @param mostMoves of its parts that are told */
export function movingCaches(
  pid: number,
  layersOfModels: LayersOfCaches,
  takeSequences = sequenceNumbers(),
  mostMoves = MOST_MOVES,
): MovingCaches {
  /** By their numbers. */
  const caches = new Map<number, Cache>();
  /** By the storage of each part, where the last whole pass left it. */
  const owners = new Map<bigint, Cache>();
  /** Whose rows were put together, when they were. */
  const sources = new WeakMap<TimedAppend, Cache>();
  const ends = movedEnds();
  let made = 0;
  let lookedNs = 0n;
  let moves = 0;
  let rows: Held[] = [];
  let steps: EngineRow<"step">[] = [];
  /** Of caches that are told, the oldest first. */
  const unsettled = new Set<Layering>();
  const untold = new Set<string>();

  function freePart({ append: { into }, tid }: TimedAppend, timestamp_ns: bigint, { layering }: Cache): void {
    rows.push({ layering, row: () => goneRow(into.storage, { timestamp_ns, pid, tid, evidence: "operand" }) });
  }

  function placePart(part: TimedAppend, number: number, { layering }: Cache): void {
    const { into } = part.append;
    const layerNow = (): number | null =>
      layering.layers === null || "untold" in layering.layers ? null : (layering.layers[number >> 1] ?? null);
    const row = () => cacheRow(cachePart(pid, into, number, layerNow(), "moved"), into, part, "tensor");
    rows.push({ layering, row });
    moves += 1;
  }

  /** It is known by now, or never. */
  function settleOne(layering: Layering, layers: MovedLayers): void {
    unsettled.delete(layering);
    layering.layers = layers;
    if ("untold" in layers) untold.add(layers.untold);
    else steps.push(movedStepOfLayers(pid, layering, layers));
  }

  function layersNow({ table, count, since_ns }: Layering): MovedLayers | null {
    return table === null ? { untold: NO_TABLE } : layersOfModels.layersOf(table, count, since_ns);
  }

  /** A cache is told from now on, and its layers are asked for where they are not known. */
  function awaitLayers({ layering }: Cache): void {
    if (layering.layers !== null) return;
    const [oldest] = unsettled;
    if (oldest !== undefined && unsettled.size >= CACHES) settleOne(oldest, { untold: TOO_MANY });
    unsettled.add(layering);
  }

  function settle(): void {
    for (const layering of unsettled) {
      const layers = layersNow(layering);
      if (layers !== null) settleOne(layering, layers);
    }
  }

  function remove(cache: Cache): void {
    for (const part of cache.parts) if (owners.get(structureOf(part)) === cache) owners.delete(structureOf(part));
    if (caches.get(cache.number) === cache) caches.delete(cache.number);
  }

  /** Where it lies is not told any more. */
  function leave(cache: Cache): void {
    remove(cache);
    if (cache.isPlaced) for (const part of cache.parts) freePart(part, cache.alive_ns, cache);
  }

  /** Its memory may be something else's. @param isLost where something that is not known moved it */
  function forget(cache: Cache, isLost = false): void {
    leave(cache);
    if (!cache.isTold) return;
    const { number, alive_ns, parts } = cache;
    const ended = { number, shape: shapeOf(parts), alive_ns, tid: parts[0].tid };
    // A pass that was not over may have moved it.
    if (isLost || cache.moved_ns !== null) ends.lose(ended);
    else ends.end(ended);
  }

  function keep(cache: Cache): void {
    // What has its structure where another one had it came after that was gone, or was moved by a pass that is not over.
    for (const part of cache.parts) {
      const other = owners.get(structureOf(part));
      if (other !== undefined && other.number !== cache.number && other.moved_ns === null) forget(other);
    }
    if (caches.size >= CACHES) for (const other of caches.values()) if (!other.isTold) remove(other);
    for (const part of cache.parts) owners.set(structureOf(part), cache);
    caches.set(cache.number, cache);
  }

  /** The cache that all of these were a part of, in the same order; undefined where there is none. */
  function continued(layers: Layers): Cache | undefined {
    const cache = sources.get(layers[0]);
    if (cache === undefined || caches.get(cache.number) !== cache || cache.parts.length !== layers.length)
      return undefined;
    const isSame = layers.every(({ append: { before, into } }, i) => {
      const part = cache.parts[i];
      if (part === undefined || before?.structure !== structureOf(part)) return false;
      return into.sequences === part.append.into.sequences;
    });
    return isSame ? cache : undefined;
  }

  /** Tells where its parts lie now. @returns false where no more of that is told */
  function move(cache: Cache, layers: Layers): boolean {
    const isPlaced = moves < mostMoves;
    if (isPlaced && !cache.isPlaced) for (const [number, part] of cache.parts.entries()) placePart(part, number, cache);
    for (const [number, part] of layers.entries()) {
      const old = cache.parts[number];
      if (old !== undefined && (isPlaced || cache.isPlaced)) freePart(old, part.timestamp_ns, cache);
      if (isPlaced) placePart(part, number, cache);
    }
    return isPlaced;
  }

  /** A cache of which this is the first pass that is seen. */
  function begin(layers: Layers, kept: readonly LayerRows[], table: bigint | null): Cache {
    const isNew = layers.every(({ append }) => append.before === null);
    const [{ append, timestamp_ns }] = layers;
    if (!isNew) ends.appear(shapeOf(layers), timestamp_ns);
    const number = made++;
    const layering = { cache: number, table, count: layers.length / 2, since_ns: timestamp_ns, layers: null };
    const found = layersNow(layering);
    return {
      number,
      // Why they are not known may be another matter with the next pass.
      layering: { ...layering, layers: found === null || "untold" in found ? null : found },
      sequence: takeSequences(append.into.sequences),
      passes: 0,
      length: isNew ? 0 : lengthBefore(kept, null, 0),
      parts: layers,
      isTold: false,
      isPlaced: false,
      alive_ns: 0n,
      missed_ns: null,
      moved_ns: null,
    };
  }

  const isStill = ({ parts }: Cache, read: ReadMemory): boolean =>
    parts.every(({ append }) => isThere(append.into.storage, read));

  const isMoving = ({ moved_ns }: Cache, now_ns: bigint): boolean => moved_ns !== null && now_ns < moved_ns + PASS_NS;

  function forgetMissed(): void {
    for (const cache of caches.values()) {
      if (cache.missed_ns !== null && !isMoving(cache, cache.missed_ns)) forget(cache);
      cache.missed_ns = null;
    }
  }

  function tellEnds(decided: readonly DecidedEnd[]): void {
    const { engine: _, ...nothing } = nullsOf("step");
    for (const { number, alive_ns, tid, isLost } of decided) {
      const detail = JSON.stringify({ moved_cache: [number], ...(isLost ? { is_lost: true } : {}) });
      steps.push({ ...nothing, timestamp_ns: alive_ns, end_ns: alive_ns, pid, tid, kind: "kv_free", detail });
    }
  }

  return {
    note(append) {
      const cache = owners.get(append.append.before?.structure ?? 0n);
      if (cache === undefined) return;
      cache.moved_ns = append.timestamp_ns;
      sources.set(append, cache);
    },
    endPass(tokens, appends, isWhole, table) {
      const layers = layersOf(appends, tokens);
      const found = layers === null ? undefined : continued(layers);
      const kept = layers === null ? null : layerRows(layers, found?.parts ?? null);
      const before = kept === null ? undefined : found;
      // What was moved otherwise is none of those that are known; a pass that was cut may go on where nobody looks any more.
      for (const append of appends) {
        const source = sources.get(append);
        if (source === undefined || source === before || caches.get(source.number) !== source) continue;
        if (isWhole) forget(source, true);
        else leave(source);
      }
      if (before === undefined && !isWhole) return {};
      const last = layers?.at(-1);
      if (layers === null || kept === null || last === undefined) return {};
      const around = layers.map(({ multiplied }) => multiplied);
      if (table !== null) layersOfModels.note(table, around);
      const cache = before ?? begin(layers, kept, table);
      const left = before?.parts[0].append.into.rows ?? 0;
      const length = before === undefined ? cache.length : lengthBefore(kept, before.length, left);
      const isPlaced = before !== undefined && move(before, layers);
      if (before?.isTold === false) awaitLayers(before);
      settle();
      if (before !== undefined) remove(before);
      keep({
        ...cache,
        passes: cache.passes + 1,
        length: length === null ? null : length + layers[0].append.count,
        parts: layers,
        isTold: before !== undefined,
        isPlaced,
        alive_ns: last.timestamp_ns,
        missed_ns: null,
        moved_ns: null,
      });
      return movedStep(cache, cache.passes, layers, kept, length);
    },
    settle,
    flush(isGone) {
      forgetMissed();
      for (const layering of unsettled) {
        const { table, count } = layering;
        const layers = table === null ? null : layersOfModels.layersNow(table, count);
        settleOne(layering, layers ?? { untold: TOO_LATE });
      }
      if (isGone) for (const cache of caches.values()) forget(cache);
      tellEnds(ends.takeUntil(FOREVER_NS));
    },
    check(read, now_ns, isLast = false) {
      forgetMissed();
      const begin_ns = now_ns();
      tellEnds(ends.takeUntil(begin_ns));
      if (caches.size === 0 || (begin_ns < lookedNs + LOOK_NS && !isLast)) return;
      lookedNs = begin_ns;
      for (const cache of caches.values()) {
        if (!cache.isTold || isMoving(cache, begin_ns)) continue;
        if (!isStill(cache, read)) cache.missed_ns = now_ns();
        else if (cache.alive_ns < begin_ns) cache.alive_ns = begin_ns;
      }
    },
    leave(read) {
      // A pass that nobody saw may have moved it: its rows may go on.
      for (const cache of caches.values()) if (cache.isTold && !isStill(cache, read)) leave(cache);
    },
    takeRows() {
      const { ready = [], waiting = [] } = Object.groupBy(rows, ({ layering }) =>
        unsettled.has(layering) ? "waiting" : "ready",
      );
      const taken = { tensors: ready.map(({ row }) => row()), steps };
      rows = waiting;
      steps = [];
      return taken;
    },
    untold() {
      const reasons = [...untold].map((why) => `the layers of a dynamic KV cache are not identifiable: ${why}`);
      if (moves < mostMoves) return reasons;
      return [
        ...reasons,
        `a KV cache that moves for every token was followed for ${mostMoves} moves of its parts: where it lay afterwards is not told`,
      ];
    },
  };
}
