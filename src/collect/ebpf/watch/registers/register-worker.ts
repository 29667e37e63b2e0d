/** The worker's side of register-thread.ts: one message in, a register taken on every CPU, one message out. */
import { openRegister } from "./open-register.ts";

/** What the worker is asked. */
export interface Order {
  /** Of WATCHPOINT. */
  readonly kind: number;
  readonly cpus: readonly number[];
}

/** What it answers: a file descriptor of each CPU; null where one had no register free. */
export type Taken = readonly number[] | null;

/** Bytes that no program has: it gets others before it is switched on. */
const NOWHERE = { addr: 0x1000n, sizeBytes: 8 };
const MOST_RETRIES = 50;

declare const self: Worker;

self.onmessage = ({ data: { kind, cpus } }: MessageEvent<Order>) => {
  const result = openRegister({ ...NOWHERE, kind }, cpus, MOST_RETRIES);
  const taken: Taken = result.ok ? result.events.map(({ fd }) => fd) : null;
  self.postMessage(taken);
};
