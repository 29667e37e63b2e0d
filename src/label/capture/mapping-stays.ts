/** Where the mappings of all processes lay and when, as columns: rows of the mapping stream go in one by one. */
import { collectAfter } from "../../columnar/collect-after.ts";
import { type Ended, hasFileOffset, isAnonymous, type Mapping, type PageState } from "../../regions/address-space.ts";
import { createProcessMaps, type MappingCounters } from "../../regions/mapping-events.ts";
import { mappingKindOf } from "../../regions/mapping-row.ts";
import { type RowOf, wordsOf } from "../../schema/row.ts";
import type { MappingKind } from "../../schema/words.ts";
import { type LabelRoom, labelRoom, tooMany } from "../label-room.ts";
import { MODEL_FILE } from "../regions/evidence.ts";
import { CENSORED, type PlaceList, type Places, placeList } from "../regions/places.ts";
import { isReadShared, sharedObjects, withOtherMappings } from "./shared-objects.ts";

const MAPPING_KINDS = new Set<string>(wordsOf("mapping", "kind"));
const PAGE_BYTES = 4096;
/** Rows between two counts of what processes hold. */
const HELD_ROWS = 1 << 12;
const PROT_WRITE = 2;
const PROT_EXEC = 4;
/** Stays that ended until what following them left behind is collected. */
const COLLECT_AFTER = 1 << 14;
/** Stays that bytes moved to of which the first birth is kept: of others it is that they lived longer. */
const MOST_MOVED = 1 << 18;
/** Stays of which it may still be told that they ended by a move: as many as an address space remembers, or more. */
const RECENT = 1 << 10;

/** What a mapping is; those of one kind, file and program are one. */
export interface MappingFacts {
  readonly exec_epoch: number;
  readonly mapping_kind: MappingKind;
  readonly path: string | null;
  readonly inode: bigint | null;
  /** A file, mapped before our eyes, to whose pages the process could not write while they were there. */
  readonly is_read_only: boolean;
  /** The same from our first look on, of which nothing is known before it: no write in the run went through this mapping. */
  readonly is_unwritable: boolean;
  /** A file from which the process may execute what lies there: instructions. */
  readonly is_code: boolean;
  /** Others may use the same bytes through another mapping. */
  readonly is_shared: boolean;
  /** The first bytes of the file are those of a GGUF. */
  readonly is_gguf: boolean;
}

/** Stays that hold code. */
export interface CodePlaces {
  /** `what` is a position in the facts. */
  readonly places: Places;
  /** Offset of each in its file, bytes; NaN where it has none. */
  readonly offsets: readonly number[];
}

export interface MappingStays {
  /** One row for each stay of bytes at an address; `what` is a position in `facts`. Others may put their own in place. */
  readonly list: PlaceList;
  readonly facts: readonly MappingFacts[];
  /** When bytes were mapped that came to their address later, by row; of the processes that were asked for. */
  readonly births: ReadonlyMap<number, number>;
  /** When bytes that had been at another address came into being at their first, by row: of as many as there is room for. */
  readonly movedBirths: ReadonlyMap<number, number>;
  readonly code: CodePlaces;
  readonly counters: MappingCounters;
}

/** True where nothing could be written while we looked: by the first protection that we saw, which none followed. */
const wasUnwritable = ({ prot, prot_ns, since_ns }: PageState): boolean =>
  (prot & PROT_WRITE) === 0 && prot_ns <= since_ns;

/** Bits of what a stay was beside its mapping; what is sealed could not be written from when its bytes were mapped on. */
const [SEALED, EXECUTABLE, SHARED, UNWRITABLE, READ_SHARED] = [1, 2, 4, 8, 16] as const;
type Traits = number;

function protectionTraits(state: PageState): Traits {
  const executable = (state.prot & PROT_EXEC) !== 0 ? EXECUTABLE : 0;
  if (!wasUnwritable(state)) return executable;
  const isWhole = state.birth_ns === state.since_ns && !state.birth_censored;
  return executable | UNWRITABLE | (isWhole ? SEALED : 0);
}

/** One file, whatever its names. */
const fileKey = ({ dev, inode }: Pick<Mapping, "dev" | "inode">): string => `${dev}/${inode}`;

