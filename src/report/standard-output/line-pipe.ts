/** Lines for a pipe whose reader may be slow, or gone: none waits for it, and none is lost while it reads on. */
import { writeSync } from "node:fs";
import { unwritten } from "./unwritten.ts";

export interface LinePipe {
  /** Takes a line; false where nobody reads any more. @throws MrmTraceError, where it cannot be written */
  write(line: string): boolean;
  /** Hands over what still waits, until `given up` says that this took too long; true where nothing is left. */
  drain(givenUp: () => boolean): Promise<boolean>;
}

const LOOK_MS = 5;

export function createLinePipe(fd: number): LinePipe {
  let waiting: Buffer = Buffer.alloc(0);
  let behind: string[] = [];
  let isGone = false;

  /** Writes what the pipe takes now. */
  function push(): void {
    try {
      while (waiting.length > 0 || behind.length > 0) {
        if (waiting.length === 0) {
          waiting = Buffer.from(behind.join(""));
          behind = [];
        }
        waiting = waiting.subarray(writeSync(fd, waiting));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return;
      const failure = unwritten(error);
      if (failure !== null) throw failure;
      isGone = true;
    }
  }

  return {
    write(line) {
      behind.push(`${line}\n`);
      push();
      return !isGone;
    },
    async drain(givenUp) {
      const isDone = (): boolean => waiting.length === 0 && behind.length === 0;
      for (push(); !isDone() && !isGone && !givenUp(); push()) await Bun.sleep(LOOK_MS);
      return isDone();
    },
  };
}
