/** mremap on one address space: shrink, grow, move, leave a copy behind (man 2 mremap; mm/mremap.c). */
import {
  type AddressSpace,
  endPages,
  hasFileOffset,
  mappedState,
  newMapping,
  type PageState,
  place,
  unmap,
} from "./address-space.ts";

export const MREMAP_FIXED = 2;
export const MREMAP_DONTUNMAP = 4;

/** A successful call, in pages; effective at `begin_ns` for what it unmaps, at `end_ns` for what it maps. */
export interface Remap {
  readonly begin_ns: bigint;
  readonly end_ns: bigint;
  readonly old_from: number;
  readonly old_pages: number;
  readonly new_from: number;
  readonly new_pages: number;
  readonly dont_unmap: boolean;
}

interface Piece {
  readonly state: PageState;
  readonly from: number;
  readonly to: number;
}

/** Moved or grown pages of a piece, `shift` pages further up. */
function shifted(state: PageState, shift: number, end_ns: bigint): PageState {
  const file_pages = hasFileOffset(state.mapping?.flags ?? 0) ? state.file_pages - shift : state.file_pages;
  return { ...state, since_ns: end_ns, until_ns: end_ns, prot_ns: end_ns, observed: false, file_pages, is_moved: true };
}

function born(state: PageState, end_ns: bigint): PageState {
  return { ...state, birth_ns: end_ns, birth_censored: false };
}

/** Another mapping of what `state` maps. */
function duplicate(state: PageState, begin_ns: bigint, end_ns: bigint): PageState {
  const mapping = newMapping({ ...state.mapping, begin_ns, seen_until_ns: -1n });
  return born({ ...shifted(state, 0, end_ns), mapping }, end_ns);
}

/** Applies the call. @returns false when no mapping was known at the old place, and an anonymous one was assumed */
export function remap(space: AddressSpace, call: Remap, exec_epoch: number): boolean {
  const { begin_ns, end_ns, old_from, old_pages, new_from, new_pages } = call;
  const old_to = old_from + old_pages;
  const new_to = new_from + new_pages;
  const shift = new_from - old_from;
  const pieces: Piece[] = [];
  space.pages.each(old_from, Math.max(old_to, old_from + 1), (state, from, until) => {
    // What came there while the call ran is another thread's.
    const wasThere = state.since_ns <= begin_ns || (state.observed && state.since_ns <= end_ns);
    if (state.mapping !== null && wasThere) pieces.push({ state, from, to: until });
  });
  fillGaps(space, begin_ns, old_from, Math.max(old_to, old_from + 1), pieces);
  const last = pieces.at(-1);

  if (old_pages > 0 && shift === 0) {
    if (new_pages < old_pages) unmap(space, begin_ns, end_ns, new_to, old_to, "munmap");
    else if (last && last.to === old_to) place(space, old_to, new_to, born(shifted(last.state, 0, end_ns), end_ns));
    return last !== undefined;
  }
  if (last === undefined) {
    const mapping = newMapping({ exec_epoch, begin_ns });
    place(space, new_from, new_to, mappedState(mapping, end_ns, 3, 0));
    if (old_pages > 0 && !call.dont_unmap) unmap(space, begin_ns, end_ns, old_from, old_to, "moved");
    return false;
  }
  if (old_pages === 0) {
    place(space, new_from, new_to, shifted(duplicate(last.state, begin_ns, end_ns), shift, end_ns));
    return true;
  }

  const moved_to = Math.min(old_to, old_from + new_pages);
  unmap(space, begin_ns, end_ns, new_from, new_to, "replaced");
  for (const { state, from, to: end_page } of pieces) {
    const end = Math.min(end_page, moved_to);
    if (from < end) place(space, from + shift, end + shift, shifted(state, shift, end_ns));
  }
  if (new_pages > old_pages && last.to === old_to) {
    place(space, old_to + shift, new_to, born(shifted(last.state, shift, end_ns), end_ns));
  }
  if (call.dont_unmap) {
    for (const { state, from, to: stop } of pieces) leaveEmpty(space, { state, from, to: stop }, begin_ns, end_ns);
  } else {
    unmap(space, begin_ns, end_ns, old_from, moved_to, "moved");
    unmap(space, begin_ns, end_ns, moved_to, old_to, "munmap");
  }
  return true;
}

/**
 * Adds what was at the gaps of [from, to) when the call began, where another mapping is known to have come there since:
 * the kernel moves nothing that has holes. `pieces` are in order of address, before and after.
 */
function fillGaps(space: AddressSpace, begin_ns: bigint, from: number, until: number, pieces: Piece[]): void {
  const found: Piece[] = [];
  let position = from;
  for (const piece of [...pieces, { from: until, to: until }]) {
    if (piece.from > position) found.push(...overtaken(space, begin_ns, position, piece.from));
    position = Math.max(position, piece.to);
  }
  pieces.push(...found);
  pieces.sort((a, b) => a.from - b.from);
}

/** What was in a gap [from, to), the latest stay at each page first. */
function overtaken(space: AddressSpace, begin_ns: bigint, from: number, end_page: number): Piece[] {
  const found: Piece[] = [];
  for (const ended of space.recent.toReversed()) {
    const { state } = ended;
    if (state.since_ns > begin_ns || ended.death_ns < begin_ns || ended.to <= from || end_page <= ended.from) continue;
    if (from <= ended.from && ended.to <= end_page) ended.ended_by = "moved";
    const piece = { state, from: Math.max(from, ended.from), to: Math.min(end_page, ended.to) };
    if (found.every((other) => other.to <= piece.from || piece.to <= other.from)) found.push(piece);
  }
  return found;
}

/** The pages went away with the move; the range stays mapped, empty, as a mapping of its own. */
function leaveEmpty(space: AddressSpace, piece: Piece, begin_ns: bigint, end_ns: bigint): void {
  const empty = duplicate(piece.state, begin_ns, end_ns);
  space.pages.assign(end_ns, piece.from, piece.to, (old, from, end) => {
    endPages(space, old, from, end, end_ns, "moved");
    return empty;
  });
}
