/** Every export format of a run that is known by hand, read back by the readers that people use. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { openRun, type RunTable } from "../../../src/api/open-run.ts";
import { progressTo } from "../../../src/api/progress.ts";
import { FORMAT_NAMES, type FormatName } from "../../../src/export/formats.ts";
import { type Exported, type ExportRequest, exportRun } from "../../../src/pipelines/export.ts";
import { writeExportedRun } from "../../fixtures/exported-run.ts";
import { memrayWriter } from "../../fixtures/memray-writer.ts";
import { pythonPackage } from "../../fixtures/python-package.ts";
import { withMounts } from "../../fixtures/with-mounts.ts";
import { ORIGIN } from "../../unit/label/hand-made-run.ts";
import { jsonOf, runCli } from "../run/cli.ts";

type Choices = Partial<ExportRequest["choices"]>;

type Slice = readonly [begin_ns: number, end_ns: number, name: string, about: Readonly<Record<string, unknown>>];
/** What readers.py prints of each format. */
interface PerfettoTrace {
  readonly tracks: Readonly<Record<string, readonly Slice[]>>;
  readonly parents: Readonly<Record<string, string | null>>;
}
interface Metrics {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly metrics: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  readonly units: Readonly<Record<string, string>>;
}
interface Loaded {
  readonly rows: Readonly<Record<string, number>>;
  readonly columns: Readonly<Record<string, readonly string[]>>;
  readonly first: Readonly<Record<string, unknown>>;
}

const READERS = new URL("readers.py", import.meta.url).pathname;
const found = await pythonPackage();
if (!found.ok) process.stderr.write(`skipping readers of Python: ${found.reason}\n`);
/** Whether Go has its pprof, which it builds when it is first asked for: no test has the time for that. */
function hasPprof(): boolean {
  if (Bun.which("go") === null) return false;
  const { stdout, stderr } = Bun.spawnSync(["go", "tool", "pprof", "-help"], { stderr: "pipe" });
  return `${stdout}${stderr}`.includes("-sample_index");
}
const pprofIsThere = hasPprof();
if (!pprofIsThere) process.stderr.write("skipping go tool pprof: there is no go on PATH, or none with pprof\n");

let runDir = "";
let folder = "";
const place = (name: string): string => join(folder, name);
beforeAll(async () => {
  runDir = await writeExportedRun();
  folder = mkdtempSync(join(tmpdir(), "mrm-export-"));
});
afterAll(() => {
  for (const path of [runDir, folder]) rmSync(path, { recursive: true });
});

async function exported(format: FormatName, name: string, choices: Choices = {}, from = runDir): Promise<Exported> {
  const request = { runDir: from, format, out: place(name), force: false, progress: progressTo(undefined) };
  const { signal } = new AbortController();
  return await exportRun({
    ...request,
    choices: { table: undefined, value: undefined, license: undefined, ...choices },
    signal,
  });
}

/** What a library of Python makes of the file. */
function readBy(format: FormatName, name: string): Record<string, unknown> {
  if (!found.ok) throw new Error(found.reason);
  const child = Bun.spawnSync([found.python, READERS, format, place(name)], { stderr: "pipe" });
  if (child.exitCode !== 0) throw new Error(child.stderr.toString());
  return JSON.parse(child.stdout.toString()) as Record<string, unknown>;
}

