/** Memory whose bytes may be at more than one address: shared mappings that may be written, and what else maps the same. */
import { isAnonymous, type PageState } from "../../regions/address-space.ts";
import { CLONE_THREAD, CLONE_VM, isShared } from "../../regions/mapping-row.ts";
import { MREMAP_DONTUNMAP } from "../../regions/mremap.ts";
import type { RowOf } from "../../schema/row.ts";
import type { MappingFacts } from "./mapping-stays.ts";

const PROT_WRITE = 2;

/** True where what was mapped may be, or may have been, written through this mapping. */
const isWritable = ({ prot, prot_ns, since_ns }: PageState): boolean => (prot & PROT_WRITE) !== 0 || prot_ns > since_ns;

/** A mapping that another thread made may be told so long after a fork that has copied it. */
const UNSURE_NS = 1_000_000_000n;

export interface SharedObjects {
  /** Takes a row of the mapping stream, once it was applied. */
  take(row: RowOf<"mapping">): void;
  /**
   * True where others may use the same bytes through another mapping: shared memory that may be written. Anonymous one has
   * no name by which others could map it: what came since the process forked last, or moved some and left it, is its own.
   */
  isShared(pid: number, state: PageState): boolean;
}

/** True where the process may only read what it has mapped shared: where that is no file, others fill it. */
export function isReadShared(state: PageState): boolean {
  const { mapping } = state;
  return mapping !== null && isShared(mapping.flags) && !isAnonymous(mapping) && !isWritable(state);
}

const DELETED = / \(deleted\)$/;

export function sharedObjects(): SharedObjects {
  /** When anonymous shared memory of a process came to a second address the last time, which what is born later is not at. */
  const copied = new Map<number, bigint>();
  return {
    take({ kind, pid, child_pid, flags, old_size_bytes, timestamp_ns }) {
      // What it maps from here on nobody has copied.
      if (kind === "exec") copied.delete(pid);
      else if (kind === "fork" && ((flags ?? 0) & (CLONE_VM | CLONE_THREAD)) === 0) {
        copied.set(pid, timestamp_ns + UNSURE_NS);
        if (child_pid !== null) copied.set(child_pid, timestamp_ns);
      } else if (kind === "mremap" && (old_size_bytes === 0n || ((flags ?? 0) & MREMAP_DONTUNMAP) !== 0))
        copied.set(pid, timestamp_ns + UNSURE_NS);
      // A fork may have been among what was lost.
      else if (kind === "lost") copied.set(pid, timestamp_ns + UNSURE_NS);
    },
    isShared(pid, state) {
      const { mapping } = state;
      if (mapping === null || !isShared(mapping.flags) || !isWritable(state)) return false;
      return !isAnonymous(mapping) || state.birth_censored || state.birth_ns <= (copied.get(pid) ?? -1n);
    },
  };
}

/** The facts, with those shared that map a file or memory which another mapping of the run shares. */
export function withOtherMappings(facts: readonly MappingFacts[]): MappingFacts[] {
  // A name that was taken away since is still in those that were told before.
  const objectOf = ({ inode, path }: MappingFacts): string | null =>
    inode ? `${inode}/${path?.replace(DELETED, "")}` : null;
  const shared = new Set(facts.filter(({ is_shared }) => is_shared).map(objectOf));
  shared.delete(null);
  return facts.map((one) => ({ ...one, is_shared: one.is_shared || shared.has(objectOf(one)) }));
}
