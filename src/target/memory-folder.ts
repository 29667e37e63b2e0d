/** Where /proc shows the memory of a process: its own files are empty once its first thread has ended. */
import { listProc, readProc } from "./proc-file.ts";
import { type ProcStat, parseStat } from "./proc-text.ts";

/** The folder of the process, or of a thread that lives where the first one does not. */
export function memoryFolder(procRoot: string, pid: number, { state }: Pick<ProcStat, "state">): string {
  const processFolder = `${procRoot}/${pid}`;
  if (state !== "Z") return processFolder;
  for (const tid of listProc(`${processFolder}/task`)) {
    const read = readProc(`${processFolder}/task/${tid}/stat`);
    const thread = read.ok ? parseStat(read.text) : null;
    if (thread !== null && thread.state !== "Z" && thread.state !== "X") return `${processFolder}/task/${tid}`;
  }
  return processFolder;
}
