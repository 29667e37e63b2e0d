/** One address space: which mapping holds which pages since when, and how events change that. */
import { createIntervalMap, type IntervalMap, type Stamped } from "./interval-map.ts";
import {
  type EndedBy,
  isShared,
  MAP_ANONYMOUS,
  MAP_HUGETLB,
  MAP_PRIVATE,
  type MappingRow,
  mappingKindOf,
} from "./mapping-row.ts";

/** What the pieces of one mapping share; the file is filled in when its name becomes known. */
export interface Mapping {
  readonly id: number;
  readonly exec_epoch: number;
  readonly flags: number;
  /** Entry of the call that made it. */
  readonly begin_ns: bigint;
  /** Latest time at which it was seen, by something that is not the call that made it; -1 once that call is known. */
  readonly seen_until_ns: bigint;
  /** Of a stack: when it was last known to have grown; -1 where it never did. */
  grown_ns: bigint;
  dev: number | null;
  inode: bigint | null;
  path: string | null;
}

/** State of a run of pages; immutable, shared by neighbours. A hole has no mapping and remembers its time. */
export interface PageState extends Stamped {
  readonly mapping: Mapping | null;
  /** Hole: return of the call that made it; until then the pages may have been there still. */
  readonly until_ns: bigint;
  readonly birth_ns: bigint;
  readonly birth_censored: boolean;
  readonly prot: number;
  /** All protections that it had here, as far as we know: it may hold data where nobody may read it for a while. */
  readonly prot_ever: number;
  /** When `prot` took effect; later than `since_ns` after mprotect, also while the mapping itself is not known yet. */
  readonly prot_ns: bigint;
  /** Page of the file less page of the address. */
  readonly file_pages: number;
  /** Left out of the copy that fork makes. */
  readonly dont_fork: boolean;
  /** A call moved it here from another address, with what it held; of what was born here, such as the rest of a block that grew, it says nothing. */
  readonly is_moved?: true;
}

export interface Ended {
  readonly space: AddressSpace;
  readonly state: PageState;
  readonly from: number;
  readonly to: number;
  readonly death_ns: bigint;
  /** A move that is delivered after another thread's mapping took its place says so later. */
  ended_by: EndedBy;
}

export interface AddressSpace {
  readonly pid: number;
  readonly pages: IntervalMap<PageState>;
  /** Whether an exec, a fork of a known parent or a snapshot has told everything that was there. */
  known: boolean;
  /** True from a loss of its records, or a call that did not tell all, until it is looked at as a whole. */
  doubted: boolean;
  /** When it was looked at as a whole, the last time. */
  looked_ns: bigint;
  exec_begin_ns: bigint;
  exec_ns: bigint;
  exec_epoch: number;
  /** The break, as far as calls told it. */
  brk: bigint | null;
  newest_ns: bigint;
  compact_above: number;
  /** Processes that live in it: more than one between vfork and exec. */
  users: number;
  /** The last stays that ended, oldest first: a call that another thread overtook finds there what it moved. */
  readonly recent: Ended[];
  readonly onEnd: (ended: Ended) => void;
}

/** Tombstones this much older than the newest event are dropped: nothing is delivered that late. */
const DISORDER_NS = 5_000_000_000n;
const COMPACT_FROM = 1024;
const KEEP_RECENT = 512;
const MAX_SEGMENTS_OF_HOLES = 65_536;

export function createAddressSpace(pid: number, onEnd: (ended: Ended) => void): AddressSpace {
  return {
    pid,
    pages: createIntervalMap(),
    known: false,
    doubted: false,
    looked_ns: -1n,
    exec_begin_ns: -1n,
    exec_ns: -1n,
    exec_epoch: 0,
    brk: null,
    newest_ns: -1n,
    compact_above: COMPACT_FROM,
    users: 1,
    recent: [],
    onEnd,
  };
}

let lastMappingId = 0;

/** A mapping with an id of its own. */
export function newMapping(fields: Partial<Omit<Mapping, "id">>): Mapping {
  lastMappingId += 1;
  return {
    exec_epoch: 0,
    flags: MAP_PRIVATE | MAP_ANONYMOUS,
    begin_ns: -1n,
    seen_until_ns: -1n,
    grown_ns: -1n,
    dev: null,
    inode: null,
    path: null,
    ...fields,
    id: lastMappingId,
  };
}

/** State of freshly mapped pages. */
export function mappedState(mapping: Mapping, since_ns: bigint, prot: number, file_pages: number): PageState {
  return {
    since_ns,
    observed: false,
    mapping,
    until_ns: since_ns,
    birth_ns: since_ns,
    birth_censored: false,
    prot,
    prot_ever: prot,
    prot_ns: since_ns,
    file_pages,
    dont_fork: false,
  };
}

