/** Whose a memory is, which the functions of a cache name in place of its context: a program asks a context for it first. */
import type { Outcome } from "../../engine.ts";
import type { RawRecord } from "../../probing/raw-record.ts";

export interface MemoryOwners {
  /** A context is asked for its memory, or gives it. */
  take(record: RawRecord): Outcome;
  /** The context of a memory; undefined where nobody was seen to ask for it. */
  contextOf(memory: bigint): bigint | undefined;
  /** A context is gone, and its memory with it. */
  free(context: bigint): void;
}

/** Threads that may be asking; more are returns that were lost. */
const OPEN_LIMIT = 4096;

export function memoryOwners(): MemoryOwners {
  const owners = new Map<bigint, bigint>();
  /** The context that a thread is asking. */
  const asking = new Map<number, bigint>();
  return {
    take({ tid, args: [handle], isReturn }) {
      if (!isReturn) {
        if (asking.size >= OPEN_LIMIT) asking.clear();
        asking.set(tid, handle);
        return "kept";
      }
      const context = asking.get(tid);
      if (context === undefined) return "under_way";
      asking.delete(tid);
      owners.set(handle, context);
      return "kept";
    },
    contextOf: (memory) => owners.get(memory),
    free(context) {
      for (const [memory, owner] of owners) if (owner === context) owners.delete(memory);
    },
  };
}
