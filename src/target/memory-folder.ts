/** Where /proc shows the memory of a process: its own files are empty once its first thread has ended. */
import { listProc } from "./proc-file.ts";
import { statIn } from "./proc-stat.ts";
import type { ProcStat } from "./proc-text.ts";

/** The folder of the process, or of a thread that lives where the first one does not. */
export function memoryFolder(procRoot: string, pid: number, { state }: Pick<ProcStat, "state">): string {
  const processFolder = `${procRoot}/${pid}`;
  if (state !== "Z") return processFolder;
  for (const tid of listProc(`${processFolder}/task`)) {
    const thread = statIn(`${processFolder}/task/${tid}`);
    if (thread !== null && thread.state !== "Z" && thread.state !== "X") return `${processFolder}/task/${tid}`;
  }
  return processFolder;
}
