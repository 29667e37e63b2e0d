/** Our analysis beside that of the Python package, on the same trace, in the same run: the work itself, and whole programs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Batch } from "../../src/columnar/batch.ts";
import { writeParquetFile } from "../../src/columnar/write/parquet-writer.ts";
import type { RunReport } from "../../src/schema/run-json.ts";
import { pythonPackage } from "../fixtures/python-package.ts";
import { type AddressModel, addressModel, KIND_NAMES } from "./address-model.ts";
import { aside, atLeast, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";

const PACKAGE = new URL("python_package.py", import.meta.url).pathname;
const ANALYSE = new URL("analyse-trace.ts", import.meta.url).pathname;
const CLI = new URL("../../src/cli.ts", import.meta.url).pathname;
const ROWS = 1e6;
const QUICK_ROWS = 2e4;
const SEED = 20240117;
const REPEATS = 5;
/** What the package needs, over what we need. */
const TARGET_ALL = 90;
const TARGET_WITHOUT_IAI = 15;
/** A tenth of what the package takes for a million rows. */
const TARGET_RSS_BYTES = 208 * 2 ** 20;
const MIB = 2 ** 20;
/** Regions as the package numbers them: weights are one, KV blocks and activation pages one each. */
const FIRST_KV = 2;
const FIRST_ACTIVATION = FIRST_KV + (1 << 16);

interface Theirs {
  readonly seconds: number;
  readonly cpu_s: number;
  readonly iai_s: number;
  readonly iai_cpu_s: number;
  readonly peak_rss_bytes: number;
}

/** One run of the command, as a user starts it: from exec to exit. */
interface Ours {
  readonly seconds: number;
  readonly cpu_s: number;
  readonly peak_rss_bytes: number;
  /** Rows of the metrics that say something. */
  readonly figures: number;
}

/** The model as rows of the package's trace. */
function traceBatch(model: AddressModel): Batch {
  const { rows, kind, op } = model;
  const one = (value: string) => ({ codes: new Uint32Array(rows), values: [value] });
  const words = new Uint32Array(model.address.buffer);
  const region = new Uint32Array(rows);
  for (let i = 0; i < rows; i++) {
    const low = words[2 * i] ?? 0;
    if (kind[i] === 0) region[i] = 1;
    if (kind[i] === 1) region[i] = FIRST_KV + (low >>> 8);
    if (kind[i] === 2) region[i] = FIRST_ACTIVATION + (low >>> 12);
  }
  const loading = Math.floor(rows / 10);
  const cycles = model.weight_cycles;
  return {
    table: "trace",
    rows,
    columns: {
      run_id: one("bench"),
      sample_id: { data: BigUint64Array.from({ length: rows }, (_, i) => BigInt(i)) },
      timestamp_ns: { data: model.timestamp_ns },
      phase: { codes: Uint32Array.from(kind, (_, i) => (i < loading ? 0 : 1)), values: ["weight_load", "generation"] },
      address: { data: model.address },
      address_page: { data: model.address.map((address) => address >> 12n) },
      op_type: { codes: Uint32Array.from(op), values: ["load", "store"] },
      symbol: { codes: Uint32Array.from(kind), values: ["ggml_vec_dot", "llama_kv_cache_update", "ggml_compute", ""] },
      dso: { codes: Uint32Array.from(kind), values: ["libggml-cpu.so", "libllama.so", "libggml-cpu.so", ""] },
      region_type: { codes: Uint32Array.from(kind), values: [...KIND_NAMES] },
      region_id: { data: region },
      access_latency_ns: { data: cycles },
      cache_level: { codes: cycles.map((value) => value % 4), values: ["L1", "L2", "L3", "LFB"] },
      numa_node: { data: new Uint8Array(rows) },
      thread_id: { data: model.pid },
    },
  };
}