describe("one table", () => {
  test.skipIf(!found.ok)(
    "is the same to pyarrow and polars as it is here, with units and the name of the table",
    async () => {
      await exported("arrow", "trace.arrow", { table: "trace" });
      const read = readBy("arrow", "trace.arrow");
      using run = openRun(runDir);
      const ours = run
        .table("trace")
        .toArray()
        .map((row) => row.toJSON());
      expect(ours.length).toBe(9);
      const plain = JSON.parse(JSON.stringify(ours, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
      expect(read.rows).toEqual(plain);
      expect(read.types).toMatchObject({
        timestamp_ns: "uint64",
        phase: "string",
        numa_node: "uint8",
        confidence: "float",
      });
      expect(read.units).toMatchObject({ timestamp_ns: "ns of CLOCK_MONOTONIC", symbol: "" });
      expect([read.named, read.polars]).toEqual(["trace", true]);
    },
  );

  test("as text gives DuckDB the rows that the run has, null and empty text apart", async () => {
    await exported("csv", "metrics.csv");
    await exported("csv", "trace.csv", { table: "trace" });
    using run = openRun(runDir);
    const instance = await DuckDBInstance.create(":memory:");
    const database = await instance.connect();
    const rows = async (sql: string) => (await database.runAndReadAll(sql)).getRowObjects();
    const scan = (name: string, more = "") => `read_csv('${place(name)}', header = true, sample_size = -1${more})`;
    const figures = run.metrics();
    const [sums] = await rows(
      `SELECT count(*) AS n, count(value) AS n_values, count(lo) AS n_lo, count(why) AS n_why, sum(hi) AS hi FROM ${scan("metrics.csv")}`,
    );
    expect(sums).toEqual({
      n: BigInt(figures.length),
      n_values: BigInt(figures.filter(({ value }) => value !== null).length),
      n_lo: BigInt(figures.filter(({ lo }) => lo !== null).length),
      n_why: BigInt(figures.filter(({ why }) => why !== null).length),
      hi: figures.reduce((sum, { hi }) => sum + (hi ?? 0), 0),
    });
    const text = await rows(
      `SELECT address, phase, region_type, dso, step FROM ${scan("trace.csv", ", all_varchar = true, allow_quoted_nulls = false")} LIMIT 1`,
    );
    const first = {
      address: String(0x7f0000001000n),
      phase: "weight_load",
      region_type: "weight",
      dso: "",
      step: null,
    };
    expect(text).toEqual([first]);
    database.closeSync();
    instance.closeSync();
  });

  test.skipIf(!found.ok)("as text is the same to polars", async () => {
    await exported("csv", "regions.csv", { table: "region_map" });
    using run = openRun(runDir);
    const ours = run
      .table("region_map")
      .toArray()
      .map((row) => row.toJSON());
    const read = readBy("csv", "regions.csv").rows as Record<string, unknown>[];
    const columns = ["region_id", "region_type", "addr", "size_bytes", "birth_ns", "death_censored", "tensor"] as const;
    const shown = (rows: readonly Record<string, unknown>[]) => {
      return rows.map((row) => columns.map((name) => String(row[name])));
    };
    expect(shown(read)).toEqual(shown(ours));
  });
});

describe("what happened by code", () => {
  test("as folded stacks has a line for each, with the value that was asked for", async () => {
    const { left_out } = await exported("folded", "bytes.folded");
    expect(readFileSync(place("bytes.folded"), "utf8")).toBe(
      "pid 77;[libfoo.so]+0x40;mmap 4096\npid 77;<module>;load;malloc 1024\n",
    );
    expect(left_out).toEqual([expect.stringContaining("3 traps of watches"), expect.stringContaining("faults")]);
    await exported("folded", "faults.folded", { value: "faults" });
    expect(readFileSync(place("faults.folded"), "utf8")).toBe("pid 77;qsort 2\npid 77;[kernel] 1\n");
    await exported("folded", "live.folded", { value: "live_bytes" });
    expect(readFileSync(place("live.folded"), "utf8")).toContain("load;malloc 24\n");
  });

  test.skipIf(!pprofIsThere)("as a profile is read by go tool pprof, value by value and by class", async () => {
    await exported("pprof", "run.pb.gz");
    const pprof = (...args: string[]): string => {
      const child = Bun.spawnSync(["go", "tool", "pprof", ...args, place("run.pb.gz")], {
        env: { ...process.env, PPROF_TMPDIR: folder },
        stderr: "pipe",
      });
      if (child.exitCode !== 0) throw new Error(child.stderr.toString());
      return child.stdout.toString();
    };
    const top = (value: string, ...more: string[]): string[] => {
      const lines = pprof("-top", `-sample_index=${value}`, ...more).split("\n");
      const table = lines.slice(lines.findIndex((line) => line.includes("flat%")) + 1).filter((line) => line !== "");
      return table.map((line) => line.trim().replace(/^(\S+)\s+\S+\s+\S+\s+(\S+)\s+\S+\s+(.*)$/, "$3 $1 $2"));
    };
    expect(top("faults")).toEqual(["qsort 2 2", "[kernel] 1 1"]);
    expect(top("major_faults")).toEqual(["qsort 1 1"]);
    expect(top("allocations").sort()).toEqual([
      "[libfoo.so]+0x40 0 1",
      "[module] 0 2",
      "load 0 2",
      "malloc 2 2",
      "mmap 1 1",
    ]);
    expect(top("accesses")).toEqual(["[unknown] 60 60"]);
    expect(top("accesses", "-tagfocus=kv_cache")).toEqual(["[unknown] 10 10"]);
    expect(pprof("-raw")).toContain("load app.py:20");
  });
});

describe.skipIf(!found.ok)("a timeline", () => {
  test("has tracks, slices and counters by Perfetto's own definitions", async () => {
    const { left_out } = await exported("perfetto", "run.perfetto-trace");
    expect(left_out).toContain("page faults one by one (4 in the table fault)");
    const { tracks, parents, ...rest } = readBy("perfetto", "run.perfetto-trace") as unknown as PerfettoTrace;
    expect(rest).toEqual({ open: 0, unknown: 0, clock: true });
    const ms = (time: number): number => (time - Number(ORIGIN)) / 1e6;
    const shown = (name: string) => tracks[name]?.map(([begin, end, label]) => [ms(begin), ms(end), label]);
    expect(shown("phase")).toEqual([
      [0, 0.5, "idle"],
      [0.5, 12, "weight_load"],
      [12, 20, "idle"],
      [20, 70, "generation"],
      [70, 90, "idle"],
    ]);
    expect(shown("engine steps")).toEqual([
      [0.5, 10, "model_load"],
      [10, 12, "context"],
      [20, 30, "prefill"],
      [40, 50, "decode"],
      [60, 70, "decode"],
      [80, 80, "kv_clear"],
    ]);
    expect(tracks["engine steps"]?.[2]?.[3]).toEqual({ n_tokens: 2, n_sequences: 1, position_first: 0 });
    expect(shown("weight regions")).toEqual([[1, 90, "w"]]);
    expect(tracks["kv_cache regions"]?.[0]?.[3]).toEqual({
      address: 0x7f1000000000,
      size_bytes: 256,
      layer: 0,
      death_censored: true,
      evidence: "engine_probe",
      confidence: 1,
    });
    const counts = (name: string) => tracks[name]?.map(([time, value]) => [ms(time), value]);
    expect(counts("RSS")).toEqual([
      [10, 2 ** 20],
      [60, 3 * 2 ** 20],
    ]);
    expect(counts("minor faults so far")).toEqual([
      [10, 1],
      [60, 3],
    ]);
    expect(counts("major faults so far")).toEqual([
      [10, 0],
      [60, 1],
    ]);
    expect(counts("PSI memory some so far")).toEqual([[10, 7]]);
    expect(counts("weight mapped")).toEqual([[1, 4096]]);
    expect([parents.RSS, parents.phase, parents["PSI cpu some so far"]]).toEqual(["pid 77", "pid 77", null]);
  });

  test("of what memray recorded alone has its allocations, and its memory over time", async () => {
    const writer = memrayWriter({ version: 13, endMs: 1_700_000_000_040, pid: 77 });
    writer.code(1, "serve", "/srv/serve.py", 12);
    writer.thread(1);
    writer.push(1);
    for (const at of [0, 10, 20, 30]) {
      writer.memory(1e6, at);
      writer.allocation("malloc", 0x5000_0000 + at * 4096, 100);
    }
    writer.allocation("free", 0x5000_0000, 0);
    writer.memory(2e6, 40);
    writer.trailer();
    const capture = place("alone.bin");
    writeFileSync(capture, writer.take());
    const { run_dir } = jsonOf(await runCli(["import", capture, "--json", "--quiet", "--output", place("imported")]));
    await exported("perfetto", "alone.perfetto-trace", {}, String(run_dir));
    const { tracks, ...rest } = readBy("perfetto", "alone.perfetto-trace") as unknown as PerfettoTrace;
    expect(rest).toMatchObject({ open: 0, unknown: 0, clock: true });
    expect(tracks["runtime regions"]?.filter(([, , name]) => name.startsWith("serve"))).toHaveLength(4);
    expect(tracks["runtime allocated"]?.at(-1)?.[1]).toBe(300);
    expect(tracks["allocated, by memray"]?.map(([, bytes]) => bytes)).toEqual([0, 100, 200, 300]);
    expect(tracks["RSS, by memray"]?.map(([, bytes]) => bytes)).toEqual([1e6, 2e6]);
  });

  test("and figures are metrics by OpenTelemetry's own definitions, each with its interval, status and reason", async () => {
    const { left_out } = await exported("otlp-json", "run.json");
    expect(left_out).toContain("times: nobody knows what the wall clock showed");
    const { resource, metrics, units } = readBy("otlp-json", "run.json") as unknown as Metrics;
    using run = openRun(runDir);
    expect(resource).toMatchObject({ "service.instance.id": run.metadata.run_id });
    const figures = run.metrics();
    const names = Object.keys(metrics);
    expect(names.sort()).toEqual([...new Set(figures.map(({ metric }) => `mrm_trace.${metric}`))].sort());
    for (const name of names) {
      const ours = figures.filter(({ metric }) => `mrm_trace.${metric}` === name);
      const keys = [
        "region_type",
        "mapping_kind",
        "phase",
        "step",
        "source",
        "lo",
        "hi",
        "n",
        "status",
        "why",
        "value",
      ];
      const shown = (rows: readonly object[]) => rows.map((row) => keys.map((key) => Reflect.get(row, key) ?? null));
      expect([name, shown(metrics[name] ?? [])]).toEqual([name, shown(ours)]);
    }
    expect([units["mrm_trace.retention_p50_ns"], units["mrm_trace.faults_per_s"]]).toEqual(["ns", "{faults}/s"]);
  });
});

describe("a run to publish", () => {
  /** What sha256sum says of every file of a folder. */
  function checked(name: string): string[] {
    const child = Bun.spawnSync(["sha256sum", "--check", "SHA256SUMS"], { cwd: place(name), stderr: "pipe" });
    expect([child.exitCode, child.stderr.toString()]).toEqual([0, ""]);
    return child.stdout.toString().trim().split("\n");
  }

  test.skipIf(!found.ok)("for Hugging Face loads table by table with its datasets library", async () => {
    const { left_out } = await exported("hf", "hf", { license: "CC-BY-4.0" });
    expect(left_out).toEqual([expect.stringContaining("below capture/")]);
    expect(checked("hf")).toContain("data/trace/00000.parquet: OK");
    using run = openRun(runDir);
    const { rows, columns, first, ...rest } = readBy("hf", "hf") as unknown as Loaded;
    expect(rest).toEqual({ default: "metrics" });
    expect(rows.trace).toBe(9);
    for (const [name, count] of Object.entries(rows)) {
      const table = run.table(name as RunTable);
      expect([name, count, columns[name]]).toEqual([name, table.numRows, table.schema.names.map(String)]);
    }
    expect(first).toMatchObject({ phase: "weight_load", region_type: "weight", timestamp_ns: Number(ORIGIN) + 5e6 });
    const card = readFileSync(join(place("hf"), "README.md"), "utf8");
    expect(card).toStartWith("---\npretty_name: ");
    expect(card).toContain("license: cc-by-4.0\n");
    expect(card).toContain("| faults | runtime | 3 | 3 to 3 | faults |");
    expect(readFileSync(join(place("hf"), "LICENSE"), "utf8")).toStartWith("SPDX-License-Identifier: CC-BY-4.0\n");
  });

  test("for Zenodo is flat, with the fields of a deposition, and is replaced only if it is one", async () => {
    const { left_out, size_bytes } = await exported("zenodo", "zenodo");
    expect(left_out.map((what) => what.split(":")[0])).toEqual(["a licence", expect.anything(), "creators"]);
    const names = readdirSync(place("zenodo"), { withFileTypes: true });
    expect(names.filter((entry) => !entry.isFile())).toEqual([]);
    const sizes = names.map(({ name }) => statSync(join(place("zenodo"), name)));
    expect(sizes.map(({ mode }) => mode & 0o777)).toEqual(sizes.map(() => 0o600));
    expect([statSync(place("zenodo")).mode & 0o777, sizes.reduce((sum, { size }) => sum + size, 0)]).toEqual([
      0o700,
      size_bytes,
    ]);
    expect(checked("zenodo")).toContain("trace.parquet: OK");
    const { metadata } = JSON.parse(readFileSync(join(place("zenodo"), "zenodo.json"), "utf8"));
    expect(metadata).toMatchObject({ upload_type: "dataset", creators: [], title: expect.stringContaining("run ") });
    const schema = JSON.parse(readFileSync(join(place("zenodo"), "schema.json"), "utf8"));
    expect(schema.tables.map(({ name }: { name: string }) => name)).toContain("metrics");
  });
});

describe("an export", () => {
  test("is a file of its user alone, named after the run, and replaces nothing unasked", async () => {
    const here = { prefix: ["env", `--chdir=${folder}`] };
    const first = await runCli(["export", runDir, "--format", "csv", "--json"], here);
    const { path, size_bytes, left_out, exit_code } = jsonOf(first);
    expect([path, left_out, exit_code]).toEqual([place(`${runDir.split("/").at(-1)}.metrics.csv`), [], 0]);
    expect([statSync(String(path)).size, statSync(String(path)).mode & 0o777]).toEqual([Number(size_bytes), 0o600]);
    const again = await runCli(["export", runDir, "--format", "csv"], here);
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining("exists already\n  fix: give --force")]);
    expect((await runCli(["export", runDir, "--format", "csv", "--force"], here)).exitCode).toBe(0);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("to a disk that is full says so, and leaves nothing", async () => {
    mkdirSync(place("small"));
    const mount = `mount -t tmpfs -o size=16k none ${place("small")}`;
    // What is on that disk is seen by nobody else.
    const prefix = withMounts(`${mount} && { "$@"; code=$?; ls -A ${place("small")}; exit $code; }; false`);
    const ended = await runCli(["export", runDir, "--format", "csv", "--out", place("small/m.csv")], { prefix });
    expect([ended.exitCode, ended.stdout]).toEqual([3, ""]);
    expect(ended.stderr).toContain("m.csv cannot be written: no space left on device\n  fix: free space on that disk");
  });

  test("leaves nothing where a signal ends it", async () => {
    const controller = new AbortController();
    const progress = { update: () => controller.abort(new Error("enough")), clear: () => {} };
    const request = { runDir, format: "csv", out: place("cut.csv"), force: false, progress } as const;
    const choices = { table: "trace", value: undefined, license: undefined };
    await expect(exportRun({ ...request, choices, signal: controller.signal })).rejects.toThrow("enough");
    expect(readdirSync(folder).filter((name) => name.includes("cut"))).toEqual([]);
  });

  test("in every format refuses a folder that is no run", async () => {
    const request = { runDir: folder, force: false, progress: progressTo(undefined), out: place("none") };
    const choices = { table: undefined, value: undefined, license: undefined };
    const { signal } = new AbortController();
    for (const format of FORMAT_NAMES) {
      await expect(exportRun({ ...request, format, choices, signal })).rejects.toThrow("is no run");
    }
  });
});
