/** A look at /proc/PID/maps as rows of the mapping table. */
import { readFileSync } from "node:fs";
import { monotonicNs } from "../../../kernel/libc.ts";
import { type Look, UNCOUNTED } from "../../../kernel/looks.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { snapshotEvents } from "../../../regions/proc-maps.ts";

/** The rows of one snapshot, begin and end included; null where the process is gone. */
export function snapshotRows(pid: number, exec_epoch: number, look: Look = UNCOUNTED): MappingEvent[] | null {
  const begin_ns = monotonicNs();
  let text: string;
  try {
    text = look(() => readFileSync(`/proc/${pid}/maps`, "utf8"));
  } catch {
    return null;
  }
  return snapshotEvents(text, { pid, exec_epoch, begin_ns, end_ns: monotonicNs() }).rows;
}
