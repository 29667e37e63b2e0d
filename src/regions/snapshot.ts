/** A look at the whole address space (/proc/PID/maps) against what events have told. */
import {
  type AddressSpace,
  ALL_PAGES,
  adoptFile,
  endPages,
  hasFileOffset,
  type Mapping,
  mappedState,
  newMapping,
  type PageState,
  sameBacking,
  unmap,
  withNewerProtection,
  withProtection,
} from "./address-space.ts";
import { pageRange } from "./mapping-calls.ts";
import { type MappingEvent, observedFlags, STACK } from "./mapping-row.ts";

/** One mapping as it was seen. */
export interface Seen {
  readonly from: number;
  readonly to: number;
  readonly prot: number;
  readonly flags: number;
  readonly dev: number | null;
  readonly inode: bigint | null;
  readonly file_pages: number;
  readonly path: string | null;
}

/** A mapping of a look or of a name; null where its row cannot be one. */
export function seenOf(row: MappingEvent, pageShift: bigint): Seen | null {
  const range = pageRange(row.addr, row.size_bytes, pageShift);
  if (range === null || row.prot === null) return null;
  const inode = row.inode ?? 0n;
  const flags = observedFlags(((row.flags ?? 0) & 1) !== 0, inode, row.path);
  const page = Number((row.file_offset_bytes ?? 0n) >> pageShift);
  return {
    ...range,
    prot: row.prot & 7,
    flags,
    dev: inode === 0n ? null : row.dev,
    inode: inode === 0n ? null : inode,
    file_pages: hasFileOffset(flags) ? page - range.from : 0,
    path: row.path === "" ? null : row.path,
  };
}

/**
 * Takes the look as the truth of `begin_ns`: what is older and absent ends, what is there and was not known begins
 * (censored when nothing told before what was there, or records were lost; at the exec when only the exec is between), what changed later
 * stays. `complete` is false when the look broke off: then absence says nothing.
 * @returns pages that ended and pages that began without an event
 */
export function applySnapshot(
  space: AddressSpace,
  begin_ns: bigint,
  end_ns: bigint,
  seen: readonly Seen[],
  complete: boolean,
): { ended_pages: number; begun_pages: number } {
  const count = { ended_pages: 0, begun_pages: 0 };
  const sorted = seen.toSorted((a, b) => a.from - b.from);
  for (const row of sorted) count.begun_pages += applySeen(space, begin_ns, end_ns, row);
  if (!complete) return count;
  let done = 0;
  for (const row of [...sorted, { from: ALL_PAGES, to: ALL_PAGES, path: null }]) {
    const stack = row.path === STACK ? knownStack(space, row)?.mapping : null;
    if (row.from > done) count.ended_pages += endAbsent(space, begin_ns, done, row.from, stack);
    done = Math.max(done, row.to);
  }
  space.known = true;
  space.doubted = false;
  if (begin_ns > space.looked_ns) space.looked_ns = begin_ns;
  return count;
}

/** What a look found at [from, to): keeps what agrees, begins what was not known. @returns pages begun */
export function applySeen(space: AddressSpace, begin_ns: bigint, end_ns: bigint, row: Seen): number {
  const mapping = newMapping({ ...row, exec_epoch: space.exec_epoch, begin_ns, seen_until_ns: end_ns });
  const file_pages = hasFileOffset(row.flags) ? row.file_pages : 0;
  const fresh: PageState = {
    ...mappedState(mapping, begin_ns, row.prot, file_pages),
    observed: true,
    birth_censored: !space.known || space.doubted,
  };
  const sinceExec: PageState = { ...fresh, birth_ns: space.exec_ns, birth_censored: false };
  const grown = row.path === STACK ? knownStack(space, row) : undefined;
  let begun = 0;

  const begin = (old_ns: bigint, from: number, stop: number): PageState => {
    begun += stop - from;
    // The kernel keeps the room below a stack for it: one stack is one stay, however often it was extended.
    // What took that room and went again ended it there: what comes now is younger.
    if (grown?.mapping) {
      if (begin_ns > grown.mapping.grown_ns) grown.mapping.grown_ns = begin_ns;
      return old_ns > grown.since_ns ? { ...grown, since_ns: begin_ns, birth_ns: begin_ns } : grown;
    }
    return old_ns === space.exec_ns && old_ns >= 0n && !space.doubted ? sinceExec : fresh;
  };
  space.pages.amend(row.from, row.to, (old, from, until) => {
    if (old === undefined) {
      return space.pages.baseline_ns <= begin_ns ? begin(space.pages.baseline_ns, from, until) : old;
    }
    if (old.since_ns > begin_ns) return old;
    if (old.mapping === null) {
      // The call that unmaps may have been under way when we looked.
      return old.until_ns < begin_ns || old.until_ns === old.since_ns
        ? withNewerProtection(old, begin(old.since_ns, from, until))
        : old;
    }
    if (sameBacking(old, fresh)) {
      adoptFile(old.mapping, row);
      // After a loss it is of this moment also where it is as it was known: what comes late and is older changes it no more.
      const isNews = old.prot !== row.prot || space.doubted;
      return isNews && old.prot_ns <= begin_ns ? withProtection(old, row.prot, begin_ns) : old;
    }
    endPages(space, old, from, until, begin_ns, "snapshot");
    return withNewerProtection(old, begin(-1n, from, until));
  });
  return begun;
}

function knownStack(space: AddressSpace, row: Pick<Seen, "from" | "to">): PageState | undefined {
  let found: PageState | undefined;
  space.pages.each(row.from, row.to, (state) => {
    if (state.mapping?.path === STACK) found = state;
  });
  return found;
}

/**
 * Ends what is known in [from, stop), where a look found nothing.
 * @param stack the stack that begins at `stop`, if one does: where it grew after the look began, the look says nothing of it
 * @returns pages ended
 */
function endAbsent(space: AddressSpace, begin_ns: bigint, from: number, stop: number, stack?: Mapping | null): number {
  let ended = 0;
  const grown = stack && stack.grown_ns > begin_ns ? stack : undefined;
  const gone: { from: number; to: number }[] = [];
  space.pages.each(from, stop, (state, start, end) => {
    if (state.mapping === null || state.since_ns > begin_ns) return;
    if (state.mapping !== grown) gone.push({ from: start, to: end });
  });
  for (const piece of gone) {
    unmap(space, begin_ns, begin_ns, piece.from, piece.to, "snapshot");
    ended += piece.to - piece.from;
  }
  return ended;
}