/** Numbers for what mappings are, in order of first appearance. */
function factNumbers() {
  const facts: (Omit<MappingFacts, "is_gguf"> & { readonly is_filled: boolean })[] = [];
  const files: string[] = [];
  const numbers = new Map<string, number>();
  return {
    /** @param ggufs files that are GGUFs, some of which were told of after their mappings */
    factsWith: (ggufs: ReadonlySet<string>): MappingFacts[] =>
      facts.map(({ is_filled, ...fact }, number) => {
        const is_gguf = ggufs.has(files[number] ?? "");
        // A model that is kept in shared memory is filled before it is read, as one on a disk is.
        const is_shared = fact.is_shared || (is_filled && !is_gguf && !MODEL_FILE.test(fact.path ?? ""));
        return { ...fact, is_shared, is_gguf };
      }),
    numberOf({ exec_epoch, flags, path, dev, inode }: Mapping, traits: Traits): number {
      const mapping_kind = mappingKindOf(flags, path);
      const is_read_only = (traits & SEALED) !== 0 && mapping_kind === "file";
      const is_unwritable = (traits & UNWRITABLE) !== 0 && mapping_kind === "file";
      const is_code = (traits & EXECUTABLE) !== 0 && mapping_kind === "file";
      const is_shared = (traits & SHARED) !== 0;
      const file = fileKey({ dev, inode });
      const is_filled = (traits & READ_SHARED) !== 0 && mapping_kind === "shmem";
      const found = { is_read_only, is_unwritable, is_code, is_shared, is_filled };
      const key = `${mapping_kind}/${exec_epoch}/${file}/${Object.values(found)}/${path}`;
      const existing = numbers.get(key);
      if (existing !== undefined) return existing;
      const number = facts.push({ exec_epoch, mapping_kind, path, inode, ...found }) - 1;
      files.push(file);
      numbers.set(key, number);
      return number;
    },
  };
}

/** Marks the stays that ended by a move: of some it is told after another thread's mapping has taken their place. */
function movedStays(list: PlaceList) {
  let recent: { readonly ended: Ended; readonly row: number }[] = [];
  function mark(): void {
    const { censored } = list.places;
    for (const { ended, row } of recent)
      if (ended.ended_by === "moved") censored[row] = (censored[row] as number) | CENSORED.left;
  }
  return {
    mark,
    add(ended: Ended, row: number): void {
      recent.push({ ended, row });
      if (recent.length < 2 * RECENT) return;
      mark();
      recent = recent.slice(RECENT);
    },
  };
}

/**
 * Follows the mappings of every process through the run.
 * @param rows in order of time
 * @param bornPids processes of which `births` are wanted
 * @throws MrmTraceError environment where there are more stays, or more mappings at one time, than there is room for
 */
