/** Reading a memray capture, against memray's own FileReader on the same file: records per second, and peak memory. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeLargeCapture } from "../fixtures/large-capture.ts";
import { memrayPython, python } from "../fixtures/memray-environment.ts";
import { aside, atLeast, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";

const ROUNDS = 5;
const TARGET_RATIO = 3;
const TARGET_RSS_BYTES = 300e6;
const VERSION = "1.20.0";
const LARGE_BYTES = 5e9;
const QUICK_LARGE_BYTES = 30e6;
const CLI = new URL("../../src/cli.ts", import.meta.url).pathname;

/** Small objects, born and freed in great number: a few bytes for each record. */
const WORKLOAD = `
import sys
for n in range(int(sys.argv[1])):
    for k in range(14): x = [[i] for i in range(50000)]
    d = {i: [i] for i in range(50000)}; e = {i: (i, i) for i in range(50000)}
`;

/** What a user of the package writes: four fields of every record. */
const THEIRS = `
import sys, time, memray
begin = time.perf_counter()
n = 0
for r in memray.FileReader(sys.argv[1]).get_allocation_records():
    r.allocator; r.address; r.size; r.tid
    n += 1
print(n / (time.perf_counter() - begin))
`;

interface Measured {
  readonly recordsPerSecond: number;
  readonly peakRssBytes: number;
}

/** Runs this file in a process of its own: `decode` into columns, or `pair` into rows of lifetimes. */
async function ours(part: "decode" | "pair", file: string): Promise<Measured> {
  const child = Bun.spawn([process.execPath, import.meta.path, part, file], { stdout: "pipe" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${part} failed`);
  return JSON.parse(text);
}

/** Peak memory of a whole import, from the file to its figures, in a process of its own. */
async function importOf(bytes: number, dir: string): Promise<BenchRow> {
  const file = join(dir, "large.bin");
  const { allocations } = writeLargeCapture(file, bytes);
  const words = ["import", file, "--output", join(dir, "runs"), "--json"];
  const child = Bun.spawn([process.execPath, CLI, ...words], { stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error("the import failed");
  const note = `${allocations} lifetimes`;
  const peak = child.resourceUsage()?.maxRSS ?? Number.NaN;
  return atMost(`peak memory of an import of ${bytes / 1e9} GB`, peak, "bytes", TARGET_RSS_BYTES, note);
}

/** Rounds of their reader and ours, one after the other on one file; quick takes a tenth of the records. */
export async function benchMemray({ quick }: BenchOptions): Promise<BenchRow[]> {
  const dir = mkdtempSync(join(tmpdir(), "mrm-bench-memray-"));
  try {
    const file = join(dir, "capture.bin");
    writeFileSync(join(dir, "workload.py"), WORKLOAD);
    const interpreter = memrayPython(VERSION);
    const run = ["-m", "memray", "run", "-q", "-f", "--trace-python-allocators", "-o", file, "workload.py"];
    await python(interpreter, [...run, quick ? "1" : "3"], dir);
    const rates = { theirs: [] as number[], decode: [] as number[], pair: [] as number[] };
    const ratios: number[] = [];
    const peaks: number[] = [];
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
      const theirs = Number(await python(interpreter, ["-c", THEIRS, file], dir));
      const decode = await ours("decode", file);
      const pair = await ours("pair", file);
      rates.theirs.push(theirs);
      rates.decode.push(decode.recordsPerSecond);
      rates.pair.push(pair.recordsPerSecond);
      ratios.push(decode.recordsPerSecond / theirs);
      peaks.push(decode.peakRssBytes, pair.peakRssBytes);
    }
    return [
      atLeast("memray capture to columns, over memray's FileReader", median(ratios), "1", TARGET_RATIO),
      aside("memray's FileReader, four fields", median(rates.theirs), "records/s"),
      aside("memray capture to columns", median(rates.decode), "records/s"),
      aside("memray capture to lifetimes, stacks and memory", median(rates.pair), "records/s"),
      await importOf(quick ? QUICK_LARGE_BYTES : LARGE_BYTES, dir),
      atMost("peak memory of either", Math.max(...peaks), "bytes", TARGET_RSS_BYTES),
    ];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function decodeOnly(file: string): Promise<number> {
  const { openCapture } = await import("../../src/collect/memray/format/capture-file.ts");
  const { openRecordReader } = await import("../../src/collect/memray/record-reader.ts");
  using capture = openCapture(file);
  const reader = openRecordReader(capture, () => 0);
  let records = 0;
  for (;;) {
    const stop = reader.next();
    for (const chunk of reader.open()) records += chunk.count;
    reader.release();
    reader.stackRows(true);
    if (stop.kind !== "full" && stop.kind !== "memory") return records;
  }
}

async function pairAll(file: string): Promise<number> {
  const { readCapture } = await import("../../src/collect/memray/read-capture.ts");
  const reading = readCapture(file);
  for (const _batch of reading.batches);
  return reading.summary()?.totals.records ?? 0;
}

if (import.meta.main) {
  const [part, file = ""] = process.argv.slice(2);
  const begin = performance.now();
  const records = await (part === "decode" ? decodeOnly(file) : pairAll(file));
  const recordsPerSecond = (records * 1e3) / (performance.now() - begin);
  process.stdout.write(JSON.stringify({ recordsPerSecond, peakRssBytes: process.resourceUsage().maxRSS * 1024 }));
}
