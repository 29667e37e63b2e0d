/**
 * Calls that take rows of a sequence away say whether they did: layers that keep a state of each sequence cannot go back to an earlier
 * one, so that nothing is taken from the others either. Another row says of a call that was refused.
 */
import type { EngineRow } from "../../engine.ts";
import type { RawRecord } from "../../probing/raw-record.ts";

/** A call that is under way. */
interface Trim {
  readonly row: EngineRow<"step">;
  /** The context; null where it is not known. */
  readonly cache: bigint | null;
}

export interface RefusedTrims {
  /** A thread begins to take rows away. */
  begin(trim: Trim): void;
  /** @returns the call that was refused, with a row that says so; null for one that was not, and for one that was not seen to begin */
  end(record: Pick<RawRecord, "tid" | "args">): Trim | null;
}

/** Threads that may be in a call; more are returns that were lost. */
const OPEN_LIMIT = 4096;
/** The value is a bool: what else is in its register says nothing. */
const BOOL = 0xffn;

export function refusedTrims(): RefusedTrims {
  const open = new Map<number, Trim>();
  return {
    begin(trim) {
      if (open.size >= OPEN_LIMIT) open.clear();
      open.set(trim.row.tid, trim);
    },
    end({ tid, args: [value] }) {
      const trim = open.get(tid);
      open.delete(tid);
      if (trim === undefined || (value & BOOL) !== 0n) return null;
      const { kept_guesses: _, ...facts } = JSON.parse(trim.row.detail ?? "{}");
      return { ...trim, row: { ...trim.row, detail: JSON.stringify({ ...facts, refused: true }) } };
    },
  };
}
