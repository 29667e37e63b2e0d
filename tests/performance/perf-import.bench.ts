/** perf.data to a labelled trace: ours beside `perf script` and the Python package, on the same file, in the same run. */
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { perfDataImporter } from "../../src/collect/perf-mem/import-data.ts";
import type { Batch } from "../../src/columnar/batch.ts";
import { openEncoder } from "../../src/columnar/segments/encoder.ts";
import { openSegmentWriter, type SegmentWriter } from "../../src/columnar/segments/segment-writer.ts";
import type { StreamName } from "../../src/schema/columns.ts";
import { type EventSpec, MEM_LOADS, perfData, recordWriter } from "../fixtures/perf-data.ts";
import { pythonPackage } from "../fixtures/python-package.ts";
import { aside, atLeast, atMost, type BenchOptions, type BenchRow } from "./bench-row.ts";

const SELF = import.meta.path;
const PYTHON = new URL("perf_script_to_parquet.py", import.meta.url).pathname;
/** Enough that what does not depend on the number of samples, half a second, hides no rate; it is told apart. */
const SAMPLES = 16_000_000;
const QUICK_SAMPLES = 20_000;
const FEW_SAMPLES = 1000;
/** 5 GB of samples of 88 bytes. */
const MANY_SAMPLES = 57_000_000;
const CHUNK = 20_000;
const TARGET_PER_S = 2e6;
const TARGET_TIMES = 25;
const TARGET_SHARE = 1 / 3;
const TARGET_RSS_BYTES = 300e6;
const FIRST_ADDRESS = 0x7f00_0000_0000;
const AREA_BYTES = 2 ** 28;

/** Stores stand for a number of accesses, loads above a latency do not: only of the former are there sums to make. */
const MEM_STORES: EventSpec = { ...MEM_LOADS, name: "cpu/mem-stores/P", config: 0x82d0n };

/** A perf.data of `samples` samples on random lines of 256 MiB, from 4096 instructions. */
async function writePerfData(path: string, samples: number, event: EventSpec): Promise<void> {
  const write = recordWriter();
  const one = write.sample(event, { pid: 100, dataSrc: event === MEM_LOADS ? 0x68100142n : 0x5080024n });
  const head = await perfData({
    mode: "pipe",
    events: [event],
    records: [
      write.comm(event, 100, "python3", 5n, true),
      write.mmap2(event, {
        pid: 100,
        addr: BigInt(FIRST_ADDRESS),
        size: BigInt(AREA_BYTES),
        prot: 3,
        path: "//anon",
        time: 6n,
      }),
      write.mmap2(event, {
        pid: 100,
        addr: 0x400000n,
        size: 0x100000n,
        inode: 5n,
        prot: 5,
        path: "/usr/bin/python3",
        time: 7n,
      }),
    ],
  });
  const chunk = new Uint8Array(one.length * CHUNK);
  for (let i = 0; i < CHUNK; i++) chunk.set(one, i * one.length);
  const view = new DataView(chunk.buffer);
  const fd = openSync(path, "w", 0o600);
  try {
    writeSync(fd, head);
    let random = 1;
    for (let done = 0; done < samples; done += CHUNK) {
      const rows = Math.min(CHUNK, samples - done);
      for (let i = 0; i < rows; i++) {
        random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
        const at = i * one.length;
        view.setBigUint64(at + 16, BigInt(0x400000 + (random >>> 20) * 4), true);
        view.setBigUint64(at + 32, BigInt(1e9 + (done + i) * 700), true);
        view.setBigUint64(at + 40, BigInt(FIRST_ADDRESS + ((random >>> 4) % AREA_BYTES)), true);
        view.setUint32(at + 48, (random >>> 5) & 7, true);
        view.setBigUint64(at + 64, BigInt(7 + (random & 255)), true);
      }
      writeSync(fd, chunk, 0, rows * one.length);
    }
  } finally {
    closeSync(fd);
  }
}

interface Used {
  readonly cpu_s: number;
  readonly peak_rss_bytes: number;
}

