/** Real programs of tests/fixtures/programs/shapes.c: what each wrote down that it did, as traces. */
import { OP } from "../../../src/schema/operation.ts";
import type { WordTrace, WorldStratum } from "../../../src/simulate/world.ts";

/** What each shape is, in words. */
export const SHAPES = {
  loop: "4 MiB read over and over for 1 s of every 4",
  burst: "8 touches 200 us apart every 20 ms, two of them writes",
  hot: "5 % of the blocks read every 2 ms, the others every 200 ms",
  ring: "blocks rewritten every 30 ms, read an uneven number of times",
  rates: "rates lognormal by block, sigma 1.5",
  threads: "one thread writes by turns, another reads at random",
  blocks: "blocks mapped, written, read and unmapped, addresses reused",
  slower: "everything read once in tokens of 4 ms at first and 20 ms at the end",
  popular: "blocks read at random, each as often as its rank to the power of -1.2",
  parts: "blocks rewritten after lognormal times, sigma 1, read once anywhere in between",
  trains: "blocks read 60 times a millisecond apart, then left for half a second or more",
  cache: "a cache that grows by a row in each step of 10 ms, read up to that row, and begun again when it is full",
  sealed: "blocks written and read twice in 4 ms, then closed to all for 40 to 80 ms",
  fused: "blocks written and read right after, every 12 ms",
  tiles: "two blocks of 256 read every 125 us, the others by turns, one at a time",
} as const;
export type Shape = keyof typeof SHAPES;

/** As in the program. */
const ROW_BYTES = 16;
const WORD_BYTES = 8;
const [LOAD, STORE, FREED] = [1, 2, 3];

interface Life {
  readonly time_ns: number[];
  readonly op: number[];
  freed_ns: number;
}

/**
 * @param log rows as the program wrote them
 * @param started_ns begin of the run, CLOCK_MONOTONIC
 * @returns one stratum, with a trace for the words of each life of a block
 */
export function loggedStratum(log: Uint8Array, started_ns: bigint): WorldStratum {
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength);
  const lives: Life[] = [];
  const rows: [time: number, life: number, what: number][] = [];
  for (let at = ROW_BYTES; at + ROW_BYTES <= log.byteLength; at += ROW_BYTES) {
    const time = Number(view.getBigUint64(at, true) - started_ns);
    rows.push([time, view.getUint32(at + 8, true), view.getUint32(at + 12, true)]);
  }
  rows.sort((a, b) => a[0] - b[0]);
  const ended = rows.at(-1)?.[0] ?? 0;
  for (const [time, number, what] of rows) {
    const life = lives[number] ?? { time_ns: [], op: [], freed_ns: ended };
    lives[number] = life;
    if (what === FREED) life.freed_ns = time;
    if (what !== LOAD && what !== STORE) continue;
    life.time_ns.push(time);
    life.op.push(what === LOAD ? OP.load : OP.store);
  }
  const words = lives.map(
    ({ time_ns, op, freed_ns }): WordTrace => ({
      time_ns: Float64Array.from(time_ns),
      op: Uint8Array.from(op),
      freed_ns,
    }),
  );
  return {
    stratum: "unknown/anon",
    region_type: "unknown",
    words,
    repeats: Number(view.getBigUint64(0, true)) / WORD_BYTES,
  };
}
