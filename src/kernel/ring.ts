/** Reader of the per-CPU block rings: rows are used where they lie; no lock, no wake-up. */
import type { BlockRows } from "../columnar/blocks.ts";
import { MrmTraceError } from "../errors.ts";
import { BLOCK_ROWS, RING_CONTROL, type RingLayout } from "../schema/c-header.ts";
import type { LedgerPlace, LedgerRow } from "../schema/ledger.ts";
import type { BpfMap } from "./bpf-map.ts";
import { possibleCpus } from "./cpus.ts";

export interface RingReader extends Disposable {
  readonly layout: RingLayout;
  /**
   * Has `use` read the rows of the closed blocks and what is new in the open ones, then gives the closed ones back to
   * the kernel: the rows are good until it returns.
   */
  drain<T>(use: (rows: BlockRows) => T): T;
  /** One row per CPU: attempts = kept + dropped; throws nothing, a broken identity shows in the row. */
  /** The account of all CPUs together, no row where nothing came. */
  ledger(place: LedgerPlace): LedgerRow[];
}

/** Words of a block's header. */
const HEADER = { sequence: 0, rows: 2, rows_high: 3 } as const;

/**
 * Maps a ring area, whose element of each CPU is the control block and the blocks behind it, and reads it.
 * Protocol and ordering: the producer publishes a block by a value-returning atomic on `head`;
 * `Atomics.load` of head orders the reading after it, `Atomics.store` of tail orders the release after the reading.
 * @throws MrmTraceError failure when the object and the layout disagree
 */
export function openRing(ring: BpfMap, layout: RingLayout): RingReader {
  const cpus = possibleCpus();
  const stride = ring.valueBytes;
  const perCpu = (stride - RING_CONTROL.bytes) / layout.blockBytes;
  if (ring.maxEntries !== cpus || !Number.isInteger(perCpu) || perCpu < 1) {
    throw new MrmTraceError(
      "failure",
      `the ring ${ring.name} has ${ring.maxEntries} elements of ${stride} bytes; ${cpus} with blocks of ${layout.blockBytes} expected`,
      "rebuild the objects: scripts/build-bpf",
    );
  }
  const mapping = ring.mmap();
  const { buffer } = mapping;
  const bytes = new Uint8Array(buffer);
  const words = new Uint32Array(buffer);
  const longs = new BigUint64Array(buffer);
  /** Position up to which we have read, per CPU, and the rows already taken from the open block. */
  const tails = new Uint32Array(cpus);
  const tailHigh = new Float64Array(cpus);
  const released = new Uint32Array(cpus);
  const taken = new Uint32Array(cpus);
  const kept = new Float64Array(cpus);
  const corrupt = new Float64Array(cpus);
  /** What the drain found: of each CPU closed blocks, and an open one. */
  const most = cpus * (perCpu + 1);
  const found = {
    bytes,
    pieces: 0,
    begin_bytes: new Float64Array(most),
    cpu: new Uint16Array(most),
    from: new Uint16Array(most),
    to: new Uint16Array(most),
  };

  /** True where the header of the closed block at `begin` can be right: shared memory is judged, never believed. */
  const isSound = (begin: number, position: number): boolean => {
    const offset = begin / 4;
    return (
      words[offset + HEADER.sequence] === position &&
      words[offset + HEADER.rows] === BLOCK_ROWS &&
      words[offset + HEADER.rows_high] === 0
    );
  };

  const take = (cpu: number, position: number, from: number, end: number, closed: boolean): void => {
    const begin = cpu * stride + RING_CONTROL.bytes + ((tailHigh[cpu] as number) % perCpu) * layout.blockBytes;
    if (closed && !isSound(begin, position)) {
      corrupt[cpu] = (corrupt[cpu] as number) + end - from;
      return;
    }
    const piece = found.pieces++;
    found.begin_bytes[piece] = begin;
    found.cpu[piece] = cpu;
    found.from[piece] = from;
    found.to[piece] = end;
    kept[cpu] = (kept[cpu] as number) + end - from;
  };

  const look = (cpu: number): void => {
    const control = (cpu * stride) / 4;
    const head = Atomics.load(words, control + RING_CONTROL.head / 4);
    let tail = tails[cpu] ?? 0;
    let from = taken[cpu] ?? 0;
    // The producer stays within the ring: a head beyond it is not its word, and the account says that rows are missing.
    if ((head - tail) >>> 0 > perCpu) return;
    while (tail !== head) {
      take(cpu, tail, from, BLOCK_ROWS, true);
      from = 0;
      tail = (tail + 1) >>> 0;
      tailHigh[cpu] = (tailHigh[cpu] ?? 0) + 1;
    }
    // The open block: its slot is not recycled before tail passes it, so that its rows stay where they are.
    const open = Math.min(Atomics.load(words, control + RING_CONTROL.n / 4), BLOCK_ROWS);
    if (open > from && Atomics.load(words, control + RING_CONTROL.head / 4) === head) {
      take(cpu, head, from, open, false);
      from = open;
    }
    taken[cpu] = from;
    tails[cpu] = tail;
  };

  const release = (cpu: number): void => {
    if (released[cpu] === tails[cpu]) return;
    released[cpu] = tails[cpu] as number;
    Atomics.store(longs, (cpu * stride + RING_CONTROL.tail) / 8, BigInt(tailHigh[cpu] as number));
  };

  return {
    layout,
    drain(use) {
      found.pieces = 0;
      for (let cpu = 0; cpu < cpus; cpu++) look(cpu);
      const used = use(found);
      for (let cpu = 0; cpu < cpus; cpu++) release(cpu);
      return used;
    },
    ledger(place) {
      const sum = { seen: 0, kept: 0, ring_full: 0, corrupt_block: 0 };
      for (let cpu = 0; cpu < cpus; cpu++) {
        const word = (cpu * stride) / 8;
        sum.seen += Number(longs[word + RING_CONTROL.seq / 8] ?? 0n);
        sum.kept += kept[cpu] ?? 0;
        sum.ring_full += Number(longs[word + RING_CONTROL.drop / 8] ?? 0n);
        sum.corrupt_block += corrupt[cpu] ?? 0;
      }
      const { seen, ring_full, corrupt_block } = sum;
      if (seen === 0) return [];
      return [
        {
          ...place,
          pid: null,
          seen,
          kept: sum.kept,
          filtered: 0,
          dropped: ring_full + corrupt_block,
          dropped_by: { ring_full, ...(corrupt_block > 0 ? { corrupt_block } : {}) },
          unseen_estimate: null,
        },
      ];
    },
    [Symbol.dispose]() {
      mapping[Symbol.dispose]();
    },
  };
}
