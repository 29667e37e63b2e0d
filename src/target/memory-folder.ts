/** Where /proc shows the memory of a process: its own files are empty once its first thread has ended. */
import { listProc, readProc } from "./proc-file.ts";
import { type ProcStat, parseStat } from "./proc-text.ts";

/** The folder of the process, or of a thread that lives where the first one does not. */
export function memoryFolder(procRoot: string, pid: number, { state }: Pick<ProcStat, "state">): string {
  const own = `${procRoot}/${pid}`;
  if (state !== "Z") return own;
  for (const tid of listProc(`${own}/task`)) {
    const read = readProc(`${own}/task/${tid}/stat`);
    const thread = read.ok ? parseStat(read.text) : null;
    if (thread !== null && thread.state !== "Z" && thread.state !== "X") return `${own}/task/${tid}`;
  }
  return own;
}
