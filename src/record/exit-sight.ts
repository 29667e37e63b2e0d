/** How a process ended of which we are not the parent: the kernel tells it as its last thread goes. */
import { constants } from "node:os";
import type { Batch } from "../columnar/batch.ts";
import { bigintAt, numberAt, textAt } from "../columnar/cell.ts";

/** The end of a process. */
export interface SeenExit {
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** CLOCK_MONOTONIC. */
  readonly ended_ns: bigint;
}

export interface ExitSight {
  /** Looks at a batch of the mapping table. */
  take(batch: Batch): void;
  /** Null where it has not ended, or nobody told how. */
  readonly exit: SeenExit | null;
}

const SIGNAL_BITS = 0x7f;

/** The first name that the system has for the number: SIGABRT before SIGIOT. */
function signalName(number: number): string {
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return name ?? `signal ${number}`;
}

/** @param status as waitpid tells it: a signal in the lowest bits, else a code above them */
function exitOf(status: number): Pick<SeenExit, "exit_code" | "signal"> {
  const signal = status & SIGNAL_BITS;
  if (signal !== 0) return { exit_code: null, signal: signalName(signal) };
  return { exit_code: (status >> 8) & 0xff, signal: null };
}

export function createExitSight(process_id: number): ExitSight {
  let exit: SeenExit | null = null;
  return {
    take({ rows, columns }) {
      // What has its number later is another process.
      for (let row = 0; exit === null && row < rows; row++) {
        if (textAt(columns.kind, row) !== "exit" || numberAt(columns.pid, row) !== process_id) continue;
        const status = numberAt(columns.result, row);
        if (status === null) continue;
        exit = { ...exitOf(status), ended_ns: bigintAt(columns.timestamp_ns, row) ?? 0n };
      }
    },
    get exit() {
      return exit;
    },
  };
}
