/** Registers that are kept for a watch until its time is over, though it may have ended before. */

import { registersOf } from "./arm.ts";
import { type Design, isLong } from "./design.ts";

export interface Reservations {
  /** Registers kept now on every CPU, and those of them that long watches have. */
  readonly held: number;
  readonly heldLong: number;
  /** Keeps the registers of a watch until then: one that is armed begins a little later, and so ends. */
  add(design: Design, untilNs: () => bigint): void;
  /** Lets go of those whose time is over. */
  expire(nowNs: bigint): void;
}

/**
 * A register that a busy word gave back early, and that another watch took at once, would make watches begin more often
 * where the program is busy. So a place is free when the time of its watch is over, and not before.
 */
export function createReservations(): Reservations {
  let kept: { readonly design: Design; readonly untilNs: () => bigint }[] = [];
  const sumOf = (some: typeof kept): number =>
    some.reduce((sum, { design }) => sum + registersOf(design.mode).length, 0);
  return {
    get held() {
      return sumOf(kept);
    },
    get heldLong() {
      return sumOf(kept.filter(({ design }) => isLong(design)));
    },
    add(design, untilNs) {
      kept.push({ design, untilNs });
    },
    expire(nowNs) {
      if (kept.some(({ untilNs }) => untilNs() <= nowNs)) kept = kept.filter(({ untilNs }) => untilNs() > nowNs);
    },
  };
}
