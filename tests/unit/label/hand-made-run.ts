/** A run small enough to know every label by hand; times in ms after an origin, written as segments of capture/. */
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeParquetFile } from "../../../src/columnar/write/parquet-writer.ts";
import { segmentName } from "../../../src/run-directory/segment-files.ts";
import type { StreamName } from "../../../src/schema/columns.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import { batchWith, type Given } from "../../fixtures/row-with.ts";

export const ORIGIN = 5_000_000_000_000n;
const at = (ms: number): bigint => ORIGIN + BigInt(Math.round(ms * 1e6));
const PID = 77;
const ids = { pid: PID, tid: PID };
const MODEL = 0x7f0000000000n;
const KV = 0x7f1000000000n;
const HEAP = 0x7f2000000000n;

export function writeStream<S extends StreamName>(
  runDir: string,
  stream: S,
  rows: readonly Given<S>[],
  sequence = 0,
): string {
  const folder = join(runDir, "capture", stream);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, segmentName(ORIGIN, sequence));
  writeParquetFile(path, stream, [batchWith(stream, rows)]);
  return path;
}

function mmap(addr: bigint, size_bytes: bigint, more: Given<"mapping">): Given<"mapping"> {
  return { ...ids, timestamp_ns: at(0), exec_epoch: 0, kind: "mmap", addr, result: addr, size_bytes, prot: 3, ...more };
}

function access(
  ms: number,
  address: bigint,
  op_type: RowOf<"access">["op_type"],
  more: Given<"access"> = {},
): Given<"access"> {
  const row: Given<"access"> = {
    ...ids,
    timestamp_ns: at(ms),
    address,
    op_type,
    ip: 0x10n,
    cpu: 0,
    source: "pebs",
    period: 10n,
  };
  return { ...row, in_kernel: false, op_evidence: "none", ...more };
}

/** A model file with one weight, a K cache of four rows of 64 B, a heap; a load, a prefill of two tokens, two decodes. */
export function writeHandMadeRun(): string {
  const runDir = mkdtempSync(join(tmpdir(), "mrm-run-"));
  writeStream(runDir, "mapping", [
    mmap(MODEL, 8192n, { flags: 1, path: "/m.gguf", inode: 3n, dev: 1, file_offset_bytes: 0n }),
    mmap(KV, 4096n, { flags: 0x22 }),
    mmap(HEAP, 4096n, { flags: 0x22 }),
  ]);
  const placed: Given<"tensor"> = {
    ...ids,
    timestamp_ns: at(1),
    kind: "tensor",
    evidence: "engine_probe",
    tensor_type: "f16",
  };
  const inBuffer = (addr: bigint, size: bigint) => ({ buffer: addr, buffer_addr: addr, buffer_size_bytes: size });
  writeStream(runDir, "tensor", [
    { ...placed, ...inBuffer(MODEL, 8192n), kind: "buffer", addr: MODEL, size_bytes: 8192n },
    { ...placed, ...inBuffer(MODEL, 8192n), name: "w", addr: MODEL + 4096n, size_bytes: 4096n, region_type: "weight" },
    { ...placed, ...inBuffer(KV, 256n), kind: "buffer", addr: KV, size_bytes: 256n },
    {
      ...placed,
      ...inBuffer(KV, 256n),
      name: "cache_k_l0",
      addr: KV,
      size_bytes: 256n,
      shape: "32x4x1x1",
      region_type: "kv_cache",
      layer: 0,
    },
  ]);
  const step = (kind: RowOf<"step">["kind"], from: number, to: number, more: Given<"step"> = {}): Given<"step"> => ({
    ...ids,
    kind,
    timestamp_ns: at(from),
    end_ns: at(to),
    result: 0n,
    ...more,
  });
  writeStream(runDir, "step", [
    step("model_load", 0.5, 10),
    step("context", 10, 12),
    step("decode", 20, 30, { n_tokens: 2, n_sequences: 1, position_first: 0 }),
    step("decode", 40, 50, { n_tokens: 1, n_sequences: 1, position_first: 2 }),
    step("decode", 60, 70, { n_tokens: 1, n_sequences: 1, position_first: 3 }),
    step("kv_clear", 80, 80),
  ]);
  writeStream(runDir, "access", [
    access(5, MODEL + 4096n, "store"),
    access(45, MODEL + 4100n, "load"),
    access(25, KV + 64n, "store"),
    access(65, HEAP + 8n, "load"),
    access(35, 0x1000n, "load"),
    access(90, MODEL, "load"),
    access(40.5, KV, "load", { source: "watch", period: 1n, watch_id: 1 }),
    access(25, KV, "store", { source: "watch", period: 1n, watch_id: 1 }),
    access(60.5, KV, "load", { source: "watch", period: 1n, watch_id: 1 }),
  ]);
  writeStream(runDir, "watch", [
    {
      timestamp_ns: at(15),
      end_ns: at(75),
      watch_id: 1,
      pid: PID,
      addr: KV,
      size_bytes: 8,
      mode: "rw",
      design: "short",
      stratum: "kv_cache/k",
      region_type: "kv_cache",
      stratum_bytes: 256n,
      inclusion_probability: 0.03125,
      draw_weight: 1,
      trap_limit: 8,
      dwell_limit_ns: 60_000_000n,
      n_hits: 3,
      n_foreign: 0,
      n_kernel: 0,
      ended_by: "dwell",
      n_registers: 2,
    },
  ]);
  return runDir;
}
