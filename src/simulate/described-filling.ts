/** Memory of a described work that fills, as a cache does: word after word comes into use, each with a write. */
import { OP } from "../schema/operation.ts";
import type { WordTrace } from "./world.ts";

export interface Filling {
  /** From empty to full. */
  readonly fills_ns: number;
  /** Some moment at which it is empty. */
  readonly empty_ns: number;
  /** Full it stays so; otherwise it is empty then, and begins anew. */
  readonly isOnce: boolean;
}

/**
 * What is left of the accesses of a word in memory that fills: none until the word comes into use, and the first of them writes.
 * @param part of the time to fill after which it comes into use, 0 to 1
 * @param fromNs since when it is looked at: a word that was in use by then was written before
 */
export function whileFilled(trace: WordTrace, filling: Filling, part: number, fromNs: number): WordTrace {
  const { fills_ns, empty_ns, isOnce } = filling;
  /** How often the memory was full before; null while the word is not in use. */
  const turnOf = (time: number): number | null => {
    const fillings = (time - empty_ns) / fills_ns;
    const turn = isOnce ? 0 : Math.floor(fillings);
    return fillings - turn >= part ? turn : null;
  };
  const time_ns = new Float64Array(trace.time_ns.length);
  const op = new Uint8Array(time_ns.length);
  let count = 0;
  let last = turnOf(fromNs);
  trace.time_ns.forEach((time, i) => {
    const turn = turnOf(time);
    if (turn === null) return;
    time_ns[count] = time;
    op[count++] = turn === last ? (trace.op[i] ?? OP.load) : OP.store;
    last = turn;
  });
  return { time_ns: time_ns.slice(0, count), op: op.slice(0, count) };
}
