/** The kernel program of watches with its slots and its ring, and what its traps cost here, measured before the run. */
import type { BpfObject } from "../../../kernel/bpf-object.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { openRing } from "../../../kernel/ring.ts";
import { ringLayout } from "../../../schema/c-header.ts";
import type { LedgerPlace, LedgerRow } from "../../../schema/ledger.ts";
import { type Calibration, calibrate } from "./calibrate.ts";
import { MAX_GENERATION, openSlots, type SharedSlots } from "./slots.ts";
import { forEachTrap, type Trap } from "./traps.ts";

export interface WatchProgram extends Disposable {
  readonly fd: number;
  readonly slots: SharedSlots;
  /** The number of a watch that begins: no other has had it for a long time. */
  nextGeneration(): number;
  /** Measures what traps and retargets cost on these CPUs (about 80 ms); its own traps are none of the target's. */
  calibrate(cpus: readonly number[]): Calibration;
  /** Gives every trap since the last call, in the order of each CPU's ring, with the generation of its watch. */
  drain(take: (generation: number, trap: Trap) => void): void;
  /** Traps that were given so far, and those of the calibration. */
  rowsRead(): number;
  ledger(place: LedgerPlace): LedgerRow[];
}

/**
 * Loads the program, attached to nothing.
 * @param reuse maps of another object, by name: fd
 * @throws MrmTraceError environment
 */
export function loadWatchObject(reuse: Readonly<Record<string, number>> = {}): Promise<BpfObject> {
  return openBpfObject("watch", { perCpu: ["trap_ring", "costs"], reuse });
}

/**
 * Loads the program and maps what it shares.
 * @param targetsFd the map of watched processes, by which it knows who lives in the memory of another; null for none
 * @throws MrmTraceError environment
 */
export async function openWatchProgram(targetsFd: number | null = null): Promise<WatchProgram> {
  using opening = new DisposableStack();
  const object = opening.use(await loadWatchObject(targetsFd === null ? {} : { targets: targetsFd }));
  const { fd } = object.program("watch_trap");
  const slots = opening.use(openSlots(object.map("slots"), object.map("costs")));
  const layout = ringLayout("trap");
  const ring = opening.use(openRing(object.map("trap_ring"), layout));
  const owned = opening.move();
  let generation = 0;
  let rowsRead = 0;

  function nextGeneration(): number {
    generation = (generation % MAX_GENERATION) + 1;
    return generation;
  }

  function drain(take: (generation: number, trap: Trap) => void): void {
    ring.drain((rows) =>
      forEachTrap(rows, layout, (watch, trap) => {
        rowsRead += 1;
        take(watch, trap);
      }),
    );
  }

  return {
    fd,
    slots,
    nextGeneration,
    calibrate(cpus) {
      const calibration = calibrate({ programFd: fd, slots, cpus, nextGeneration });
      drain(() => {});
      for (const cpu of cpus) slots.takeTraps(cpu);
      return calibration;
    },
    drain,
    rowsRead: () => rowsRead,
    ledger: (place) => ring.ledger(place),
    [Symbol.dispose]: () => owned.dispose(),
  };
}
