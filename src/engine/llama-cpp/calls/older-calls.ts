/**
 * Calls that change a cache by their older names, `llama_kv_self_*` and `llama_kv_cache_*`, which name the context in place of its
 * memory. A build that has newer names too may carry an older one out by a newer one, or not: where both are seen it is one call.
 */
import type { RawRecord } from "../../probing/raw-record.ts";
import { PROBE, type Probe } from "../probes.ts";

interface Change {
  /** The same change by its newest name. */
  readonly newest: Probe;
  /** Arguments behind the handle, by which one call inside of another is told to be the same. */
  readonly args: number;
}

const CHANGES: ReadonlyMap<number, Change> = new Map([
  [PROBE.older_clear, { newest: PROBE.memory_clear, args: 0 }],
  [PROBE.older_seq_rm, { newest: PROBE.memory_seq_rm, args: 3 }],
  [PROBE.older_seq_cp, { newest: PROBE.memory_seq_cp, args: 4 }],
  [PROBE.older_seq_keep, { newest: PROBE.memory_seq_keep, args: 1 }],
  [PROBE.older_seq_add, { newest: PROBE.memory_seq_add, args: 4 }],
  [PROBE.older_seq_div, { newest: PROBE.memory_seq_div, args: 4 }],
] as const);

/** True for a call that names its context. */
export const isOlderCall = ({ probe }: Pick<RawRecord, "probe">): boolean => CHANGES.has(probe);

/** The newest probe of the same meaning. */
export const newestOf = (probe: number): number => CHANGES.get(probe)?.newest ?? probe;

interface OpenCall {
  readonly newest: number;
  readonly args: string;
  /** Calls that have begun, each inside of the one before. */
  depth: number;
}

export interface OlderCalls {
  /** What a record is beside the calls that its thread is in: the begin of a change, the same change once more, or the end of one. */
  place(record: RawRecord): "begin" | "again" | "end";
  /** A thread is in none of them any more, whatever returns were lost. */
  leave(tid: number): void;
}

/** Threads that may be in a call; more are ends that were lost. */
const OPEN_LIMIT = 4096;

export function olderCalls(): OlderCalls {
  const open = new Map<number, OpenCall>();
  const textOf = (args: RawRecord["args"], count: number): string =>
    args
      .slice(1, count + 1)
      .map((value) => BigInt.asIntN(32, value))
      .join();
  return {
    place(record) {
      const { tid, probe, isReturn, args } = record;
      const call = open.get(tid);
      if (isReturn) {
        if (isOlderCall(record) && call?.newest === newestOf(probe) && --call.depth <= 0) open.delete(tid);
        return "end";
      }
      const isSame = call !== undefined && call.newest === newestOf(probe);
      const change = [...CHANGES.values()].find(({ newest }) => newest === newestOf(probe));
      const text = textOf(args, change?.args ?? 0);
      if (isSame && call.args === text) {
        if (isOlderCall(record)) call.depth += 1;
        return "again";
      }
      if (isOlderCall(record)) {
        if (open.size >= OPEN_LIMIT) open.clear();
        open.set(tid, { newest: newestOf(probe), args: text, depth: 1 });
      }
      return "begin";
    },
    leave: (tid) => void open.delete(tid),
  };
}
