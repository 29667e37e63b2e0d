/** Reader of the per-CPU block rings: one copy per block, no lock, no wake-up. */
import { MrmTraceError } from "../errors.ts";
import { BLOCK_HEADER_BYTES, BLOCK_ROWS, RING_CONTROL, type RingLayout } from "../schema/c-header.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import type { BpfMap } from "./bpf-map.ts";
import { possibleCpus } from "./cpus.ts";

/** Blocks copied out of the rings in one drain, back to back; each is `layout.blockBytes` long. */
export interface DrainedBlocks {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** CPU of each block. */
  readonly cpus: Uint16Array;
  /** Position that the header of each block must carry, modulo 2^32. */
  readonly sequence: Uint32Array;
  readonly blocks: number;
}

export interface RingReader extends Disposable {
  readonly layout: RingLayout;
  /** Copies the closed blocks, and what is new in the open ones; the result is valid until the next drain. */
  drain(): DrainedBlocks;
  /** One row per CPU: attempts = kept + dropped; throws nothing, a broken identity shows in the row. */
  ledger(path: string): LedgerRow[];
}

/** Offset of the row count in a block header. */
const ROWS_OFFSET = 8;
const WORDS = RING_CONTROL.bytes / 4;

/**
 * Maps a ring area (the maps NAME_ctl and NAME_ring) and reads it.
 * Protocol and ordering: the producer publishes a block by a value-returning atomic on `head`;
 * `Atomics.load` of head orders the copy after it, `Atomics.store` of tail orders the release after the copy.
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
  const blockBytes = layout.blockBytes;
  /** Position released by us, per CPU, and the rows already taken from the open block. */
  const tails = new Uint32Array(cpus);
  const tailHigh = new Float64Array(cpus);
  const taken = new Uint32Array(cpus);
  const kept = new Float64Array(cpus);
  let arena = new Uint8Array(new ArrayBuffer(blockBytes * 64));
  let arenaWords = new Uint32Array(arena.buffer);
  let blockCpus = new Uint16Array(64);
  let sequence = new Uint32Array(64);
  let count = 0;

  const place = (): number => {
    if ((count + 1) * blockBytes > arena.length) {
      const larger = new Uint8Array(new ArrayBuffer(arena.length * 2));
      larger.set(arena);
      arena = larger;
      arenaWords = new Uint32Array(arena.buffer);
      const capacity = arena.length / blockBytes;
      const cpusLarger = new Uint16Array(capacity);
      cpusLarger.set(blockCpus);
      blockCpus = cpusLarger;
      const sequenceLarger = new Uint32Array(capacity);
      sequenceLarger.set(sequence);
      sequence = sequenceLarger;
    }
    return count * blockBytes;
  };

  /** Copies rows [from, to) of every column of the block at `position` to the front of a new block. */
  const take = (cpu: number, position: number, from: number, to: number): void => {
    const target = place();
    const source = (cpu * perCpu + (position & (perCpu - 1))) * blockBytes;
    if (from === 0 && to === BLOCK_ROWS) {
      arena.set(bytes.subarray(source, source + blockBytes), target);
    } else {
      arena.fill(0, target, target + BLOCK_HEADER_BYTES);
      arenaWords[target / 4] = position;
      arenaWords[(target + ROWS_OFFSET) / 4] = to - from;
      for (const column of layout.columns) {
        const start = source + column.offset;
        arena.set(bytes.subarray(start + from * column.width, start + to * column.width), target + column.offset);
      }
    }
    blockCpus[count] = cpu;
    sequence[count] = position;
    kept[cpu] = (kept[cpu] ?? 0) + to - from;
    count += 1;
  };

  const drainCpu = (cpu: number): void => {
    const head = Atomics.load(words, cpu * WORDS + RING_CONTROL.head / 4);
    let tail = tails[cpu] ?? 0;
    let from = taken[cpu] ?? 0;
    while (tail !== head) {
      take(cpu, tail, from, BLOCK_ROWS);
      from = 0;
      tail = (tail + 1) >>> 0;
      tailHigh[cpu] = (tailHigh[cpu] ?? 0) + 1;
    }
    // The open block: its slot is not recycled before tail passes it, so the copy stays valid.
    const open = Math.min(Atomics.load(words, cpu * WORDS + RING_CONTROL.n / 4), BLOCK_ROWS);
    if (open > from && Atomics.load(words, cpu * WORDS + RING_CONTROL.head / 4) === head) {
      take(cpu, head, from, open);
      from = open;
    }
    taken[cpu] = from;
    if (tail !== tails[cpu]) {
      tails[cpu] = tail;
      Atomics.store(longs, (cpu * RING_CONTROL.bytes + RING_CONTROL.tail) / 8, BigInt(tailHigh[cpu] ?? 0));
    }
  };

  return {
    layout,
    drain() {
      count = 0;
      for (let cpu = 0; cpu < cpus; cpu++) drainCpu(cpu);
      return { bytes: arena, cpus: blockCpus, sequence, blocks: count };
    },
    ledger(path) {
      const rows: LedgerRow[] = [];
      for (let cpu = 0; cpu < cpus; cpu++) {
        const at = (cpu * RING_CONTROL.bytes) / 8;
        const seen = Number(longs[at + RING_CONTROL.seq / 8] ?? 0n);
        if (seen === 0) continue;
        const dropped = Number(longs[at + RING_CONTROL.drop / 8] ?? 0n);
        rows.push({
          path: `${path}/cpu${cpu}`,
          pid: null,
          seen,
          kept: kept[cpu] ?? 0,
          filtered: 0,
          dropped,
          dropped_by: { ring_full: dropped },
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
