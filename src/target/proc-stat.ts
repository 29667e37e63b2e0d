/** What /proc says of a process or a thread now. */
import { readProc } from "./proc-file.ts";
import { type ProcStat, parseStat } from "./proc-text.ts";

/** @param folder such as /proc/7; null where it is gone, or cannot be read */
export function statIn(folder: string): ProcStat | null {
  const read = readProc(`${folder}/stat`);
  return read.ok ? parseStat(read.text) : null;
}