/** State of a hole that a call of [since_ns, until_ns] made. */
export function holeState(since_ns: bigint, until_ns: bigint): PageState {
  return {
    since_ns,
    observed: false,
    mapping: null,
    until_ns,
    birth_ns: since_ns,
    birth_censored: false,
    prot: 0,
    prot_ever: 0,
    prot_ns: since_ns,
    file_pages: 0,
    dont_fork: false,
  };
}

/** A state with another protection from then on. */
export function withProtection(state: PageState, prot: number, prot_ns: bigint): PageState {
  return { ...state, prot, prot_ever: state.prot_ever | prot, prot_ns };
}

/** Keeps a protection that is newer than the state that replaces it. */
export function withNewerProtection(old: PageState | undefined, fresh: PageState): PageState {
  if (old === undefined || old.prot_ns <= fresh.prot_ns) return fresh;
  return withProtection(fresh, old.prot, old.prot_ns);
}

/** Gives `target` the file that `source` is known to have. */
export function adoptFile(target: Mapping, source: { dev: number | null; inode: bigint | null; path: string | null }) {
  target.dev ??= source.dev;
  target.inode ??= source.inode;
  target.path ??= source.path;
}

/** False where a mapping cannot be what a name told of: private anonymous memory has no file. */
export function mayBe({ flags }: Mapping, named: { readonly inode: bigint | null }): boolean {
  return hasFileOffset(flags) || named.inode === null || named.inode === 0n;
}

/** Reports that live pages left their address. */
export function endPages(
  space: AddressSpace,
  state: PageState | undefined,
  from: number,
  stop: number,
  death_ns: bigint,
  ended_by: EndedBy,
): void {
  if (state === undefined || state.mapping === null) return;
  const left_ns = death_ns > state.since_ns ? death_ns : state.since_ns;
  const ended = { space, state, from, to: stop, death_ns: left_ns, ended_by };
  space.recent.push(ended);
  if (space.recent.length > 2 * KEEP_RECENT) space.recent.splice(0, KEEP_RECENT);
  space.onEnd(ended);
}

/** Maps [from, to) at `state.since_ns`, over whatever was there before. */
export function place(space: AddressSpace, from: number, until: number, state: PageState): void {
  const { mapping, since_ns } = state;
  if (mapping === null) return;
  space.pages.assign(
    since_ns,
    from,
    until,
    (old, start, end) => {
      // What was seen inside the call is the mapping that the call made, and no other that it replaced: but for a file that
      // another thread had mapped there and unmapped again while the call waited.
      const isOfCall = old?.mapping && old.mapping.seen_until_ns >= mapping.begin_ns && mayBe(mapping, old.mapping);
      if (isOfCall && old?.mapping) adoptFile(mapping, old.mapping);
      else endPages(space, old, start, end, since_ns, "replaced");
      return withNewerProtection(old, state);
    },
    since_ns,
    (newer, start, end) => {
      if (newer.observed && newer.mapping !== null && sameBacking(state, newer)) {
        // Seen before its own call was delivered.
        adoptFile(mapping, newer.mapping);
        const prot_ever = state.prot_ever | newer.prot_ever;
        const moved = state.is_moved === undefined ? {} : { is_moved: state.is_moved };
        const called = { mapping, since_ns, birth_ns: state.birth_ns, prot_ever, ...moved };
        return { ...newer, ...called, observed: false, birth_censored: false };
      }
      endPages(space, state, start, end, newer.since_ns, newer.mapping === null ? "munmap" : "replaced");
      return newer;
    },
  );
  compactSometimes(space, since_ns);
}

/**
 * True when two states can be the same mapping: shared or private alike, and the same place of one file, which shared
 * anonymous memory has too, or both without one.
 */
export function sameBacking(left: PageState, right: PageState): boolean {
  if (left.mapping === null || right.mapping === null) return false;
  if (isShared(left.mapping.flags) !== isShared(right.mapping.flags)) return false;
  if (isAnonymous(left.mapping) !== isAnonymous(right.mapping)) return false;
  if (isAnonymous(left.mapping) && !isShared(left.mapping.flags)) return true;
  const { inode } = left.mapping;
  const same = inode === null || right.mapping.inode === null || inode === right.mapping.inode;
  return same && left.file_pages === right.file_pages;
}

export function isAnonymous(mapping: Mapping): boolean {
  return (mapping.flags & MAP_ANONYMOUS) !== 0;
}

/** True where pages have an offset of their own in some file: all but private anonymous memory. */
export function hasFileOffset(flags: number): boolean {
  return (flags & MAP_ANONYMOUS) === 0 || isShared(flags) || (flags & MAP_HUGETLB) !== 0;
}

