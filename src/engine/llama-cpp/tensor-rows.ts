/** Rows of the tensor table, of a buffer and of what is placed in one. */

import { layoutColumns, UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { WordOf } from "../../schema/row.ts";
import type { TensorUsage } from "../../schema/words.ts";
import type { EngineRow, LiveTensor } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import type { CacheRole } from "./cache-role.ts";
import { classOfBuffer, type TensorClass } from "./classify.ts";

/** A buffer in the memory of the process. */
export interface PlacedBuffer {
  readonly handle: bigint;
  readonly addr: bigint;
  readonly sizeBytes: number;
  readonly usage: TensorUsage;
}

/** Where a tensor was told of. */
export interface From {
  readonly time: bigint;
  readonly tid: number;
  readonly graph: boolean;
  readonly role?: CacheRole | undefined;
}

type Row = EngineRow<"tensor">;
export type ClassedTensor = Omit<LiveTensor, "region_type"> & TensorClass;

/** @param kind what became of it */
export function bufferRow(
  pid: number,
  kind: WordOf<"tensor", "kind">,
  buffer: PlacedBuffer,
  time: bigint,
  tid: number,
): Row {
  return {
    timestamp_ns: time,
    pid,
    tid,
    kind,
    name: null,
    tensor_type: null,
    addr: buffer.addr,
    size_bytes: BigInt(buffer.sizeBytes),
    shape: null,
    buffer: buffer.handle,
    buffer_addr: buffer.addr,
    buffer_size_bytes: BigInt(buffer.sizeBytes),
    usage: buffer.usage,
    region_type: classOfBuffer(buffer.usage),
    layer: null,
    logical_id: null,
    ...layoutColumns(null),
    evidence: "engine_probe",
  };
}

/** @param from where it was told of */
export function tensorRow(
  pid: number,
  kind: WordOf<"tensor", "kind">,
  buffer: PlacedBuffer,
  tensor: ClassedTensor,
  from: From,
): Row {
  const { name, tensor_type, addr, size_bytes, ne, region_type, layer, logical_id, kv_layout } = tensor;
  return {
    timestamp_ns: from.time,
    pid,
    tid: from.tid,
    kind,
    name,
    tensor_type,
    addr,
    size_bytes: BigInt(size_bytes),
    shape: ne.join("x"),
    buffer: buffer.handle,
    buffer_addr: buffer.addr,
    buffer_size_bytes: BigInt(buffer.sizeBytes),
    usage: buffer.usage,
    ...{ region_type, layer, logical_id },
    ...layoutColumns(kv_layout),
    evidence: from.graph ? "engine_graph" : "engine_probe",
  };
}

/** @param handle of a buffer of another backend: where a row of a cache lies in its memory is not known */
export function elsewhereRow(pid: number, handle: bigint, tensor: ClassedTensor, from: From): Row {
  const { kv_layout } = tensor;
  const placeless = kv_layout === null || kv_layout.form === "state" ? kv_layout : UNKNOWN_LAYOUT;
  const nowhere = { handle, addr: 0n, sizeBytes: 0, usage: "any" } as const;
  const row = tensorRow(pid, "elsewhere", nowhere, { ...tensor, kv_layout: placeless }, from);
  return { ...row, buffer_addr: null, buffer_size_bytes: null, usage: null };
}

/** @param record of the end of a buffer of another backend */
export function goneElsewhere(
  pid: number,
  { args, timestamp_ns, tid }: Pick<RawRecord, "args" | "timestamp_ns" | "tid">,
): Row {
  const row = bufferRow(pid, "free", { handle: args[0], addr: 0n, sizeBytes: 0, usage: "any" }, timestamp_ns, tid);
  return { ...row, buffer_addr: null, buffer_size_bytes: null, usage: null };
}
