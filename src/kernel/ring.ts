/** Reader of the per-CPU block rings: rows are used where they lie; no lock, no wake-up. */
import type { BlockRows } from "../columnar/blocks.ts";
import { MrmTraceError } from "../errors.ts";
import { BLOCK_ROWS, RING_CONTROL, type RingLayout } from "../schema/c-header.ts";
import type { LedgerRow } from "../schema/ledger.ts";
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
  ledger(path: string): LedgerRow[];
}

/** Words of a block's header. */
const HEADER = { sequence: 0, rows: 2, rows_high: 3 } as const;
const WORDS = RING_CONTROL.bytes / 4;

/**
 * Maps a ring area (the maps NAME_ctl and NAME_ring) and reads it.
 * Protocol and ordering: the producer publishes a block by a value-returning atomic on `head`;
 * `Atomics.load` of head orders the reading after it, `Atomics.store` of tail orders the release after the reading.
 * @throws MrmTraceError failure when the object and the layout disagree
 */
export function openRing(control: BpfMap, ring: BpfMap, layout: RingLayout): RingReader {
  const cpus = possibleCpus();
  const perCpu = ring.maxEntries / cpus;
  if (ring.valueBytes !== layout.blockBytes || !Number.isInteger(perCpu) || (perCpu & (perCpu - 1)) !== 0) {
    throw new MrmTraceError(
      "failure",
      `the ring ${ring.name} has blocks of ${ring.valueBytes} bytes and ${perCpu} per CPU; ${layout.blockBytes} expected`,
      "rebuild the objects: scripts/build-bpf",
    );
  }
  using opening = new DisposableStack();
  const controlMap = opening.use(control.mmap());
  const ringMap = opening.use(ring.mmap());
  const owned = opening.move();
  const words = new Uint32Array(controlMap.buffer);
  const longs = new BigUint64Array(controlMap.buffer);
  const bytes = new Uint8Array(ringMap.buffer);
  const headers = new Uint32Array(ringMap.buffer);
  const wordsPerBlock = layout.blockBytes / 4;
  /** Position up to which we have read, per CPU, and the rows already taken from the open block. */
  const tails = new Uint32Array(cpus);
  const tailHigh = new Float64Array(cpus);
  const released = new Uint32Array(cpus);
  const taken = new Uint32Array(cpus);
  const kept = new Float64Array(cpus);
  const corrupt = new Float64Array(cpus);
  /** What the drain found; a block is there at most once. */
  const found = {
    bytes,
    pieces: 0,
    block: new Uint32Array(ring.maxEntries),
    cpu: new Uint16Array(ring.maxEntries),
    from: new Uint16Array(ring.maxEntries),
    to: new Uint16Array(ring.maxEntries),
  };

  /** True where the header of a closed block can be right: shared memory is judged, never believed. */
  const isSound = (block: number, position: number): boolean => {
    const at = block * wordsPerBlock;
    return (
      headers[at + HEADER.sequence] === position &&
      headers[at + HEADER.rows] === BLOCK_ROWS &&
      headers[at + HEADER.rows_high] === 0
    );
  };

  const take = (cpu: number, position: number, from: number, to: number, closed: boolean): void => {
    const block = cpu * perCpu + (position & (perCpu - 1));
    if (closed && !isSound(block, position)) {
      corrupt[cpu] = (corrupt[cpu] as number) + to - from;
      return;
    }
    const at = found.pieces++;
    found.block[at] = block;
    found.cpu[at] = cpu;
    found.from[at] = from;
    found.to[at] = to;
    kept[cpu] = (kept[cpu] as number) + to - from;
  };

  const look = (cpu: number): void => {
    const head = Atomics.load(words, cpu * WORDS + RING_CONTROL.head / 4);
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
    const open = Math.min(Atomics.load(words, cpu * WORDS + RING_CONTROL.n / 4), BLOCK_ROWS);
    if (open > from && Atomics.load(words, cpu * WORDS + RING_CONTROL.head / 4) === head) {
      take(cpu, head, from, open, false);
      from = open;
    }
    taken[cpu] = from;
    tails[cpu] = tail;
  };

  const release = (cpu: number): void => {
    if (released[cpu] === tails[cpu]) return;
    released[cpu] = tails[cpu] as number;
    Atomics.store(longs, (cpu * RING_CONTROL.bytes + RING_CONTROL.tail) / 8, BigInt(tailHigh[cpu] as number));
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
    ledger(path) {
      const rows: LedgerRow[] = [];
      for (let cpu = 0; cpu < cpus; cpu++) {
        const at = (cpu * RING_CONTROL.bytes) / 8;
        const seen = Number(longs[at + RING_CONTROL.seq / 8] ?? 0n);
        if (seen === 0) continue;
        const ring_full = Number(longs[at + RING_CONTROL.drop / 8] ?? 0n);
        const corrupt_block = corrupt[cpu] ?? 0;
        rows.push({
          path: `${path}/cpu${cpu}`,
          pid: null,
          seen,
          kept: kept[cpu] ?? 0,
          filtered: 0,
          dropped: ring_full + corrupt_block,
          dropped_by: corrupt_block > 0 ? { ring_full, corrupt_block } : { ring_full },
          unseen_estimate: null,
        });
      }
      return rows;
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
