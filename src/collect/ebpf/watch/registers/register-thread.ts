/** Takes debug registers by another thread: the kernel makes whoever takes one wait, for seconds beside some servers. */
import { type Fd, ownFd } from "../../../../kernel/libc.ts";
import type { Order, Taken } from "./register-worker.ts";

export interface RegisterThread extends Disposable {
  /**
   * Has a register taken on each of these CPUs, of all or of none; one order at a time.
   * @param kind of WATCHPOINT
   * @param taken gets them later, in the order of the CPUs and switched off; null where one CPU had none free
   */
  order(kind: number, cpus: readonly number[], taken: (events: readonly Fd[] | null) => void): void;
}

/** Starts with the first order: where the kernel is quick there is no such thread. What is taken after its end goes back at once. */
export function registerThread(): RegisterThread {
  let worker: Worker | null = null;
  let waiting: ((events: readonly Fd[] | null) => void) | null = null;
  let isOver = false;

  function answer(fds: Taken): void {
    const taken = waiting;
    waiting = null;
    const events = fds?.map(ownFd) ?? null;
    if (isOver) {
      for (const event of events ?? []) event.closeAside();
      worker?.terminate();
    } else taken?.(events);
  }

  function start(): Worker {
    const started = new Worker(new URL("./register-worker.ts", import.meta.url).href, { smol: true });
    // A run may end while the kernel makes it wait.
    started.unref();
    started.onmessage = ({ data }: MessageEvent<Taken>) => answer(data);
    started.onerror = () => answer(null);
    return started;
  }

  return {
    order(kind, cpus, taken) {
      waiting = taken;
      worker ??= start();
      const order: Order = { kind, cpus };
      worker.postMessage(order);
    },
    [Symbol.dispose]() {
      isOver = true;
      // Ended while it waits, it would keep what it gets.
      if (waiting === null) worker?.terminate();
    },
  };
}