export function mappingStays(
  rows: Iterable<RowOf<"mapping">>,
  originNs: bigint,
  bornPids: ReadonlySet<number>,
  room: LabelRoom = labelRoom(),
): MappingStays {
  const list = placeList(room.most("lives of mappings"));
  const births = new Map<number, number>();
  const movedBirths = new Map<number, number>();
  const added = collectAfter(COLLECT_AFTER);
  const codeRows: number[] = [];
  const offsets: number[] = [];
  const { factsWith, numberOf } = factNumbers();
  const ggufs = new Set<string>();
  const objects = sharedObjects();
  const moved = movedStays(list);
  /** Rows of mappings whose file nobody has named yet. */
  const unnamed = new WeakMap<Mapping, number[]>();
  let lastMapping: Mapping | null = null;
  let lastPath: string | null = null;
  let lastInode: bigint | null = null;
  let lastTraits: Traits = 0;
  let lastNumber = 0;

  function whatOf(mapping: Mapping, traits: Traits): number {
    const { path, inode } = mapping;
    const isSame = mapping === lastMapping && path === lastPath && inode === lastInode;
    if (!isSame || traits !== lastTraits) {
      [lastMapping, lastPath, lastInode, lastTraits] = [mapping, path, inode, traits];
      lastNumber = numberOf(mapping, traits);
    }
    return lastNumber;
  }

  /** A name may come after a part of its mapping has gone. */
  function nameEarlier(mapping: Mapping, row: number, shared: Traits): void {
    if (mapping.path === null) {
      const waiting = unnamed.get(mapping);
      if (waiting === undefined) unnamed.set(mapping, [row]);
      else waiting.push(row);
      return;
    }
    for (const earlier of unnamed.get(mapping) ?? []) list.places.what[earlier] = whatOf(mapping, shared);
    unnamed.delete(mapping);
  }

  /** @returns the row; null where nothing was mapped */
  function add(pid: number, state: PageState, from: number, endPage: number, death_ns: bigint | null): number | null {
    const { mapping } = state;
    if (mapping === null) return null;
    const shared = (objects.isShared(pid, state) ? SHARED : 0) | (isReadShared(state) ? READ_SHARED : 0);
    const traits = protectionTraits(state) | shared;
    const what = whatOf(mapping, traits);
    const born_ns = Number(state.birth_ns - originNs);
    // What fork copied was its parent's before.
    const came_ns = Math.max(born_ns, Number(state.since_ns - originNs));
    const came = state.is_moved === true && state.birth_ns < state.since_ns ? CENSORED.came : 0;
    const censored = (state.birth_censored ? CENSORED.birth : 0) | (death_ns === null ? CENSORED.death : 0) | came;
    const row = list.add(
      pid,
      from * PAGE_BYTES,
      endPage * PAGE_BYTES,
      came_ns,
      death_ns === null ? Number.POSITIVE_INFINITY : Number(death_ns - originNs),
      what,
      censored,
    );
    if (!isAnonymous(mapping)) nameEarlier(mapping, row, shared);
    if (born_ns !== came_ns && bornPids.has(pid)) births.set(row, born_ns);
    if (came !== 0 && movedBirths.size < MOST_MOVED) movedBirths.set(row, born_ns);
    if ((traits & EXECUTABLE) !== 0) {
      codeRows.push(row);
      offsets.push(hasFileOffset(mapping.flags) ? (from + state.file_pages) * PAGE_BYTES : Number.NaN);
    }
    return row;
  }

  const maps = createProcessMaps({
    onEnd(ended) {
      const { space, state, from, to: endPage, death_ns } = ended;
      added(1);
      const row = add(space.pid, state, from, endPage, death_ns);
      if (row !== null) moved.add(ended, row);
    },
  });
  let unknown = 0;
  const mostHeld = room.most("mappings at one time");
  let read = 0;
  for (const row of rows) {
    // What a process holds is an object for each mapping, and stays one until it ends.
    if (++read % HELD_ROWS === 0 && maps.held() > mostHeld) throw tooMany("mappings at one time", mostHeld);
    if (row.kind === "gguf") ggufs.add(fileKey(row));
    if (!MAPPING_KINDS.has(row.kind)) unknown += 1;
    else {
      maps.apply(row);
      objects.take(row);
    }
  }
  moved.mark();
  maps.eachLive((pid, state, from, endPage) => void add(pid, state, from, endPage, null));
  const facts = factsWith(ggufs);
  const counters = { ...maps.counters, bad_rows: maps.counters.bad_rows + unknown };
  return {
    list,
    facts: withOtherMappings(facts),
    births,
    movedBirths,
    code: codeOf(list.places, codeRows, offsets, facts),
    counters,
  };
}

/** Copies of the stays with code whose file has a name. */
function codeOf(
  { pid, begin, end, birth_ns, death_ns, what, censored }: Places,
  rows: readonly number[],
  offsets: readonly number[],
  facts: readonly MappingFacts[],
): CodePlaces {
  const list = placeList();
  const kept: number[] = [];
  for (const [i, row] of rows.entries()) {
    const number = what[row] as number;
    if (facts[number]?.path == null) continue;
    kept.push(offsets[i] as number);
    list.add(
      pid[row] as number,
      begin[row] as number,
      end[row] as number,
      birth_ns[row] as number,
      death_ns[row] as number,
      number,
      censored[row] as number,
    );
  }
  return { places: list.places, offsets: kept };
}
