/** Rows of the kernel program's ring become access rows, column by column. */

import type { Batch, NumberColumn } from "../../../columnar/batch.ts";
import { codesOf, type EveryColumn, wordsOf } from "../../../schema/row.ts";
import type { SampleEvent, SampleSource } from "./sample-event.ts";

const OPS = wordsOf("access", "op_type");
const OP = codesOf("access", "op_type");
const EVIDENCE = wordsOf("access", "op_evidence");
const { data_src: BY_DATA_SRC, event: BY_EVENT } = codesOf("access", "op_evidence");
/** Bits of the data source word (src/collect/data-src.ts). */
const OP_LOAD = 2;
const OP_STORE = 4;

/** The 32-bit words of a column, low word first. */
function halvesOf(column: NumberColumn["data"]): Uint32Array {
  return new Uint32Array(column.buffer, column.byteOffset, column.byteLength / 4);
}

function numbers(batch: Batch<"sample">, name: string): NumberColumn["data"] {
  const column = batch.columns[name];
  if (column === undefined || "codes" in column) throw new TypeError(`sample rows have no numbers ${name}`);
  return column.data;
}

/** What the op bits say, else what the event counts. */
function opCode(bits: number, event: SampleEvent | undefined): number {
  const both = bits & (OP_LOAD | OP_STORE);
  if (both === (OP_LOAD | OP_STORE)) return OP.load_store;
  if (both === OP_LOAD) return OP.load;
  if (both === OP_STORE) return OP.store;
  return event?.op === "load" ? OP.load : event?.op === "store" ? OP.store : OP.unknown;
}

const PAGE_SHIFT = 12;

export interface Sample {
  readonly pid: number;
  /** Number of the 4 KiB page of its address. */
  readonly page: number;
  /** The data source word. */
  readonly sourceLow: number;
  readonly sourceHigh: number;
}

/** Each row's process, page and data source; read it before `accessesOf`, which may change what they share. */
export function forEachSample(batch: Batch<"sample">, take: (sample: Sample) => void): void {
  const address = halvesOf(numbers(batch, "address"));
  const source = halvesOf(numbers(batch, "data_src"));
  const pids = numbers(batch, "pid") as Uint32Array;
  for (let i = 0; i < batch.rows; i++) {
    take({
      pid: pids[i] ?? 0,
      page: (address[2 * i + 1] ?? 0) * 2 ** (32 - PAGE_SHIFT) + ((address[2 * i] ?? 0) >>> PAGE_SHIFT),
      sourceLow: source[2 * i] ?? 0,
      sourceHigh: source[2 * i + 1] ?? 0,
    });
  }
}

/**
 * @param events by their number in the ring's column `event`
 * @returns a batch of `access` with as many rows; its columns may share memory with those given
 */
export function accessesOf(
  batch: Batch<"sample">,
  events: readonly SampleEvent[],
  source: SampleSource,
): Batch<"access"> {
  const { rows } = batch;
  const eventOf = numbers(batch, "event") as Uint32Array;
  const dataSource = halvesOf(numbers(batch, "data_src"));
  const weight = halvesOf(numbers(batch, "weight"));
  const ip = halvesOf(numbers(batch, "ip"));
  const period = halvesOf(numbers(batch, "period"));
  const op = new Uint32Array(rows);
  const evidence = new Uint32Array(rows);
  const inKernel = new Uint8Array(rows);
  const hasSource = new Uint8Array(rows);
  const cycles = new Uint32Array(rows);
  const hasCycles = new Uint8Array(rows);
  for (let i = 0; i < rows; i++) {
    const event = events[eventOf[i] ?? 0];
    const bits = dataSource[2 * i] ?? 0;
    op[i] = opCode(bits, event);
    evidence[i] = (bits & (OP_LOAD | OP_STORE)) !== 0 ? BY_DATA_SRC : BY_EVENT;
    hasSource[i] = bits !== 0 || dataSource[2 * i + 1] !== 0 ? 1 : 0;
    inKernel[i] = (ip[2 * i + 1] ?? 0) >>> 31;
    // A latency of 0 says that the sample has none.
    const latency = event?.latency === true ? (weight[2 * i] ?? 0) : 0;
    cycles[i] = latency;
    hasCycles[i] = latency > 0 ? 1 : 0;
    if (event?.counts === false) {
      period[2 * i] = 0;
      period[2 * i + 1] = 0;
    }
  }
  const same = (name: string): NumberColumn => ({ data: numbers(batch, name) });
  return {
    table: "access",
    rows,
    columns: {
      timestamp_ns: same("timestamp_ns"),
      address: same("address"),
      op_type: { codes: op, values: OPS },
      ip: same("ip"),
      pid: same("pid"),
      tid: same("tid"),
      cpu: same("cpu"),
      source: { codes: new Uint32Array(rows), values: [source] },
      period: same("period"),
      in_kernel: { data: inKernel },
      op_evidence: { codes: evidence, values: EVIDENCE },
      data_src: { data: numbers(batch, "data_src"), valid: hasSource },
      weight_cycles: { data: cycles, valid: hasCycles },
    } satisfies EveryColumn<"access", "watch_id">,
  };
}
