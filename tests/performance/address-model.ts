/**
 * The synthetic address distribution on which every figure per row is measured.
 *
 * The first tenth of the rows is a load: stores, sequential 64 B lines of a 64 MiB weight area. The rest is generation:
 * 55 % weight loads, uniform over 2^20 lines; 25 % kv, a fifth of them stores that append 256 B blocks, the others
 * loads uniform over the blocks written; 15 % activation, half stores, 64 B lines of 2 MiB; 5 % unknown, 30 % stores,
 * 64 B lines of a 16 MiB heap.
 */
import type { BlockRows } from "../../src/columnar/blocks.ts";
import { BLOCK_ROWS, ringLayout } from "../../src/schema/c-header.ts";

const KIND = { weight: 0, kv_cache: 1, activation: 2, unknown: 3 } as const;
export const KIND_NAMES = ["weight", "kv_cache", "activation", "unknown"] as const;
/** The high words of the four areas; their low words begin at 0. */
const AREA_HIGH = [0x7f10, 0x7f20, 0x7f30, 0x7f40] as const;
const LINES = [1 << 20, 1 << 16, 1 << 15, 1 << 18] as const;
const LINE_BYTES = [64, 256, 64, 64] as const;
/** Instructions of one class: a few kernels, each with its unrolled loads and stores. */
const INSTRUCTIONS = 48;
const TEXT_HIGH = 0x7f50;
const START_NS = 12_345_000_000_000;
const MEAN_GAP_NS = 10_000;
const PID = 4242;
const THREADS = 4;
const CPUS = 2;

export interface AddressModel {
  readonly rows: number;
  /** CLOCK_MONOTONIC ns, increasing; gaps exponential with a mean of 10 us, never 0. */
  readonly timestamp_ns: BigUint64Array;
  readonly address: BigUint64Array;
  readonly ip: BigUint64Array;
  readonly pid: Uint32Array;
  readonly tid: Uint32Array;
  /** Bit 1 write, bit 2 user mode. */
  readonly fault_flags: Uint32Array;
  readonly cpu: Uint16Array;
  /** 0 load, 1 store. */
  readonly op: Uint8Array;
  /** Index into KIND_NAMES. */
  readonly kind: Uint8Array;
  readonly weight_cycles: Uint32Array;
}

/** Uniform numbers in [0, 1) from a 32-bit seed (sfc32, C. Doty-Humphrey's small fast counting generator). */
export function uniform(seed: number): () => number {
  let a = seed | 0;
  let b = 0x9e3779b9 | 0;
  let c = 0x243f6a88 | 0;
  let counter = 1;
  const next = () => {
    const out = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + out;
    return (out >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 15; i++) next();
  return next;
}

/** `rows` rows of the model, the same for the same seed. */
export function addressModel(rows: number, seed: number): AddressModel {
  const random = uniform(seed);
  const model: AddressModel = {
    rows,
    timestamp_ns: new BigUint64Array(rows),
    address: new BigUint64Array(rows),
    ip: new BigUint64Array(rows),
    pid: new Uint32Array(rows).fill(PID),
    tid: new Uint32Array(rows),
    fault_flags: new Uint32Array(rows),
    cpu: new Uint16Array(rows),
    op: new Uint8Array(rows),
    kind: new Uint8Array(rows),
    weight_cycles: new Uint32Array(rows),
  };
  const time = new Uint32Array(model.timestamp_ns.buffer);
  const address = new Uint32Array(model.address.buffer);
  const ip = new Uint32Array(model.ip.buffer);
  const loading = Math.floor(rows / 10);
  let now = START_NS;
  let written = 0;
  for (let i = 0; i < rows; i++) {
    const draw = random();
    const [kind, store, line] = i < loading ? loadRow(i) : generationRow(draw, random, written);
    if (kind === KIND.kv_cache && store) written += 1;
    now += 1 + Math.floor(-Math.log(1 - random()) * MEAN_GAP_NS);
    time[2 * i] = now % 2 ** 32;
    time[2 * i + 1] = now / 2 ** 32;
    address[2 * i] = line * (LINE_BYTES[kind] ?? 64);
    address[2 * i + 1] = AREA_HIGH[kind] ?? 0;
    ip[2 * i] = (kind << 16) + (store ? 0x8000 : 0) + Math.floor(random() ** 2 * INSTRUCTIONS) * 5;
    ip[2 * i + 1] = TEXT_HIGH;
    const thread = Math.floor(random() * THREADS);
    model.tid[i] = PID + thread;
    model.cpu[i] = thread % CPUS;
    model.fault_flags[i] = 2 + (store ? 1 : 0);
    model.op[i] = store ? 1 : 0;
    model.kind[i] = kind;
    model.weight_cycles[i] = store ? 0 : 7 + Math.floor(-Math.log(1 - random()) * 60);
  }
  return model;
}

type Row = [kind: 0 | 1 | 2 | 3, store: boolean, line: number];

function loadRow(i: number): Row {
  return [KIND.weight, true, i % LINES[KIND.weight]];
}

function generationRow(draw: number, random: () => number, written: number): Row {
  const place = random();
  const store = random();
  if (draw < 0.55) return [KIND.weight, false, Math.floor(place * LINES[KIND.weight])];
  if (draw < 0.8) {
    if (store < 0.2) return [KIND.kv_cache, true, written % LINES[KIND.kv_cache]];
    return [KIND.kv_cache, false, Math.floor(place * Math.max(1, Math.min(written, LINES[KIND.kv_cache])))];
  }
  if (draw < 0.95) return [KIND.activation, store < 0.5, Math.floor(place * LINES[KIND.activation])];
  return [KIND.unknown, store < 0.3, Math.floor(place * LINES[KIND.unknown])];
}

/** The rows of a model as blocks of the fault table: every CPU fills its own block, a block comes when it is full. */
export function faultBlocks(model: AddressModel): BlockRows {
  const layout = ringLayout("fault");
  const rowsOf: number[][] = Array.from({ length: CPUS }, () => []);
  const closed: { cpu: number; rows: number[] }[] = [];
  for (let i = 0; i < model.rows; i++) {
    const cpu = model.cpu[i] ?? 0;
    const open = rowsOf[cpu] ?? [];
    open.push(i);
    if (open.length === BLOCK_ROWS) {
      closed.push({ cpu, rows: open });
      rowsOf[cpu] = [];
    }
  }
  for (const [cpu, rows] of rowsOf.entries()) if (rows.length > 0) closed.push({ cpu, rows });
  const arena = new Uint8Array(closed.length * layout.blockBytes);
  for (const [index, block] of closed.entries()) {
    const at = index * layout.blockBytes;
    for (const column of layout.columns) {
      const from = model[column.name as "address"] as BigUint64Array | Uint32Array;
      const words = column.width / 4;
      const source = new Uint32Array(from.buffer);
      const to = new Uint32Array(arena.buffer, at + column.offset, BLOCK_ROWS * words);
      for (const [row, i] of block.rows.entries()) {
        for (let word = 0; word < words; word++) to[row * words + word] = source[i * words + word] ?? 0;
      }
    }
  }
  return {
    bytes: arena,
    pieces: closed.length,
    begin_bytes: closed.map((_, i) => i * layout.blockBytes),
    cpu: closed.map(({ cpu }) => cpu),
    from: closed.map(() => 0),
    to: closed.map(({ rows }) => rows.length),
  };
}