/** Unmaps [from, to); effective at the entry of the call, complete at its return. */
export function unmap(
  space: AddressSpace,
  begin_ns: bigint,
  end_ns: bigint,
  from: number,
  stop: number,
  ended_by: EndedBy,
): void {
  const hole = holeState(begin_ns, end_ns);
  space.pages.assign(
    begin_ns,
    from,
    stop,
    (old, start, end) => {
      endPages(space, old, start, end, begin_ns, ended_by);
      return withNewerProtection(old, hole);
    },
    end_ns,
  );
  compactSometimes(space, begin_ns);
}

/** Changes the protection of [from, to). @returns pages of it in which no mapping is known */
export function protect(space: AddressSpace, time_ns: bigint, from: number, until: number, prot: number): number {
  let unknown = 0;
  let last: PageState | undefined;
  let lastResult: PageState | undefined;
  space.pages.amend(from, until, (old, start, end) => {
    if (old === undefined ? space.pages.baseline_ns > time_ns : old.prot_ns > time_ns) return old;
    if (old === undefined || old.mapping === null) unknown += end - start;
    if (old === undefined || old !== last) {
      last = old;
      lastResult = withProtection(old ?? holeState(space.pages.baseline_ns, -1n), prot, time_ns);
    }
    return lastResult;
  });
  compactSometimes(space, time_ns);
  return unknown;
}

/** Ends everything older than `time_ns`. */
export function unmapAll(space: AddressSpace, time_ns: bigint, ended_by: EndedBy): void {
  space.pages.clear(time_ns, (state, from, endPage) => endPages(space, state, from, endPage, time_ns, ended_by));
}

function sameMapping(left: PageState, right: PageState): boolean {
  return (
    left.mapping === right.mapping &&
    left.prot === right.prot &&
    left.prot_ever === right.prot_ever &&
    left.file_pages === right.file_pages &&
    left.dont_fork === right.dont_fork
  );
}

function compactSometimes(space: AddressSpace, time_ns: bigint): void {
  if (time_ns > space.newest_ns) space.newest_ns = time_ns;
  if (space.pages.size <= space.compact_above) return;
  let holes = 0;
  const compactBefore = (before_ns: bigint): void => {
    holes = 0;
    space.pages.compact(
      (state) => {
        if (state.mapping !== null) return true;
        const old = state.since_ns < before_ns && state.prot_ns < before_ns && state.until_ns < before_ns;
        if (!old) holes += 1;
        return !old;
      },
      (left, right) => {
        const settled = left.prot_ns < before_ns && right.prot_ns < before_ns && left.observed === right.observed;
        if (left.mapping === null || !settled || !sameMapping(left, right)) return undefined;
        if (left.birth_ns !== right.birth_ns || left.birth_censored !== right.birth_censored) return undefined;
        return left.since_ns === right.since_ns ? left : undefined;
      },
    );
  };
  compactBefore(space.newest_ns - DISORDER_NS);
  if (holes > MAX_SEGMENTS_OF_HOLES) compactBefore(space.newest_ns);
  space.compact_above = Math.max(COMPACT_FROM, 2 * space.pages.size);
}

/** One past the last page of a 64-bit address space. */
export const ALL_PAGES = 2 ** 52;

/** Live mappings by address; pieces of one mapping with one protection are one row, born with the oldest of them. */
export function liveRows(space: AddressSpace, pid: number, pageShift: bigint): MappingRow[] {
  const runs: { state: PageState; from: number; to: number }[] = [];
  space.pages.each(0, ALL_PAGES, (state, from, end) => {
    if (state.mapping === null) return;
    const last = runs.at(-1);
    if (last === undefined || last.to !== from || !sameMapping(last.state, state)) runs.push({ state, from, to: end });
    else {
      last.to = end;
      if (state.birth_ns < last.state.birth_ns) last.state = state;
    }
  });
  return runs.map((run) => mappingRow(pid, run.state, run.from, run.to, pageShift, null, null));
}

/** A row of pages [from, to). */
export function mappingRow(
  pid: number,
  state: PageState,
  from: number,
  stop: number,
  pageShift: bigint,
  death_ns: bigint | null,
  ended_by: EndedBy | null,
): MappingRow {
  const mapping = state.mapping ?? newMapping({});
  const backed = hasFileOffset(mapping.flags);
  return {
    pid,
    exec_epoch: mapping.exec_epoch,
    mapping_id: mapping.id,
    addr: BigInt(from) << pageShift,
    size_bytes: BigInt(stop - from) << pageShift,
    prot: state.prot,
    prot_ever: state.prot_ever,
    flags: mapping.flags,
    dev: mapping.dev,
    inode: mapping.inode,
    file_offset_bytes: backed ? BigInt(from + state.file_pages) << pageShift : null,
    path: mapping.path,
    mapping_kind: mappingKindOf(mapping.flags, mapping.path),
    birth_ns: state.birth_ns,
    birth_censored: state.birth_censored,
    since_ns: state.since_ns,
    death_ns,
    ended_by,
  };
}
