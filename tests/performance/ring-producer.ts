/** A thread on one CPU that writes ring rows in bursts, at a steady rate: the worker of the ring benchmark. */
import { monotonicNs } from "../../src/kernel/libc.ts";
import { pinThread, programRunner } from "./program-run.ts";

export interface ProducerJob {
  readonly cpu: number;
  readonly programFd: number;
  readonly rowsPerSecond: number;
  readonly seconds: number;
}

/** What the thread asked for; rows it could not write in time are not made up for. */
export interface ProducerDone {
  readonly rows: number;
  readonly seconds: number;
}

const BURST_MS = 1;
/** A thread that was not run for longer than so many bursts has produced nothing, as a program would. */
const MAX_BURSTS = 4;

declare const self: Worker;

self.onmessage = (message: MessageEvent<ProducerJob>) => {
  const { cpu, programFd, rowsPerSecond, seconds } = message.data;
  pinThread(cpu);
  const run = programRunner(programFd);
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const burst = (rowsPerSecond * BURST_MS) / 1e3;
  const begin = monotonicNs();
  let rows = 0;
  let skipped = 0;
  let elapsed = 0;
  for (;;) {
    elapsed = Number(monotonicNs() - begin) / 1e9;
    const due = Math.floor(elapsed * rowsPerSecond) - rows - skipped;
    const now = Math.min(due, Math.round(burst * MAX_BURSTS));
    if (now > 0) run(now);
    rows += Math.max(now, 0);
    skipped += Math.max(due - now, 0);
    if (elapsed >= seconds) break;
    Atomics.wait(sleeper, 0, 0, BURST_MS);
  }
  const done: ProducerDone = { rows, seconds: elapsed };
  self.postMessage(done);
};
