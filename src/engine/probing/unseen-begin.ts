/**
 * Steps that went by before an engine's probes came. A process that is traced from its begin maps the engine before the
 * probes are in it: where a step is the first thing seen of it, and not the call that comes before any step, others may
 * have gone by.
 */
import type { LedgerRow } from "../../schema/ledger.ts";
import type { EngineRow } from "../engine.ts";

interface Begin {
  gap_ns: number;
  /** Its rows may still come. */
  isOver: boolean;
  /** Null until the first context or decode is seen. */
  beganBefore: boolean | null;
  decodes: number;
  first_ns: bigint;
  last_ns: bigint;
}

export interface UnseenBegin {
  /** A process mapped the file of an engine with the call that begins all, and its probes came so much later. */
  tellGap(engine: string, pid: number, gap_ns: number): void;
  /** Takes the rows of steps of an engine, in order of time within a process. */
  take(engine: string, rows: readonly EngineRow<"step">[]): void;
  /** The number of the process is another program's from now on. */
  forget(pid: number): void;
  /** The steps that were seen, and an estimate of those that were not; nothing where all were. */
  ledger(): LedgerRow[];
}

/** As many as the gap has room for, at the pace of those that were seen: the engine may have begun later. */
function unseenOf({ gap_ns, beganBefore, decodes, first_ns, last_ns }: Begin): number {
  if (beganBefore !== true || gap_ns === 0) return 0;
  const span_ns = Number(last_ns - first_ns);
  return span_ns > 0 ? Math.max(1, Math.ceil((gap_ns * (decodes - 1)) / span_ns)) : 1;
}

/** Nothing known of any process. */
export function unseenBegin(): UnseenBegin {
  const begins = new Map<string, Begin>();
  const ended = { seen: 0, unseen: 0 };
  let unknown = 0;

  function add(sum: { seen: number; unseen: number }, begin: Begin): void {
    sum.seen += begin.decodes;
    sum.unseen += unseenOf(begin);
  }

  return {
    tellGap(engine, pid, gap_ns) {
      const key = `${pid}/${engine}`;
      const before = begins.get(key);
      if (before?.isOver === false) {
        before.gap_ns = Math.max(before.gap_ns, gap_ns);
        return;
      }
      if (before !== undefined) add(ended, before);
      begins.set(key, { gap_ns, isOver: false, beganBefore: null, decodes: 0, first_ns: 0n, last_ns: 0n });
    },
    take(engine, rows) {
      for (const { kind, pid, timestamp_ns } of rows) {
        if (kind !== "context" && kind !== "decode") continue;
        const begin = begins.get(`${pid}/${engine}`);
        if (begin === undefined) {
          if (kind === "decode") unknown += 1;
          continue;
        }
        begin.beganBefore ??= kind === "decode";
        if (kind !== "decode") continue;
        if (begin.decodes === 0) begin.first_ns = timestamp_ns;
        begin.last_ns = timestamp_ns;
        begin.decodes += 1;
      }
    },
    forget(pid) {
      for (const [key, begin] of begins) if (key.startsWith(`${pid}/`)) begin.isOver = true;
    },
    ledger() {
      const sum = { ...ended };
      for (const begin of begins.values()) add(sum, begin);
      if (sum.unseen === 0) return [];
      const seen = sum.seen + unknown;
      const place = { stream: "step", source: null, stage: "observe", way: "before_the_probes", pid: null } as const;
      return [{ ...place, seen, kept: seen, filtered: 0, dropped: 0, dropped_by: {}, unseen_estimate: sum.unseen }];
    },
  };
}
