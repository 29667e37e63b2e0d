/** Calls that restore a saved cache give back how many bytes they took, or whether they did: another row says of one that failed. */
import type { EngineRow } from "../../engine.ts";
import type { RawRecord } from "../../probing/raw-record.ts";
import { PROBE } from "../probes.ts";

export interface FailedRestores {
  /** A thread begins to restore. */
  begin(tid: number, row: EngineRow<"step">): void;
  /** @returns the row of a call that took nothing; null for one that did, and for one that was not seen to begin */
  end(record: RawRecord): EngineRow<"step"> | null;
}

/** Threads that may restore at once; more are returns that were lost. */
const OPEN_LIMIT = 4096;
/** Of a value that is a bool: what else is in its register says nothing. */
const BOOL = 0xffn;

export function failedRestores(): FailedRestores {
  const open = new Map<number, EngineRow<"step">>();
  return {
    begin(tid, row) {
      if (open.size >= OPEN_LIMIT) open.clear();
      open.set(tid, row);
    },
    end({ tid, probe, args: [value], timestamp_ns }) {
      const row = open.get(tid);
      open.delete(tid);
      const taken = probe === PROBE.restore_file ? value & BOOL : value;
      if (row === undefined || taken !== 0n) return null;
      return { ...row, timestamp_ns, detail: JSON.stringify({ ...JSON.parse(row.detail ?? "{}"), failed: true }) };
    },
  };
}