/** CPU time and memory of a command and of all that it starts and waits for. */
async function use(command: readonly string[], stdout: string | null = null): Promise<Used> {
  const child = Bun.spawn([...command], { stdout: stdout === null ? "ignore" : Bun.file(stdout), stderr: "pipe" });
  const errors = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 3).join(" ")} failed: ${errors}`);
  const used = child.resourceUsage();
  if (used === undefined) throw new Error("the use of a process that has ended is not known");
  return { cpu_s: Number(used.cpuTime.total) / 1e6, peak_rss_bytes: used.maxRSS };
}

function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Reads a file into capture/ of a folder, as an import does. */
async function captureHere(path: string, folder: string): Promise<void> {
  await using encoder = openEncoder();
  const writers = new Map<string, SegmentWriter>();
  const onBatch = (batch: Batch): void => {
    const table = batch.table as StreamName;
    const known = writers.get(table);
    const writer = known ?? openSegmentWriter({ encoder, dir: join(folder, "capture", table), table });
    writers.set(table, writer);
    writer.append(batch);
  };
  await perfDataImporter.read(path, {
    onBatch,
    async ready() {
      while (encoder.queuedBytes > 0) await Bun.sleep(1);
    },
  });
  for (const writer of writers.values()) await writer.close();
}

async function labelHere(folder: string): Promise<void> {
  const { openDatabase } = await import("../../src/sql/database.ts");
  const { labelRun } = await import("../../src/label/label-run.ts");
  await using database = await openDatabase({ spillFolder: join(folder, ".spill.unfinished") });
  await labelRun(database, folder, "bench");
}

/** Everything that `mrm-trace import` does, metrics included. */
async function importHere(path: string, folder: string): Promise<void> {
  const { importFile } = await import("../../src/pipelines/import.ts");
  await importFile({
    file: path,
    output: folder,
    run_id: "bench",
    force: true,
    record_command: "masked",
    signal: new AbortController().signal,
  });
}

/** All on one CPU, so that CPU time is what one core needs; takes about six minutes, and 6 GB of disk unless quick. */
export async function benchPerfImport({ quick }: BenchOptions): Promise<BenchRow[]> {
  const found = await pythonPackage();
  if (!found.ok) throw new Error(`the Python package cannot be had: ${found.reason}`);
  const folder = mkdtempSync(join(tmpdir(), "mrm-perf-bench-"));
  const samples = quick ? QUICK_SAMPLES : SAMPLES;
  const [path, text, run] = [join(folder, "perf.data"), join(folder, "script.txt"), join(folder, "run")];
  const pinned = ["taskset", "-c", "0"];
  try {
    await writePerfData(path, samples, MEM_LOADS);
    const own = async (part: string): Promise<Used> => await use([...pinned, process.execPath, SELF, part, path, run]);
    const first = await own("trace");
    const fields = "comm,pid,time,event,addr,weight,data_src";
    const printed = await use([...pinned, "perf", "script", "-i", path, "-F", fields], text);
    const parsed = await use([...pinned, found.python, PYTHON, text, join(folder, "theirs.parquet")]);
    const again = await own("trace");
    const captured = await own("capture");
    const labelled = await own("label");
    const ours = Math.min(first.cpu_s, again.cpu_s);
    const theirs = printed.cpu_s + parsed.cpu_s;
    const perf = statSync(path).size / samples;
    const rows = [
      atLeast("perf.data to a labelled trace, samples per CPU second", samples / ours, "/s", TARGET_PER_S),
      atLeast(
        "perf script and the Python package over ours, the same file",
        theirs / ours,
        "times",
        TARGET_TIMES,
        `${theirs.toFixed(1)} s over ${ours.toFixed(1)} s of CPU`,
      ),
      atMost(
        "bytes of the labelled trace over perf.data",
        bytesBelow(join(run, "trace")) / samples / perf,
        "",
        TARGET_SHARE,
      ),
      atMost("bytes of capture over perf.data", bytesBelow(join(run, "capture")) / samples / perf, "", TARGET_SHARE),
      aside("reading and writing capture alone", captured.cpu_s, "s"),
      aside("labelling alone", labelled.cpu_s, "s"),
      aside("perf script", printed.cpu_s, "s"),
      aside("the Python package: parse, normalise, label, write", parsed.cpu_s, "s"),
      aside("peak memory of both in one process", first.peak_rss_bytes / 2 ** 20, "MiB"),
    ];
    // What does not depend on the number of samples: starting, compiling, opening.
    await writePerfData(path, FEW_SAMPLES, MEM_LOADS);
    const few = await own("trace");
    rows.push(aside(`of it with ${FEW_SAMPLES} samples`, few.cpu_s, "s"));
    if (quick) return rows;
    rmSync(run, { recursive: true, force: true });
    await writePerfData(path, MANY_SAMPLES, MEM_STORES);
    const many = await use([process.execPath, SELF, "import", path, run]);
    const note = `${(statSync(path).size / 1e9).toFixed(1)} GB, ${(MANY_SAMPLES / many.cpu_s / 1e6).toFixed(2)} M samples per CPU second`;
    return [
      ...rows,
      atMost("peak memory of importing 5 GB, metrics included", many.peak_rss_bytes, "bytes", TARGET_RSS_BYTES, note),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [part, path = "", folder = ""] = process.argv.slice(2);
  if (part !== "label") rmSync(folder, { recursive: true, force: true });
  if (part === "import") await importHere(path, folder);
  if (part === "capture" || part === "trace") await captureHere(path, folder);
  if (part === "label" || part === "trace") await labelHere(folder);
  process.exit(0);
}
