/** Ring blocks to zstd Parquet on disk, on the address model: rows per second of one core, bytes per row, memory. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Batch } from "../../src/columnar/batch.ts";
import { type BlockRows, blockReader } from "../../src/columnar/blocks.ts";
import { openEncoder } from "../../src/columnar/segments/encoder.ts";
import { openSegmentWriter } from "../../src/columnar/segments/segment-writer.ts";
import type { writeParquetFile } from "../../src/columnar/write/parquet-writer.ts";
import { type AddressModel, addressModel, faultBlocks } from "./address-model.ts";

/** One figure and what it is held against. */
export interface BenchRow {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly target: number;
  /** How many times better than the target: above 1 is reached. */
  readonly ratio: number;
}

const MODEL_ROWS = 1 << 20;
const SEGMENT_BLOCKS = 1024;
const ROUNDS = 5;
const SEED = 20240117;
const TARGET_ROWS_PER_S = 2e6;
const TARGET_BYTES_PER_ROW = 12;
const TARGET_RSS_BYTES = 200 * 2 ** 20;
const STREAM_SECONDS = 6;
const STREAM_ROWS_PER_S = 5e6;
const POLL_MS = 5;

/** Measures all figures; needs about 15 s, a few MB of temporary disk and an otherwise idle machine. */
export async function benchColumnar(): Promise<BenchRow[]> {
  const dir = mkdtempSync(join(tmpdir(), "mrm-bench-"));
  try {
    const streamed = await streamThroughWorker(join(dir, "stream"));
    // Only now: a tracer's main thread does not hold the encoder, so the memory above must not include it.
    const { writeParquetFile: write } = await import("../../src/columnar/write/parquet-writer.ts");
    const model = addressModel(MODEL_ROWS, SEED);
    const ring = faultBlocks(model);
    const blocks = oneCore(() => faultSegments(ring, dir, write));
    const access = oneCore(() => [{ rows: model.rows, bytes: write(join(dir, "a"), "access", [accessBatch(model)]) }]);
    return [
      more("fault ring blocks to Parquet on disk, one core", blocks.rowsPerCpuSecond, "rows/s", TARGET_ROWS_PER_S),
      less("fault rows on disk", blocks.bytesPerRow, "B/row", TARGET_BYTES_PER_ROW),
      more("access columns to Parquet on disk, one core", access.rowsPerCpuSecond, "rows/s", TARGET_ROWS_PER_S),
      less("access rows on disk", access.bytesPerRow, "B/row", TARGET_BYTES_PER_ROW),
      more("rows kept by the segment writer while polling", streamed.rowsPerSecond, "rows/s", TARGET_ROWS_PER_S),
      less("peak RSS while it did", streamed.peakRssBytes, "B", TARGET_RSS_BYTES),
    ];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function more(what: string, value: number, unit: string, target: number): BenchRow {
  return { what, value, unit, target, ratio: value / target };
}

function less(what: string, value: number, unit: string, target: number): BenchRow {
  return { what, value, unit, target, ratio: target / value };
}

interface Written {
  readonly rows: number;
  readonly bytes: number;
}

/** The median round, by CPU time of all threads of this process, so that help from a second core is not free. */
function oneCore(round: () => Written[]): { rowsPerCpuSecond: number; bytesPerRow: number } {
  const rates: number[] = [];
  let bytesPerRow = 0;
  for (let i = 0; i < ROUNDS; i++) {
    const before = process.cpuUsage();
    const files = round();
    const spent = process.cpuUsage(before);
    const rows = files.reduce((sum, file) => sum + file.rows, 0);
    bytesPerRow = files.reduce((sum, file) => sum + file.bytes, 0) / rows;
    rates.push((rows * 1e6) / (spent.user + spent.system));
  }
  rates.sort((a, b) => a - b);
  return { rowsPerCpuSecond: rates[ROUNDS >> 1] ?? 0, bytesPerRow };
}

/** Some blocks as a batch. */
function slice(of: BlockRows, begin: number, end: number): Batch {
  const cut = (numbers: ArrayLike<number>): number[] => Array.prototype.slice.call(numbers, begin, end);
  const [begin_bytes, cpu, from, to] = [cut(of.begin_bytes), cut(of.cpu), cut(of.from), cut(of.to)];
  return blockReader("fault")({ bytes: of.bytes, pieces: cpu.length, begin_bytes, cpu, from, to });
}

function faultSegments(blocks: BlockRows, dir: string, write: typeof writeParquetFile): Written[] {
  const files: Written[] = [];
  for (let from = 0; from < blocks.pieces; from += SEGMENT_BLOCKS) {
    const batch = slice(blocks, from, Math.min(blocks.pieces, from + SEGMENT_BLOCKS));
    files.push({ rows: batch.rows, bytes: write(join(dir, "f"), "fault", [batch]) });
  }
  return files;
}

/** The model as sampled accesses, every column filled. */
export function accessBatch(model: AddressModel): Batch<"access"> {
  const { rows } = model;
  const constant = (value: string) => ({ codes: new Uint32Array(rows), values: [value] });
  return {
    table: "access",
    rows,
    columns: {
      timestamp_ns: { data: model.timestamp_ns },
      address: { data: model.address },
      op_type: { codes: Uint32Array.from(model.op), values: ["load", "store"] },
      ip: { data: model.ip },
      pid: { data: model.pid },
      tid: { data: model.tid },
      cpu: { data: model.cpu },
      source: constant("pebs"),
      period: { data: new BigUint64Array(rows).fill(1n) },
      watch_id: { data: Uint32Array.from(model.kind) },
      in_kernel: { data: new Uint8Array(rows) },
      op_evidence: constant("decoded"),
      data_src: { data: BigUint64Array.from(model.op, (op) => (op === 0 ? 0x1a05080144n : 0x1a05080184n)) },
      weight_cycles: { data: model.weight_cycles },
    },
  };
}

/** A poll loop that is offered 5 M rows/s: what it keeps, and what that costs in memory. */
async function streamThroughWorker(dir: string): Promise<{ rowsPerSecond: number; peakRssBytes: number }> {
  const ring = faultBlocks(addressModel(1 << 17, SEED));
  const rowsPerBlock = (1 << 17) / ring.pieces;
  await using encoder = openEncoder();
  const writer = openSegmentWriter({ encoder, dir, table: "fault" });
  const begin = performance.now();
  let sent = 0;
  let peakRssBytes = 0;
  for (let now = begin; now < begin + STREAM_SECONDS * 1e3; now = performance.now()) {
    const due = Math.floor(((now - begin) * STREAM_ROWS_PER_S) / 1e3 / rowsPerBlock);
    const at = sent % ring.pieces;
    const to = Math.min(ring.pieces, at + due - sent);
    if (to > at) writer.append(slice(ring, at, to));
    sent += to - at;
    peakRssBytes = Math.max(peakRssBytes, process.memoryUsage.rss());
    await Bun.sleep(POLL_MS);
  }
  const [account] = await writer.close();
  return { rowsPerSecond: (account?.kept ?? 0) / ((performance.now() - begin) / 1e3), peakRssBytes };
}

if (import.meta.main) {
  for (const row of await benchColumnar()) {
    const figure = row.value.toLocaleString("en", { maximumFractionDigits: 2 });
    process.stdout.write(`${row.what}: ${figure} ${row.unit} (${row.ratio.toFixed(2)} x the target)\n`);
  }
}
