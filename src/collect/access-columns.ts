/** Access rows as they are read: columns of a fixed length that are handed over when they are full, then used again. */
import type { Batch } from "../columnar/batch.ts";
import { wordsOf } from "../schema/row.ts";

const EVIDENCE = wordsOf("access", "op_evidence");
const OPS = wordsOf("access", "op_type");
const SOURCES = wordsOf("access", "source");

/** Rows that are handed over at once. */
export const ROWS = 1 << 15;

/** A 64-bit column and the same memory as pairs of 32-bit words, low word first. */
interface Wide {
  readonly data: BigUint64Array;
  readonly words: Uint32Array;
}

function wide(rows: number): Wide {
  const data = new BigUint64Array(rows);
  return { data, words: new Uint32Array(data.buffer) };
}

export interface AccessColumns {
  readonly capacity: number;
  rows: number;
  readonly timestamp: Wide;
  readonly address: Wide;
  readonly ip: Wide;
  readonly period: Wide;
  readonly dataSrc: Wide;
  readonly hasDataSrc: Uint8Array;
  readonly pid: Uint32Array;
  readonly tid: Uint32Array;
  readonly cpu: Uint16Array;
  /** Positions in OPS, SOURCES and EVIDENCE. */
  readonly op: Uint32Array;
  readonly source: Uint32Array;
  readonly evidence: Uint32Array;
  readonly inKernel: Uint8Array;
  readonly weight: Uint32Array;
  readonly hasWeight: Uint8Array;
  /** Watch of the row, and whether it has one; neither is looked at while `watched` is false. */
  readonly watch: Uint32Array;
  readonly hasWatch: Uint8Array;
  watched: boolean;
}

export function accessColumns(capacity = ROWS): AccessColumns {
  return {
    capacity,
    rows: 0,
    timestamp: wide(capacity),
    address: wide(capacity),
    ip: wide(capacity),
    period: wide(capacity),
    dataSrc: wide(capacity),
    hasDataSrc: new Uint8Array(capacity),
    pid: new Uint32Array(capacity),
    tid: new Uint32Array(capacity),
    cpu: new Uint16Array(capacity),
    op: new Uint32Array(capacity),
    source: new Uint32Array(capacity),
    evidence: new Uint32Array(capacity),
    inKernel: new Uint8Array(capacity),
    weight: new Uint32Array(capacity),
    hasWeight: new Uint8Array(capacity),
    watch: new Uint32Array(capacity),
    hasWatch: new Uint8Array(capacity),
    watched: false,
  };
}

/** The rows so far as a batch over the same memory: it must be copied before the next row comes. */
export function accessBatch(from: AccessColumns): Batch<"access"> {
  const { rows } = from;
  const watch_id = { data: from.watch.subarray(0, rows), valid: from.hasWatch.subarray(0, rows) };
  return {
    table: "access",
    rows,
    columns: {
      timestamp_ns: { data: from.timestamp.data.subarray(0, rows) },
      address: { data: from.address.data.subarray(0, rows) },
      op_type: { codes: from.op.subarray(0, rows), values: OPS },
      ip: { data: from.ip.data.subarray(0, rows) },
      pid: { data: from.pid.subarray(0, rows) },
      tid: { data: from.tid.subarray(0, rows) },
      cpu: { data: from.cpu.subarray(0, rows) },
      source: { codes: from.source.subarray(0, rows), values: SOURCES },
      period: { data: from.period.data.subarray(0, rows) },
      ...(from.watched ? { watch_id } : {}),
      in_kernel: { data: from.inKernel.subarray(0, rows) },
      op_evidence: { codes: from.evidence.subarray(0, rows), values: EVIDENCE },
      data_src: { data: from.dataSrc.data.subarray(0, rows), valid: from.hasDataSrc.subarray(0, rows) },
      weight_cycles: { data: from.weight.subarray(0, rows), valid: from.hasWeight.subarray(0, rows) },
    },
  };
}