/** Runs a command; returns what it printed. */
async function output(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${stderr.trim().slice(-1000)}`);
  return stdout;
}

/** Everything that the command does with a trace: start, reading, estimating, writing, digests. */
async function ours(trace: string, folder: string): Promise<Ours> {
  const begin = performance.now();
  const argv = [process.execPath, CLI, "analyse", trace, "--period", "1", "--output", folder, "--json"];
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`analyse failed: ${stderr.trim().slice(-1000)}`);
  const seconds = (performance.now() - begin) / 1e3;
  const used = child.resourceUsage();
  const { metrics } = JSON.parse(stdout) as RunReport;
  return {
    seconds,
    cpu_s: Number(used?.cpuTime.total ?? Number.NaN) / 1e6,
    peak_rss_bytes: used?.maxRSS ?? Number.NaN,
    figures: metrics.filter(({ status }) => status === "ok" || status === "bound").length,
  };
}

/** Ours before and after theirs, each in a process of its own; takes about three minutes. */
export async function benchPythonPackage({ quick }: BenchOptions): Promise<BenchRow[]> {
  const found = await pythonPackage();
  if (!found.ok) throw new Error(`the Python package cannot be had: ${found.reason}`);
  const folder = mkdtempSync(join(tmpdir(), "mrm-python-"));
  const [model, trace] = [join(folder, "model.parquet"), join(folder, "trace.parquet")];
  const rows = quick ? QUICK_ROWS : ROWS;
  try {
    await output([process.execPath, import.meta.path, model, String(rows)]);
    await output([found.python, PACKAGE, "layout", model, trace]);
    const own: Ours[] = [];
    const alone: number[] = [];
    const repeat = async () => {
      for (let i = 0; i < REPEATS; i++) {
        own.push(await ours(trace, folder));
        alone.push(Number(await output([process.execPath, ANALYSE, trace, folder])));
      }
    };
    await repeat();
    const begin = performance.now();
    const theirs = JSON.parse(await output([found.python, PACKAGE, "analyse", trace])) as Theirs;
    const whole = (performance.now() - begin) / 1e3;
    await repeat();
    const analysis = median(alone);
    const seconds = median(own.map((one) => one.seconds));
    const cpu = median(own.map((one) => one.cpu_s));
    const rss = Math.max(...own.map((one) => one.peak_rss_bytes));
    const withoutIai = theirs.seconds - theirs.iai_s;
    const spread = `ours ${[...alone]
      .sort((x, y) => x - y)
      .map((one) => one.toFixed(2))
      .join(" ")} s, reading and writing included; programs loaded`;
    const what = `compute_all of the Python package over our analysis, ${rows / 1e6} M rows`;
    return [
      atLeast(what, theirs.seconds / analysis, "times", TARGET_ALL, spread),
      atLeast("the same without its IAI", withoutIai / analysis, "times", TARGET_WITHOUT_IAI),
      atMost("peak memory of mrm-trace analyse", rss, "bytes", TARGET_RSS_BYTES),
      aside("its program over mrm-trace analyse, from start to end", whole / seconds, "times"),
      aside("the same without its IAI", (whole - theirs.iai_s) / seconds, "times"),
      aside("compute_all of the Python package", theirs.seconds, "s", `${theirs.cpu_s.toFixed(1)} s of CPU`),
      aside("the same without its IAI", withoutIai, "s", `${(theirs.cpu_s - theirs.iai_cpu_s).toFixed(1)} s of CPU`),
      aside("its program, from its start to its end", whole, "s"),
      aside("peak memory of the Python package", theirs.peak_rss_bytes / MIB, "MiB"),
      aside("our analysis", analysis, "s"),
      aside(
        "mrm-trace analyse, from its start to its end",
        seconds,
        "s",
        `${cpu.toFixed(2)} s of CPU, ${own[0]?.figures ?? 0} figures`,
      ),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [path = "", rows] = process.argv.slice(2);
  writeParquetFile(path, "trace", [traceBatch(addressModel(Number(rows), SEED))]);
  process.exit(0);
}
