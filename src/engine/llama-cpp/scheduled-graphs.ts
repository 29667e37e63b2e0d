/**
 * Graphs as they are handed to ggml's scheduler, where the function that computes them may not be found: in a program that was
 * stripped, of which only the functions are known that Go calls. The scheduler may hand on what another library computes, of
 * which that one tells itself, so that a graph is told once it is seen that nobody else did.
 */
import type { RawRecord } from "../probing/raw-record.ts";
import { PROBE } from "./probes.ts";

export interface ScheduledGraphs {
  /** A graph is handed to the scheduler by a thread. */
  begin(record: RawRecord): void;
  /** A graph is told by who computes it, in a thread. */
  pass(tid: number): void;
  /**
   * The scheduler returned: begin and end of the graph as who computes it would have told them. Nothing where that was done, and
   * null where its begin was not seen.
   */
  end(record: RawRecord): readonly RawRecord[] | null;
}

/** Graphs kept open; more are those of threads that ended. */
const OPEN_LIMIT = 64;

/** None yet. */
export function scheduledGraphs(): ScheduledGraphs {
  /** By thread; null once it was told. */
  const open = new Map<number, RawRecord | null>();
  return {
    begin(record) {
      const { payload } = record;
      if (open.size >= OPEN_LIMIT) open.clear();
      const bytes = payload.buffer.slice(payload.byteOffset, payload.byteOffset + payload.byteLength);
      open.set(record.tid, { ...record, probe: PROBE.graph_compute, payload: new DataView(bytes) });
    },
    pass(tid) {
      if (open.has(tid)) open.set(tid, null);
    },
    end(record) {
      const begun = open.get(record.tid);
      open.delete(record.tid);
      if (begun === undefined) return null;
      return begun === null ? [] : [begun, { ...record, probe: PROBE.graph_compute }];
    },
  };
}
