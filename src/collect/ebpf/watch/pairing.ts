/** Write or read by two registers on the same bytes: an access that both saw is a write. */
import { ROLE } from "../../../schema/shared-numbers.ts";
import type { Trap } from "./traps.ts";

/**
 * Both programs run in one exception; the first may stop its register in between (12 us), and a host may take the virtual
 * CPU away. Another access of the same instruction in this time has twin rows of its own, so that none is matched wrongly.
 */
const SAME_EXCEPTION_NS = 1_000_000n;

export interface PairedTraps {
  /** Traps of the read-write register, in the order given. */
  readonly accesses: readonly { readonly trap: Trap; readonly isWrite: boolean }[];
  /** Rows of the write register without a twin: what is left when the read-write register has stopped. */
  readonly unpaired: number;
}

function sameException(a: Trap | undefined, b: Trap): a is Trap {
  if (a === undefined || a.role !== ROLE.pair_rw || a.ip !== b.ip || a.tid !== b.tid) return false;
  const apart = a.timeNs - b.timeNs;
  return apart < SAME_EXCEPTION_NS && -apart < SAME_EXCEPTION_NS;
}

/** Matches each row of the write register with its neighbour of the same watch on the same CPU, each used once. */
export function pairTraps(traps: readonly Trap[]): PairedTraps {
  const writes = new Set<Trap>();
  let unpaired = 0;
  for (const rows of Map.groupBy(traps, (trap) => trap.cpu).values()) {
    for (const [i, row] of rows.entries()) {
      if (row.role !== ROLE.pair_w) continue;
      const twin = [rows[i + 1], rows[i - 1]].find((next) => sameException(next, row) && !writes.has(next));
      if (twin) writes.add(twin);
      else unpaired += 1;
    }
  }
  const accesses = traps
    .filter((trap) => trap.role !== ROLE.pair_w)
    .map((trap) => ({ trap, isWrite: writes.has(trap) }));
  return { accesses, unpaired };
}
