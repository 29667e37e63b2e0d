/** A look at the maps of a process in /proc, as rows of the mapping table. */
import { readFileSync } from "node:fs";
import { monotonicNs } from "../../../kernel/libc.ts";
import { type Look, UNCOUNTED } from "../../../kernel/looks.ts";
import type { MappingEvent } from "../../../regions/mapping-row.ts";
import { snapshotEvents } from "../../../regions/proc-maps.ts";
import { listProc } from "../../../target/proc-file.ts";

function textOf(path: string, look: Look): string {
  try {
    return look(() => readFileSync(path, "utf8"));
  } catch {
    return "";
  }
}

/** The text of its maps; empty where the process is gone, or as good as gone. */
function mapsText(pid: number, look: Look): string {
  const text = textOf(`/proc/${pid}/maps`, look);
  if (text !== "") return text;
  // A first thread that has ended has no maps any more; the others have.
  for (const tid of listProc(`/proc/${pid}/task`)) {
    const byThread = textOf(`/proc/${pid}/task/${tid}/maps`, look);
    if (byThread !== "") return byThread;
  }
  return "";
}

/** The rows of one snapshot, begin and end included; null where the process is gone. */
export function snapshotRows(pid: number, exec_epoch: number, look: Look = UNCOUNTED): MappingEvent[] | null {
  const begin_ns = monotonicNs();
  const text = mapsText(pid, look);
  if (text === "") return null;
  return snapshotEvents(text, { pid, exec_epoch, begin_ns, end_ns: monotonicNs() }).rows;
}
