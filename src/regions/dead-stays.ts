/** The last stays of processes that have ended, for what is told late; those that ended first are let go. */
import type { Ended } from "./address-space.ts";

/** Stays that are held of dead processes: those of a storm of short programs, some 12 MB. */
const MAX_DEAD_STAYS = 1 << 15;

/** Takes the last stays of a process that has ended, and empties those of the processes that ended long before. */
export function createDeadStays(): (recent: Ended[]) => void {
  const deadStays: { readonly recent: Ended[]; readonly held: number }[] = [];
  let heldStays = 0;
  return (recent) => {
    deadStays.push({ recent, held: recent.length });
    heldStays += recent.length;
    for (let oldest = deadStays[0]; oldest !== undefined && heldStays > MAX_DEAD_STAYS; oldest = deadStays[0]) {
      deadStays.shift();
      heldStays -= oldest.held;
      oldest.recent.length = 0;
    }
  };
}
