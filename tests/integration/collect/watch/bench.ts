/** A program that does as it is told, and one watch on its word: what the tests of single watches share. */

import { createCodeMap } from "../../../../src/code/code-bytes.ts";
import { createAccessDecoder } from "../../../../src/code/trap-operation.ts";
import { type SeenAccesses, seenAccesses } from "../../../../src/collect/ebpf/watch/accesses.ts";
import { armHeld, beginTogether } from "../../../../src/collect/ebpf/watch/arm.ts";
import { type HeldRegisters, heldRegisters } from "../../../../src/collect/ebpf/watch/registers/held-registers.ts";
import { openSlots, type SharedSlots, type SlotState } from "../../../../src/collect/ebpf/watch/slots.ts";
import { forEachTrap, type Trap } from "../../../../src/collect/ebpf/watch/traps.ts";
import { loadWatchObject } from "../../../../src/collect/ebpf/watch/watch-program.ts";
import { onlineCpus } from "../../../../src/kernel/cpus.ts";
import { openRing } from "../../../../src/kernel/ring.ts";
import { ringLayout } from "../../../../src/schema/c-header.ts";
import type { WatchMode } from "../../../../src/schema/words.ts";
import { compileProgram } from "../../../fixtures/compile.ts";
import { lineReader } from "../../../fixtures/line-reader.ts";

export interface Program extends AsyncDisposable {
  readonly pid: number;
  readonly word: bigint;
  readonly bytes: bigint;
  /** Runs one command `count` times and waits until it is done. */
  tell(command: string, count: number): Promise<void>;
  /** Runs one command without waiting. */
  start(command: string, count: number): void;
}

export async function startProgram(): Promise<Program> {
  const child = Bun.spawn([compileProgram("known-accesses")], { stdin: "pipe", stdout: "pipe" });
  const nextLine = lineReader(child.stdout);
  const line = async (): Promise<string> => {
    const next = await nextLine();
    if (next === null) throw new Error("the program ended");
    return next;
  };
  const [word = "0", bytes = "0"] = (await line()).split(" ");
  const start = (command: string, count: number) => {
    child.stdin.write(`${command} ${count}\n`);
    child.stdin.flush();
  };
  return {
    pid: child.pid,
    word: BigInt(word),
    bytes: BigInt(bytes),
    start,
    async tell(command, count) {
      start(command, count);
      if ((await line()) !== "done") throw new Error("not done");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

export interface WatchedRun {
  readonly seen: SeenAccesses;
  readonly state: SlotState;
  readonly traps: readonly Trap[];
  readonly registers: number;
}

export interface Bench extends Disposable {
  readonly slots: SharedSlots;
  readonly programFd: number;
  /** Watches 8 bytes of a program while `work` runs. */
  watch(
    of: { pid: number; addr: bigint; mode: WatchMode; trapLimit: number },
    work: () => Promise<void>,
  ): Promise<WatchedRun>;
}

/** Registers of one watch each, as where none can be held. */
export const newRegisters = (): HeldRegisters => heldRegisters(onlineCpus(), false, () => Number.POSITIVE_INFINITY);

/**
 * @param reuse maps of another object, by name: fd
 * @param held registers of all watches; each has new ones where they are absent
 */
export async function openBench(reuse: Readonly<Record<string, number>> = {}, held = newRegisters()): Promise<Bench> {
  const owned = new DisposableStack();
  const object = owned.use(await loadWatchObject(reuse));
  const slots = owned.use(openSlots(object.map("slots"), object.map("costs")));
  const layout = ringLayout("trap");
  const ring = owned.use(openRing(object.map("trap_ring"), layout));
  const code = owned.use(createCodeMap(() => Number.POSITIVE_INFINITY));
  const decode = createAccessDecoder(code);
  const programFd = object.program("watch_trap").fd;
  let generation = 0;
  return {
    slots,
    programFd,
    async watch({ pid, addr, mode, trapLimit }, work) {
      generation += 1;
      const spec = { slot: 3, generation, pid, addr, sizeBytes: 8, mode, trapLimit, refreshCount: 1 };
      code.learn(pid);
      const result = armHeld({ programFd, slots, held }, spec);
      if (!result.ok) throw new Error(`no register: errno ${result.errno}`);
      const beginNs = beginTogether([result.watch], 0);
      let endNs: bigint;
      try {
        await work();
      } finally {
        endNs = result.watch.disarm();
      }
      const traps: Trap[] = [];
      ring.drain((rows) =>
        forEachTrap(rows, layout, (of, trap) => {
          if (of === generation) traps.push(trap);
        }),
      );
      const watched = { pid, addr, sizeBytes: 8, mode, beginNs, endNs };
      const { registers } = result.watch;
      return { seen: seenAccesses(traps, watched, decode), state: slots.state(3), traps, registers };
    },
    [Symbol.dispose]: () => owned.dispose(),
  };
}
