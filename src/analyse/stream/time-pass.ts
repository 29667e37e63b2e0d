/** One pass over accesses in order of time: how many there are in each block of time, and how far each lies from the one before. */
import { type HeatSums, heatSums } from "../../label/trace/heat-sums.ts";
import { OP } from "../../schema/operation.ts";
import { addTime, type BinnedTimes, binnedTimes, binOf, foldGroups, foldRows, GROUPS } from "./binned-times.ts";
import { type AccessColumns, CLASSES, CODE_BITS, classOf, opOf } from "./trace-columns.ts";

const WORD = 2 ** 32;
const PAGE_SHIFT = 12;
const LINE_BYTES = 64;
/** Threads are told apart by their low bits; two with the same ones cost each other a pair. */
const THREAD_SLOTS = 1 << 16;
const CODE_MASK = (1 << CODE_BITS) - 1;
const FIRST_BLOCK_NS = 2 ** 18;

/** Sums by block of time, GROUPS of them for each class; blocks after the last access are 0. */
export interface TimePass {
  readonly loads: Float64Array;
  readonly stores: Float64Array;
  /** Neither known as loads nor as stores. */
  readonly unknown: Float64Array;
  /** Pairs of successive accesses of one thread to the class, and of them those on one 4 KiB page. */
  readonly pairs: Float64Array;
  readonly same_page: Float64Array;
  readonly strides: readonly BinnedTimes[];
  /** Accesses of a thread to the class that follow each other, each at most a line beyond the one before; by class. */
  readonly runs: readonly BinnedTimes[];
  /** By address and time; of no process that is known, and of no region. */
  readonly heat: HeatSums;
  readonly rows: number;
  /** Blocks up to that of the last access, and the length of one. */
  readonly blocks: number;
  readonly block_ns: number;
  readonly first_ns: bigint;
  readonly window_ns: number;
  /** False as soon as a row came before the one before it: the sums are void then. */
  readonly inOrder: boolean;
  add(columns: AccessColumns): void;
  /** Takes the runs that go on as cut short: after the last row. */
  end(): void;
}

/**
 * A pass over rows in order of time, of any number, in constant memory; blocks double in length as time goes on.
 * @param period accesses that a row stands for
 */
export function timePass(period: number): TimePass {
  const sums = () => new Float64Array(CLASSES.length * GROUPS);
  const [loads, stores, unknown, pairs, samePage] = [sums(), sums(), sums(), sums(), sums()];
  const strides = CLASSES.map(() => binnedTimes());
  const runs = CLASSES.map(() => binnedTimes());
  const heat = heatSums(FIRST_BLOCK_NS);
  const slots = THREAD_SLOTS * CLASSES.length;
  const lastLow = new Uint32Array(slots);
  const lastHigh = new Uint32Array(slots);
  /** Thread plus 1; 0 for none. */
  const lastThread = new Uint32Array(slots);
  /** Accesses of the run that goes on. */
  const runLength = new Uint32Array(slots);
  let blockNs = FIRST_BLOCK_NS;
  let block = 0;
  let blockEnd = FIRST_BLOCK_NS;
  let rows = 0;
  let firstLow = 0;
  let firstHigh = 0;
  let last = 0;
  let inOrder = true;
  return {
    loads,
    stores,
    unknown,
    pairs,
    same_page: samePage,
    strides,
    runs,
    heat,
    get rows() {
      return rows;
    },
    get blocks() {
      return rows === 0 ? 0 : Math.floor(last / blockNs) + 1;
    },
    get block_ns() {
      return blockNs;
    },
    get first_ns() {
      return (BigInt(firstHigh) << 32n) | BigInt(firstLow);
    },
    get window_ns() {
      return last;
    },
    get inOrder() {
      return inOrder;
    },
    add({ rows: n, address, time_ns, code: codes }) {
      if (rows === 0 && n > 0) {
        firstLow = time_ns[0] as number;
        firstHigh = time_ns[1] as number;
      }
      rows += n;
      for (let i = 0; i < n && inOrder; i++) {
        const time = (time_ns[2 * i] as number) - firstLow + ((time_ns[2 * i + 1] as number) - firstHigh) * WORD;
        if (time < last) {
          inOrder = false;
          return;
        }
        last = time;
        while (time >= blockNs * GROUPS) {
          for (const sum of [loads, stores, unknown, pairs, samePage]) foldRows(sum);
          for (const times of [...strides, ...runs]) if (times.n > 0) foldGroups(times);
          blockNs *= 2;
          blockEnd = 0;
        }
        if (time >= blockEnd) {
          block = Math.floor(time / blockNs);
          blockEnd = (block + 1) * blockNs;
        }
        const code = (codes[i] as number) & CODE_MASK;
        const kind = classOf(code);
        const cell = kind * GROUPS + block;
        const op = opOf(code);
        if (op === OP.load || op === OP.load_store) loads[cell] = (loads[cell] as number) + 1;
        if (op === OP.store || op === OP.load_store) stores[cell] = (stores[cell] as number) + 1;
        if (op === OP.unknown) unknown[cell] = (unknown[cell] as number) + 1;
        const low = address[2 * i] as number;
        const high = address[2 * i + 1] as number;
        heat.add(kind, 0, 0, 0, low, high, time, op, period);
        const who = ((codes[i] as number) >>> CODE_BITS) + 1;
        const slot = (who % THREAD_SLOTS) * CLASSES.length + kind;
        if (lastThread[slot] === who) {
          const beforeLow = lastLow[slot] as number;
          const beforeHigh = lastHigh[slot] as number;
          pairs[cell] = (pairs[cell] as number) + 1;
          if (high === beforeHigh && low >>> PAGE_SHIFT === beforeLow >>> PAGE_SHIFT) {
            samePage[cell] = (samePage[cell] as number) + 1;
          }
          const stride = Math.abs((high - beforeHigh) * WORD + (low - beforeLow));
          addTime(strides[kind] as BinnedTimes, stride, binOf(stride), 1, block, true);
          const forward = (high - beforeHigh) * WORD + (low - beforeLow);
          if (forward >= 0 && forward <= LINE_BYTES) runLength[slot] = (runLength[slot] as number) + 1;
          else {
            const length = runLength[slot] as number;
            addTime(runs[kind] as BinnedTimes, length, binOf(length), 1, block, true);
            runLength[slot] = 1;
          }
        } else {
          const length = runLength[slot] as number;
          // Another thread has its place from now on.
          if (length > 0) addTime(runs[kind] as BinnedTimes, length, binOf(length), 1, block, false);
          runLength[slot] = 1;
        }
        lastThread[slot] = who;
        lastLow[slot] = low;
        lastHigh[slot] = high;
      }
    },
    end() {
      for (let slot = 0; slot < slots; slot++) {
        const length = runLength[slot] as number;
        if (length === 0) continue;
        addTime(runs[slot % CLASSES.length] as BinnedTimes, length, binOf(length), 1, block, false);
        runLength[slot] = 0;
      }
    },
  };
}
