/** Page faults as they are read, in the same way as access rows. */
import type { Batch } from "../../../columnar/batch.ts";
import { ROWS } from "../../access-columns.ts";

export interface FaultColumns {
  readonly capacity: number;
  rows: number;
  readonly timestamp: BigUint64Array;
  readonly address: BigUint64Array;
  readonly ip: BigUint64Array;
  /** The three above as pairs of 32-bit words, low word first. */
  readonly words: readonly [timestamp: Uint32Array, address: Uint32Array, ip: Uint32Array];
  readonly pid: Uint32Array;
  readonly tid: Uint32Array;
  readonly flags: Uint32Array;
  readonly cpu: Uint16Array;
}

export function faultColumns(capacity = ROWS): FaultColumns {
  const timestamp = new BigUint64Array(capacity);
  const address = new BigUint64Array(capacity);
  const ip = new BigUint64Array(capacity);
  return {
    capacity,
    rows: 0,
    timestamp,
    address,
    ip,
    words: [new Uint32Array(timestamp.buffer), new Uint32Array(address.buffer), new Uint32Array(ip.buffer)],
    pid: new Uint32Array(capacity),
    tid: new Uint32Array(capacity),
    flags: new Uint32Array(capacity),
    cpu: new Uint16Array(capacity),
  };
}

/** The rows so far as a batch over the same memory: it must be copied before the next row comes. */
export function faultBatch(from: FaultColumns): Batch<"fault"> {
  const { rows } = from;
  return {
    table: "fault",
    rows,
    columns: {
      timestamp_ns: { data: from.timestamp.subarray(0, rows) },
      address: { data: from.address.subarray(0, rows) },
      ip: { data: from.ip.subarray(0, rows) },
      pid: { data: from.pid.subarray(0, rows) },
      tid: { data: from.tid.subarray(0, rows) },
      fault_flags: { data: from.flags.subarray(0, rows) },
      cpu: { data: from.cpu.subarray(0, rows) },
    },
  };
}
