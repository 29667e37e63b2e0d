/** A command that has ended while processes of its tree run on, as a daemon does that it started. */
import type { StopSignal } from "../record/signals.ts";
import type { Launched } from "../target/held-command.ts";
import { runningOf } from "../target/left-running.ts";

/** What ends because the command has ended takes no longer. */
const ENDING_MS = 1000;

type Ended = Awaited<Launched["ended"]>;

function endText({ exit_code, signal }: Ended): string {
  return `the command ended ${signal === null ? `with exit code ${exit_code}` : `by ${signal}`}`;
}

/**
 * Says once whom the recording waits for when the command itself has ended: nobody would look for them.
 * @param living pids of the tree @param isOver true once nothing is waited for, or somebody asked for the end
 */
export async function tellOutlived(
  launched: Launched,
  living: () => readonly number[],
  isOver: () => boolean,
  notice: (line: string) => void,
): Promise<void> {
  const ended = await launched.ended;
  setTimeout(() => {
    if (isOver()) return;
    const pids = runningOf(living()).flatMap(({ pid }) => (pid === launched.pid ? [] : [pid]));
    if (pids.length === 0) return;
    const left = pids.length === 1 ? "a process of it runs" : `${pids.length} processes of it run`;
    const how = "Ctrl-C ends that within 10 s, as does --duration";
    notice(`${endText(ended)}; ${left} on, and the recording waits for that: pid ${pids.join(", ")}; ${how}`);
  }, ENDING_MS).unref();
}

/**
 * Says what is waited for when a signal has come and the command takes its time: whoever sees nothing happen sends another
 * signal, and has no results.
 * @param within_ms how long the command has @param moment_ms how soon one ends that ends at once
 */
export function tellWaiting(
  signal: StopSignal,
  ended: Promise<unknown>,
  within_ms: number,
  notice: (line: string) => void,
  moment_ms = ENDING_MS,
): void {
  const waiting = setTimeout(() => {
    const time = `${within_ms / 1000} s`;
    notice(`${signal}: the command has ${time} to end; a second signal ends the tracer at once, without results`);
  }, moment_ms);
  waiting.unref();
  void ended.then(() => clearTimeout(waiting));
}
