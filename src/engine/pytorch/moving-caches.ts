/**
 * Caches of keys and values that move for every pass, by what is put behind their rows: in each pass the same pairs in the same
 * order, keys first, which is the order of the layers; each begins with what the pass before left. Told from the second pass on.
 */
import type { EngineRow, ReadMemory } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import type { CacheAppend } from "./cache-append.ts";
import { cachePart, cacheRow } from "./cache-row.ts";
import { isThere } from "./cache-tensor.ts";
import { goneRow } from "./gone-row.ts";

/** What was appended in a pass, and when. */
export interface TimedAppend extends Pick<RawRecord, "timestamp_ns" | "tid"> {
  readonly append: CacheAppend;
}

export interface MovingCaches {
  /** A pass that is not over moved a part of a cache. */
  note(append: TimedAppend): void;
  /** A pass of so many tokens is over, in which these were made. */
  endPass(tokens: number, appends: readonly TimedAppend[]): void;
  /** Nothing more comes. @param isGone whether the process has ended: what it had lately may have gone before */
  flush(isGone: boolean): void;
  /** Looks whether the memory of each cache is still that, once all that was appended so far was noted. */
  check(read: ReadMemory, now_ns: () => bigint): void;
  takeRows(): EngineRow<"tensor">[];
  /** Why the rest is not told; empty while all is. */
  untold(): readonly string[];
}

interface Cache {
  /** Its parts where the last whole pass left them, in their order. */
  parts: readonly TimedAppend[];
  isTold: boolean;
  /** When they were last known to be there. */
  alive_ns: bigint;
  /** When they were seen not to be there. */
  missed_ns: bigint | null;
  /** When a pass that is not over moved a part of it; null where none did. */
  moved_ns: bigint | null;
}

/** A program that makes a cache for each request would fill our memory. */
const CACHES = 256;
/** So often parts of caches of one process are told to have moved: each is a region of the map, and a label for each token cannot go on for ever. */
const MOST_MOVES = 1 << 16;
/** Time between looks at the storages. */
const LOOK_NS = 100_000_000n;
/** A pass that does nothing for so long will not end any more. */
const PASS_NS = 60_000_000_000n;

const structureOf = ({ append }: TimedAppend): bigint => append.into.storage.structure;

/** Keys and values of one layer after another, to each of which the tokens of the pass were added; null for others. */
function layersOf(appends: readonly TimedAppend[], tokens: number): readonly [TimedAppend, ...TimedAppend[]] | null {
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

/** None seen yet. @param mostMoves of its parts that are told */
export function movingCaches(pid: number, mostMoves = MOST_MOVES): MovingCaches {
  /** By the storage of the first of their parts, where the last whole pass left it. */
  const caches = new Map<bigint, Cache>();
  /** By the storage of each part. */
  const owners = new Map<bigint, Cache>();
  let lookedNs = 0n;
  let moves = 0;
  let rows: EngineRow<"tensor">[] = [];

  function freePart({ append: { into }, tid }: TimedAppend, timestamp_ns: bigint): void {
    rows.push(goneRow(into.storage, { timestamp_ns, pid, tid, evidence: "operand" }));
  }

  function placePart(part: TimedAppend, number: number): void {
    const { into } = part.append;
    rows.push(cacheRow(cachePart(pid, into, number), into, part, "tensor"));
    moves += 1;
  }

  function remove(cache: Cache): void {
    for (const part of cache.parts) if (owners.get(structureOf(part)) === cache) owners.delete(structureOf(part));
    const [first] = cache.parts;
    if (first !== undefined && caches.get(structureOf(first)) === cache) caches.delete(structureOf(first));
  }

  /** Its memory may be something else's. */
  function forget(cache: Cache): void {
    remove(cache);
    if (cache.isTold) for (const part of cache.parts) freePart(part, cache.alive_ns);
  }

  function keep(cache: Cache): void {
    // What has its structure where another one had it came after that was gone.
    for (const part of cache.parts) {
      const other = owners.get(structureOf(part));
      if (other !== undefined && other !== cache) forget(other);
    }
    if (caches.size >= CACHES) for (const other of caches.values()) if (!other.isTold) remove(other);
    for (const part of cache.parts) owners.set(structureOf(part), cache);
    const [first] = cache.parts;
    if (first !== undefined) caches.set(structureOf(first), cache);
  }

  /** The cache that all of these were a part of, in the same order; undefined where there is none. */
  function continued(layers: readonly TimedAppend[]): Cache | undefined {
    const cache = caches.get(layers[0]?.append.before?.structure ?? 0n);
    const isSame = layers.every(({ append: { before } }, i) => {
      const part = cache?.parts[i];
      return part !== undefined && before?.structure === structureOf(part) && before.rows <= part.append.into.rows;
    });
    return isSame && cache?.parts.length === layers.length ? cache : undefined;
  }

  function move(cache: Cache, layers: readonly TimedAppend[]): void {
    if (!cache.isTold) for (const [number, part] of cache.parts.entries()) placePart(part, number);
    remove(cache);
    for (const [number, part] of layers.entries()) {
      const old = cache.parts[number];
      if (old !== undefined) freePart(old, part.timestamp_ns);
      placePart(part, number);
    }
  }

  const isMoving = ({ moved_ns }: Cache, now_ns: bigint): boolean => moved_ns !== null && now_ns < moved_ns + PASS_NS;

  function forgetMissed(): void {
    for (const cache of caches.values()) {
      if (cache.missed_ns !== null && !isMoving(cache, cache.missed_ns)) forget(cache);
      cache.missed_ns = null;
    }
  }

  return {
    note({ append: { before }, timestamp_ns }) {
      const cache = owners.get(before?.structure ?? 0n);
      if (cache !== undefined) cache.moved_ns = timestamp_ns;
    },
    endPass(tokens, appends) {
      if (moves >= mostMoves) {
        for (const cache of caches.values()) forget(cache);
        return;
      }
      const layers = layersOf(appends, tokens);
      const before = layers === null ? undefined : continued(layers);
      // What was moved otherwise is none of those that are known.
      for (const { append } of appends) {
        const owner = owners.get(append.before?.structure ?? 0n);
        if (owner !== undefined && owner !== before) forget(owner);
      }
      const last = layers?.at(-1);
      if (layers === null || last === undefined) return;
      if (before !== undefined) move(before, layers);
      const isTold = before !== undefined;
      keep({ parts: layers, isTold, alive_ns: last.timestamp_ns, missed_ns: null, moved_ns: null });
    },
    flush(isGone) {
      forgetMissed();
      if (isGone) for (const cache of caches.values()) forget(cache);
    },
    check(read, now_ns) {
      forgetMissed();
      const begin_ns = now_ns();
      if (caches.size === 0 || begin_ns < lookedNs + LOOK_NS) return;
      lookedNs = begin_ns;
      for (const cache of caches.values()) {
        if (!cache.isTold || isMoving(cache, begin_ns)) continue;
        if (!cache.parts.every(({ append }) => isThere(append.into.storage, read))) cache.missed_ns = now_ns();
        else if (cache.alive_ns < begin_ns) cache.alive_ns = begin_ns;
      }
    },
    takeRows() {
      const taken = rows;
      rows = [];
      return taken;
    },
    untold() {
      if (moves < mostMoves) return [];
      return [
        `a KV cache that moves for every token was followed for ${mostMoves} moves of its parts: where it lay afterwards is not told`,
      ];
    },
  };
}
