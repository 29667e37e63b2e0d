/** A run directory of the address model: accesses of a PMU, with the mappings, tensors and steps that fit them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Batch, StringColumn } from "../../src/columnar/batch.ts";
import { writeParquetFile } from "../../src/columnar/write/parquet-writer.ts";
import { segmentName } from "../../src/run-directory/segment-files.ts";
import type { StreamName } from "../../src/schema/columns.ts";
import { batchWith, type Given } from "../fixtures/row-with.ts";
import { type AddressModel, addressModel } from "./address-model.ts";

const SEGMENT_ROWS = 1 << 18;
const AREAS = {
  weight: { addr: 0x7f1000000000n, bytes: 64 << 20, path: "/models/synthetic.gguf" },
  kv_cache: { addr: 0x7f2000000000n, bytes: 16 << 20, path: null },
  activation: { addr: 0x7f3000000000n, bytes: 2 << 20, path: null },
  unknown: { addr: 0x7f4000000000n, bytes: 16 << 20, path: "[heap]" },
} as const;
const PID = 4242;
const LAYERS = 22;
const WEIGHTS_PER_LAYER = 9;
const PREFILL_NS = 1_000_000_000n;
const TOKEN_NS = 20_000_000n;
const SAMPLE_PERIOD = 10_007n;

function write(runDir: string, stream: StreamName, sequence: number, t0: bigint, batch: Batch): void {
  const folder = join(runDir, "capture", stream);
  mkdirSync(folder, { recursive: true });
  writeParquetFile(join(folder, segmentName(t0, sequence)), stream, [batch]);
}

function constant(rows: number, value: string): StringColumn {
  return { codes: new Uint32Array(rows), values: [value] };
}

function accessBatch(model: AddressModel, from: number, to: number): Batch {
  const rows = to - from;
  const dataSource = new BigUint64Array(rows);
  // Hits of L1, L2, L3, the fill buffer and memory, as PERF_MEM_LVLNUM.
  const levels = [1n, 2n, 3n, 12n, 13n].map((level) => level << 33n);
  for (let i = 0; i < rows; i++) dataSource[i] = levels[(model.weight_cycles[from + i] ?? 0) % levels.length] ?? 0n;
  return {
    table: "access",
    rows,
    columns: {
      timestamp_ns: { data: model.timestamp_ns.subarray(from, to) },
      address: { data: model.address.subarray(from, to) },
      op_type: { codes: Uint32Array.from(model.op.subarray(from, to)), values: ["load", "store"] },
      ip: { data: model.ip.subarray(from, to) },
      pid: { data: model.pid.subarray(from, to) },
      tid: { data: model.tid.subarray(from, to) },
      cpu: { data: model.cpu.subarray(from, to) },
      source: constant(rows, "pebs"),
      period: { data: new BigUint64Array(rows).fill(SAMPLE_PERIOD) },
      in_kernel: { data: new Uint8Array(rows) },
      op_evidence: constant(rows, "none"),
      data_src: { data: dataSource },
      weight_cycles: { data: model.weight_cycles.subarray(from, to) },
    },
  };
}

function mappingRows(t0: bigint): Given<"mapping">[] {
  const common = { timestamp_ns: t0, pid: PID, tid: PID, exec_epoch: 1, prot: 3 };
  const rows: Given<"mapping">[] = Object.values(AREAS).map(({ addr, bytes, path }) => ({
    ...common,
    kind: "mmap",
    addr,
    result: addr,
    size_bytes: BigInt(bytes),
    flags: path?.startsWith("/") ? 0x01 : 0x22,
    path,
    ...(path?.startsWith("/") ? { inode: 7n, dev: 8, file_offset_bytes: 0n } : {}),
  }));
  const addr = 0x7f5000000000n;
  const text = { addr, result: addr, size_bytes: 1n << 20n, prot: 5, flags: 0x02, inode: 8n, dev: 8 };
  return [...rows, { ...common, kind: "mmap", ...text, file_offset_bytes: 0n, path: "/usr/lib/libggml-cpu.so" }];
}

function tensorRows(t0: bigint): Given<"tensor">[] {
  const rows: Given<"tensor">[] = [];
  const place = (area: { addr: bigint; bytes: number }, count: number, name: (i: number) => Given<"tensor">) => {
    const size = Math.floor(area.bytes / count / 64) * 64;
    const buffer = { buffer: area.addr, buffer_addr: area.addr, buffer_size_bytes: BigInt(area.bytes) };
    const common = { timestamp_ns: t0, pid: PID, tid: PID, ...buffer, evidence: "engine_probe" as const };
    rows.push({ ...common, kind: "buffer", addr: area.addr, size_bytes: BigInt(area.bytes) });
    for (let i = 0; i < count; i++) {
      const addr = area.addr + BigInt(i * size);
      rows.push({ ...common, kind: "tensor", addr, size_bytes: BigInt(size), tensor_type: "f16", ...name(i) });
    }
  };
  place(AREAS.weight, LAYERS * WEIGHTS_PER_LAYER + 3, (i) => ({
    name: `blk.${Math.floor(i / WEIGHTS_PER_LAYER)}.t${i % WEIGHTS_PER_LAYER}.weight`,
    region_type: "weight",
    usage: "weights",
    layer: Math.floor(i / WEIGHTS_PER_LAYER),
    logical_id: `blk.${Math.floor(i / WEIGHTS_PER_LAYER)}.t${i % WEIGHTS_PER_LAYER}.weight`,
  }));
  place(AREAS.kv_cache, LAYERS * 2, (i) => ({
    name: `cache_${i % 2 === 0 ? "k" : "v"}_l${i >> 1}`,
    region_type: "kv_cache",
    usage: "any",
    shape: "128x1489x1x1",
    layer: i >> 1,
    logical_id: `kv/${i >> 1}/${i % 2 === 0 ? "k" : "v"}`,
  }));
  place(AREAS.activation, 512, (i) => ({ name: `node_${i}`, region_type: "activation", usage: "compute" }));
  return rows;
}

function stepRowsOf(t0: bigint, end: bigint): Given<"step">[] {
  const common = { pid: PID, tid: PID, result: 0n };
  const loaded = t0 + (end - t0) / 10n;
  const rows: Given<"step">[] = [{ ...common, kind: "model_load", timestamp_ns: t0, end_ns: loaded }];
  const batch = (begin: bigint, length: bigint, n_tokens: number, position_first: number) =>
    rows.push({
      ...common,
      kind: "decode",
      timestamp_ns: begin,
      end_ns: begin + length,
      n_tokens,
      n_sequences: 1,
      position_first,
    });
  batch(loaded, PREFILL_NS, 64, 0);
  let position = 64;
  for (let begin = loaded + PREFILL_NS; begin < end; begin += TOKEN_NS)
    batch(begin, TOKEN_NS - 100_000n, 1, position++);
  return rows;
}

/** Writes `rows` accesses below `runDir`/capture, in segments, and what fits them. */
export function writeSyntheticRun(runDir: string, rows: number, seed: number): void {
  const model = addressModel(rows, seed);
  const t0 = model.timestamp_ns[0] ?? 0n;
  const end = model.timestamp_ns[rows - 1] ?? 0n;
  write(runDir, "mapping", 0, t0 - 1n, batchWith("mapping", mappingRows(t0 - 1n)));
  write(runDir, "tensor", 0, t0 - 1n, batchWith("tensor", tensorRows(t0 - 1n)));
  write(runDir, "step", 0, t0, batchWith("step", stepRowsOf(t0, end)));
  for (let from = 0, sequence = 0; from < rows; from += SEGMENT_ROWS, sequence++) {
    const batch = accessBatch(model, from, Math.min(rows, from + SEGMENT_ROWS));
    write(runDir, "access", sequence, model.timestamp_ns[from] ?? 0n, batch);
  }
}
