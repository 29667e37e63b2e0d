/** Registers that are kept for a watch until its time is over, though it may have ended before. */

export interface Reservation {
  /** Registers on every CPU. */
  readonly registers: number;
  readonly isLong: boolean;
  readonly deadlineNs: bigint;
}

export interface Reservations {
  /** Registers kept now on every CPU, and those of them that long watches have. */
  readonly held: number;
  readonly heldLong: number;
  add(reservation: Reservation): void;
  /** Lets go of those whose time is over. */
  expire(nowNs: bigint): void;
}

/**
 * A register that a busy word gave back early, and that another watch took at once, would make watches begin more often
 * where the program is busy. So a place is free when the time of its watch is over, and not before.
 */
export function createReservations(): Reservations {
  let kept: Reservation[] = [];
  const sumOf = (some: readonly Reservation[]): number => some.reduce((sum, { registers }) => sum + registers, 0);
  return {
    get held() {
      return sumOf(kept);
    },
    get heldLong() {
      return sumOf(kept.filter(({ isLong }) => isLong));
    },
    add(reservation) {
      kept.push(reservation);
    },
    expire(nowNs) {
      if (kept.some(({ deadlineNs }) => deadlineNs <= nowNs))
        kept = kept.filter(({ deadlineNs }) => deadlineNs > nowNs);
    },
  };
}
