/** Processes of a tree that go on when its first process was told to end. */
import { statIn } from "./proc-stat.ts";
import { isOver } from "./proc-text.ts";

/** A process, named for ever by its number and its start. */
export interface LeftProcess {
  readonly pid: number;
  readonly start_ticks: bigint;
  readonly process_group: number;
}

function processAt(pid: number): LeftProcess | null {
  const stat = statIn(`/proc/${pid}`);
  if (stat === null || isOver(stat)) return null;
  const { start_ticks, process_group } = stat;
  return { pid, start_ticks, process_group };
}

/** The process group of ours, which is that of a command that we launch too. */
export const ownGroup = (): number | null => processAt(process.pid)?.process_group ?? null;

/** Those of some processes that run now. */
export const runningOf = (pids: readonly number[]): LeftProcess[] => pids.flatMap((pid) => processAt(pid) ?? []);

/** Those that run still; another that has the number of one by now is none of them. */
export const stillRunning = (processes: readonly LeftProcess[]): LeftProcess[] =>
  processes.filter(({ pid, start_ticks }) => processAt(pid)?.start_ticks === start_ticks);

/**
 * Tells those of a process group to end, as timeout(1) does: a shell that ends first leaves the server that it waits for.
 * What has a group of its own is left alone: it was made to outlive the others.
 */
export function tellToEnd(processes: readonly LeftProcess[], process_group: number | null): void {
  for (const { pid } of stillRunning(processes.filter((one) => one.process_group === process_group))) {
    try {
      process.kill(pid, "SIGTERM");
    } catch (error) {
      // It ended in between, or is another user's by now: whether it runs on is told.
      if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}
