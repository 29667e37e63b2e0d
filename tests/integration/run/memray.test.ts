import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LedgerPlace } from "../../../src/schema/ledger.ts";
import { openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { memrayPython, python } from "../../fixtures/memray-environment.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { type Row, rowsOfBatch } from "../../fixtures/read-allocations.ts";
import { endLeftRuns, jsonOf, QUICK, runCli, startCli } from "./cli.ts";

setDefaultTimeout(120_000);
const folder = mkdtempSync(join(tmpdir(), "mrm-run-memray-"));
afterEach(endLeftRuns);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PYTHON = memrayPython("1.20.0");
const RUN = ["run", "--collector", "memray", "--output", folder, "--json", ...QUICK];

interface Report {
  readonly run_dir: string;
  readonly warnings: readonly string[];
  readonly observer: { readonly slowdown_pct: { readonly hi: number | null } };
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
  readonly target: { readonly exit_code: number | null; readonly signal: string | null; readonly command: string[] };
  readonly ledger: readonly (LedgerPlace & { readonly pid: number; readonly kept: string })[];
  readonly metrics: readonly {
    readonly metric: string;
    readonly mapping_kind: string | null;
    readonly source: string;
    readonly status: string;
    readonly value: number | null;
    readonly lo: number | null;
    readonly hi: number | null;
    readonly why: string | null;
  }[];
}

function script(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** What memray's own statistics say of a capture. */
async function statistics(capture: string) {
  const out = `${capture}.stats`;
  await python(PYTHON, ["-m", "memray", "stats", "--json", "-f", "-o", out, capture], folder);
  const { total_num_allocations, total_bytes_allocated, metadata } = JSON.parse(readFileSync(out, "utf8"));
  return {
    allocations_total: total_num_allocations,
    allocated_total_bytes: total_bytes_allocated,
    allocated_bytes: metadata.peak_memory,
  };
}

/** The same figures in a report, each with its ends: they are exact. */
function exactFigures({ metrics }: Report) {
  const names = ["allocations_total", "allocated_total_bytes", "allocated_bytes"];
  const found = metrics.filter(({ metric, mapping_kind }) => names.includes(metric) && mapping_kind === "allocation");
  expect(found.every(({ value, lo, hi, status }) => value === lo && value === hi && status === "ok")).toBe(true);
  return Object.fromEntries(found.map(({ metric, value }) => [metric, value]));
}

/** Rows of the stream of allocations. */
function allocations({ run_dir }: Report): Row[] {
  return [...readStream(run_dir, "allocation")].flatMap(rowsOfBatch);
}

const isMapped = ({ evidence }: Record<string, unknown>): boolean => evidence === "memray";

/** Prints CLOCK_MONOTONIC around an allocation that nothing else has the size of. */
const TIMED = `
import sys, time
time.sleep(0.15)
a = time.monotonic_ns(); block = bytearray(7_654_321); b = time.monotonic_ns()
time.sleep(0.1)
c = time.monotonic_ns(); del block; d = time.monotonic_ns()
time.sleep(0.05)
open(sys.argv[1], "w").write(f"{a} {b} {c} {d}")
sys.exit(int(sys.argv[2]))
`;

describe("a run with the memray collector", () => {
  test("gives lifetimes on our clock, within the uncertainty that it states, and keeps the exit code", async () => {
    const said = join(folder, "times.txt");
    const ended = await runCli([...RUN, "--", PYTHON, "-u", script("timed.py", TIMED), said, "3"]);
    const report = jsonOf(ended) as unknown as Report;
    expect(ended.exitCode).toBe(6);
    expect(report.target).toMatchObject({ exit_code: 3, signal: null });
    expect(report.target.command[0]).toBe(PYTHON);
    const [a, b, c, d] = readFileSync(said, "utf8").split(" ").map(Number);
    const rows = allocations(report).filter(
      ({ size_bytes }) => Number(size_bytes) >= 7_654_321 && Number(size_bytes) < 7_654_400,
    );
    expect(rows.length).toBe(1);
    const [row] = rows;
    /** How long before or after the bracket of a time it was, in ns; 0 inside. */
    const outside = (time: unknown, error: unknown, from: number, until: number): number =>
      Math.max(0, Number(time) - Number(error) - until, from - Number(time) - Number(error));
    expect(outside(row?.timestamp_ns, row?.birth_error_ns, a ?? 0, b ?? 0)).toBe(0);
    expect(outside(row?.death_ns, row?.death_error_ns, c ?? 0, d ?? 0)).toBe(0);
    expect(row?.ended_by).toBe("freed");
    expect(report.warnings.join()).toMatch(/times of allocations are known to within .* ms, their order exactly/);
    const figures = report.metrics.filter(({ source }) => source === "allocation");
    expect(figures.every(({ metric }) => /^(allocated|allocations|lifetime)_/.test(metric))).toBe(true);
    // What the processes used is read from /proc beside every collector, and page faults have a reason of their own.
    const others = report.metrics.filter(({ source }) => !["allocation", "process", "fault"].includes(source));
    expect(others.length).toBeGreaterThan(10);
    expect(others.every(({ status }) => status === "not_identifiable")).toBe(true);
    expect(others.every(({ why }) => why?.includes("never a read or a write"))).toBe(true);
    expect(report.warnings.join()).toContain("hooks every call in Python, which is not in the estimated slowdown");
    expect(report.observer.slowdown_pct.hi).toBeGreaterThan(0);
    expect(exactFigures(report)).toEqual(await statistics(join(report.run_dir, "raw", "memray.bin")));
    expect(statSync(join(report.run_dir, "raw", "memray.bin")).mode & 0o777).toBe(0o600);
  });

  test("puts allocations on the clock of the mappings in which they lie, each with figures of its own", async () => {
    const mapped =
      "import mmap, time\nfor i in range(20):\n  m = mmap.mmap(-1, 3 << 20)\n  time.sleep(0.03)\n  m.close()\n";
    const both = [
      "run",
      "--collector",
      "ebpf,memray",
      "--watch-registers",
      "0",
      "--output",
      folder,
      "--json",
      ...QUICK,
    ];
    const report = jsonOf(await runCli([...both, "--", PYTHON, "-c", mapped])) as unknown as Report;
    await using database = await openDatabase();
    const regions = parquetScan([join(report.run_dir, "region_map.parquet")]);
    const rows = await database.rows(`SELECT * FROM ${regions} WHERE size_bytes = ${3 << 20} ORDER BY birth_ns`);
    const [seen, traced] = [rows.filter(isMapped), rows.filter((row) => !isMapped(row))];
    expect(seen.length).toBeGreaterThanOrEqual(20);
    expect(seen[0]).toMatchObject({ region_type: "runtime", mapping_kind: "allocation/mmap", evidence: "memray" });
    const known = allocations(report).filter(({ size_bytes }) => Number(size_bytes) === 3 << 20);
    for (const row of known) {
      // The kernel's own times of the same mapping: memray's must hold them within what it says of its own.
      const near = traced.filter(
        ({ addr, birth_ns, death_ns }) =>
          addr === row.addr &&
          Math.abs(Number(birth_ns) - Number(row.timestamp_ns)) <= Number(row.birth_error_ns) &&
          Math.abs(Number(death_ns) - Number(row.death_ns)) <= Number(row.death_error_ns),
      );
      expect(near.length).toBeGreaterThan(0);
    }
    const figure = (kind: string) =>
      report.metrics.find((one) => one.metric === "lifetime_p50_ns" && one.mapping_kind === kind);
    expect(figure("allocation/mmap")?.source).toBe("allocation");
    expect(figure("anon")?.source).toBe("region_map");
    const reads = report.metrics.filter(
      ({ metric, mapping_kind }) => metric === "reads_per_write" && mapping_kind === "allocation",
    );
    expect(reads.map(({ status, why }) => [status, why?.includes("memray")])).toEqual([["not_identifiable", true]]);
  });

  test("follows forked processes, each with its own rows", async () => {
    const forking =
      "import os, time\nx = bytearray(1 << 20)\nif os.fork() == 0:\n  y = [bytearray(5000) for i in range(50)]\n  os._exit(0)\nos.wait()\n";
    const report = jsonOf(await runCli([...RUN, "--", PYTHON, "-c", forking])) as unknown as Report;
    const ledger = rowsAt(report.ledger, { stream: "allocation", way: "memray" });
    expect(new Set(ledger.map(({ pid }) => pid)).size).toBe(2);
    expect(new Set(allocations(report).map(({ pid }) => pid)).size).toBe(2);
  });

  test("keeps what a killed program had written, and says where it was cut", async () => {
    const endless =
      "import os, time\nkept = [bytearray(3000) for i in range(5000)]\nprint('ready', flush=True)\ntime.sleep(0.05)\nos.kill(os.getpid(), 9)\n";
    const ended = await runCli([...RUN, "--", PYTHON, "-c", endless]);
    const report = jsonOf(ended) as unknown as Report;
    expect(ended.exitCode).toBe(6);
    expect(report.target.signal).toBe("SIGKILL");
    expect(report.warnings.join()).toContain("was read up to its cut");
    expect(allocations(report).filter(({ size_bytes }) => Number(size_bytes) >= 3000).length).toBeGreaterThan(4900);
  });

  test("reads what is there when a time limit ends it while the program runs", async () => {
    const busy =
      "import time\nkept = [bytearray(3000) for i in range(5000)]\nwhile True: time.sleep(0.01); x = bytearray(2000)\n";
    const ended = await runCli([...RUN, "--duration", "2s", "--", PYTHON, "-c", busy]);
    expect(ended.exitCode).toBe(124);
    const report = jsonOf(ended) as unknown as Report;
    expect(allocations(report).length).toBeGreaterThan(4900);
    expect(report.warnings.join()).toContain("was read up to its cut");
  });

  test("refuses what is no Python program, and a Python without memray, before anything starts", async () => {
    const notPython = await runCli([...RUN, "--", "true"]);
    expect(notPython.exitCode).toBe(3);
    expect((jsonOf(notPython) as unknown as Report).error?.message).toContain(
      'memray records Python programs, and "true"',
    );
    const without = await runCli([...RUN, "--", "/usr/bin/python3", "-c", "pass"]);
    expect(without.exitCode).toBe(3);
    const { error } = jsonOf(without) as unknown as Report;
    expect(error?.message).toContain("No module named 'memray'");
    expect(error?.hint).toStartWith("/usr/bin/python3 -m venv .venv && .venv/bin/pip install memray");
    expect(existsSync(join(folder, "true"))).toBe(false);
  });

  test("says when memray refused the program, and still ends as it did", async () => {
    const ended = await runCli([...RUN, "--", PYTHON, script("broken.py", "this is ( no program")]);
    expect(ended.exitCode).toBe(6);
    expect((jsonOf(ended) as unknown as Report).warnings.join()).toContain("memray wrote no capture");
  });

  /** The run of a program on a disk of `size`, which it fills to the end: `atEnd` is what it does then. */
  async function onFullDisk(name: string, size: string, ballast_bytes: number, atEnd: string) {
    const full = join(folder, name);
    mkdirSync(full);
    const mount = `mount -t tmpfs -o size=${size} none "$0" && exec "$@"`;
    const prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, full];
    const filler = script(
      `${name}.py`,
      `import os
ballast = ${JSON.stringify(join(full, "ballast"))}
open(ballast, 'wb').write(bytes(${ballast_bytes}))
for n in range(60):
  kept = [bytearray(600 + i % 999) for i in range(20000)]
${atEnd}
print('through', flush=True)
`,
    );
    const args = ["run", "--collector", "memray", "--output", full, "--json", ...QUICK, "--", PYTHON, filler];
    const ended = await runCli(args, { prefix });
    expect(ended.stderr).toContain("through");
    const report = jsonOf(ended) as unknown as Report;
    expect(report.run_dir).toContain(full);
    return { ended, report };
  }

  test("keeps what fitted while the disk was full, and takes no sum of it for that of the run", async () => {
    const { ended, report } = await onFullDisk(
      "full-once",
      "16m",
      14 << 20,
      "import time\ntime.sleep(0.5)\nos.remove(ballast)",
    );
    // Ours may be written while the disk is full, or after.
    const isStopped = /recording stopped after .*no space left on device/.test(report.warnings.join());
    expect(ended.exitCode).toBe(isStopped ? 3 : 0);
    // What memray did not record may be anything.
    expect(report.warnings.join()).toContain("was read up to its cut");
    const figures = report.metrics.filter(({ metric }) => /^(allocated|allocations|lifetime)_/.test(metric));
    expect(figures.length).toBeGreaterThan(0);
    expect(figures.filter(({ status }) => status === "ok")).toEqual([]);
  });

  test("says that there are no results on a disk that stays full, and how to derive them", async () => {
    const fillUp = "try:\n  open(ballast + '-2', 'wb', 0).write(bytes(4 << 20))\nexcept OSError: pass";
    const { ended, report } = await onFullDisk("full-on", "2m", 0, fillUp);
    expect(ended.exitCode).toBe(3);
    expect(report.error?.code).toBe("environment");
    expect(report.error?.message).toContain("no space left on device");
    expect(report.error?.hint).toContain("free some space");
    expect(report.error?.hint).toContain(`mrm-trace analyse ${report.run_dir}`);
  });
});

test("a program is signalled, ends, and its capture is read", async () => {
  const waiting =
    "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(0))\nx = bytearray(1 << 20)\nprint('ready', file=sys.stderr, flush=True)\ntime.sleep(60)\n";
  const run = startCli([...RUN, "--", PYTHON, "-c", waiting]);
  await run.said("ready");
  run.signal("SIGTERM");
  const ended = await run.ended;
  expect(ended.exitCode).toBe(143);
  expect(allocations(jsonOf(ended) as unknown as Report).length).toBeGreaterThan(0);
});
