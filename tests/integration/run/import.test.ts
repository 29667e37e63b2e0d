import { afterAll, describe, expect, test } from "bun:test";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SAMPLE } from "../../../src/collect/perf-mem/file/abi.ts";
import type { LedgerPlace } from "../../../src/schema/ledger.ts";
import type { RunJson } from "../../../src/schema/run-json.ts";
import { openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { readStream } from "../../fixtures/parquet-by-wasm.ts";
import { MEM_LOADS, perfData, recordWriter } from "../../fixtures/perf-data.ts";
import { jsonOf, outputFolder, runCli } from "./cli.ts";

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true, force: true }));

interface Report {
  readonly run_dir: string;
  readonly warnings: readonly string[];
  readonly collectors: readonly { readonly name: string; readonly sources: readonly string[] }[];
  readonly labels: readonly {
    readonly mapping_kind: string | null;
    readonly bytes: string;
    readonly access_rows: string;
  }[];
  readonly ledger: readonly (LedgerPlace & { readonly kept: string; readonly dropped_by: object })[];
  readonly metrics: readonly {
    readonly metric: string;
    readonly status: string;
    readonly why: string | null;
    readonly hi: unknown;
  }[];
}

/** What the labelled trace holds, in one row. */
async function traceOf(runDir: string) {
  await using database = await openDatabase({ spillFolder: join(runDir, ".spill.unfinished") });
  return await database.rows(
    `SELECT count(*) AS n, count(DISTINCT address) AS addresses, string_agg(DISTINCT cache_level) AS levels, string_agg(DISTINCT source) AS sources FROM ${parquetScan([join(runDir, "trace.parquet")])}`,
  );
}

/** What samples say of single regions, and what they cannot say. */
async function regionRowsOf(runDir: string) {
  await using database = await openDatabase({ spillFolder: join(runDir, ".spill.unfinished") });
  return await database.rows(
    `SELECT DISTINCT metric, source, status FROM ${parquetScan([join(runDir, "region_metrics.parquet")])}
     WHERE metric IN ('retention_p50_ns', 'median_stride_bytes', 'loads_per_store') OR (metric = 'working_set_bytes' AND grain_bytes = 64)
     ORDER BY metric`,
  );
}

/** As nobody: an import needs no root. */
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

const STORES = { ...MEM_LOADS, name: "cpu/mem-stores/P", config: 0x82d0n, ids: [202n] };

async function recordingOf(samples: number): Promise<Uint8Array> {
  const write = recordWriter();
  const records = [
    write.comm(MEM_LOADS, 100, "my worker 1", 5n, true),
    write.mmap2(MEM_LOADS, { pid: 100, addr: 0x7f00_0000_0000n, size: 1n << 20n, prot: 3, path: "//anon", time: 6n }),
  ];
  for (let i = 0; i < samples; i++) {
    const event = i % 2 === 0 ? MEM_LOADS : STORES;
    const addr = 0x7f00_0000_0000n + BigInt((i * 64) % 2 ** 20);
    const time = 1_000_000n + BigInt(i) * 100_000n;
    records.push(
      write.sample(event, {
        ip: 0x1000n,
        pid: 100,
        time,
        addr,
        weight: 30n,
        dataSrc: i % 2 ? 0x5080024n : 0x68100142n,
      }),
    );
  }
  records.push(write.lost(MEM_LOADS, 3n));
  return await perfData({ mode: "file", events: [MEM_LOADS, STORES], records });
}

describe("an imported perf.data file", () => {
  test("becomes a run directory that is analysed as any other, without root", async () => {
    const file = join(output, "perf.data");
    writeFileSync(file, await recordingOf(4000));
    const ended = await runCli(["import", file, "--json", "--quiet", "--output", join(output, "runs")]);
    expect(ended.stderr).toBe("");
    expect(ended.exitCode).toBe(0);
    const report = jsonOf(ended) as unknown as Report;
    expect(report.collectors).toEqual([
      { name: "perf-mem", sources: ["pebs"], why_not_better: "imported from a file" } as Report["collectors"][number],
    ]);
    expect(rowsAt(report.ledger, { source: "pebs" })).toMatchObject([
      { stage: "ring", kept: "4000", dropped_by: { lost: "3" } },
      { stage: "decode", kept: "4000", dropped_by: {} },
      { stage: "segments", kept: "4000", dropped_by: {} },
    ]);
    expect(report.labels.find(({ mapping_kind }) => mapping_kind === "anon")?.access_rows).toBe("4000");
    // Nobody says that its samples have no shadow.
    const stores = report.metrics.filter(({ metric, hi }) => metric === "stores_per_s" && hi !== null);
    expect(stores.length).toBeGreaterThan(0);
    expect(stores.every(({ status, why }) => status === "bound" && why?.includes("no such shadow"))).toBe(true);
    const retention = report.metrics.filter(({ metric }) => metric === "retention_p50_ns");
    expect(retention.length).toBeGreaterThan(0);
    expect(retention.every(({ status, why }) => status === "not_identifiable" && why !== null)).toBe(true);
    expect(await regionRowsOf(report.run_dir)).toEqual([
      { metric: "loads_per_store", source: "pebs", status: "not_identifiable" },
      { metric: "median_stride_bytes", source: "pebs", status: "not_identifiable" },
      { metric: "retention_p50_ns", source: "pebs", status: "not_identifiable" },
      { metric: "working_set_bytes", source: "pebs", status: "bound" },
    ]);
    const [rows] = [...readStream(report.run_dir, "access")];
    expect(rows?.rows).toBe(4000);
    const [trace] = await traceOf(report.run_dir);
    expect(trace).toMatchObject({ n: 4000n, levels: "L1", addresses: 4000n, sources: "pebs" });
    const again = await runCli(["analyse", report.run_dir, "--json"]);
    expect((jsonOf(again) as unknown as Report).metrics).toEqual(report.metrics);
  });

  test("of a timer alone says that its samples were left out, and how to record instead", async () => {
    const clock = { ...MEM_LOADS, name: "cpu-clock", type: 1, config: 0n };
    const write = recordWriter();
    const records = [1, 2, 3].map((i) => write.sample(clock, { pid: 100, time: BigInt(i) * 1_000_000_000n }));
    const file = join(output, "clock.data");
    writeFileSync(file, await perfData({ mode: "file", events: [clock], records }));
    const ended = await runCli(["import", file, "--json", "--quiet", "--output", join(output, "runs")]);
    expect(ended.exitCode).toBe(0);
    const { warnings, target } = jsonOf(ended) as unknown as RunJson;
    expect(warnings.join()).toMatch(/all 3 samples of cpu-clock left out: .*--perf cpu-clock/);
    expect(target.wall_s).toBe(2);
  });

  test("of samples without an address says so, and does not know how long it was where no time is in it", async () => {
    const loads = { ...MEM_LOADS, sampleType: MEM_LOADS.sampleType & ~SAMPLE.TIME };
    const write = recordWriter();
    const file = join(output, "unaddressed.data");
    const records = [1, 2].map((pid) => write.sample(loads, { pid }));
    writeFileSync(file, await perfData({ mode: "file", events: [loads], records }));
    const ended = await runCli(["import", file, "--json", "--quiet", "--output", join(output, "runs")]);
    expect(ended.exitCode).toBe(0);
    const { warnings, target } = jsonOf(ended) as unknown as RunJson;
    expect(warnings.join()).toMatch(/all 2 samples left out: no address; record them with perf record -d/);
    expect(target.wall_s).toBeNull();
  });

  test("is read up to where it is cut, with a warning that names the byte", async () => {
    const file = join(output, "cut.data");
    const bytes = await recordingOf(200);
    writeFileSync(file, bytes.subarray(0, bytes.length - 2000));
    const ended = await runCli(["import", file, "--json", "--quiet", "--output", join(output, "runs")]);
    expect(ended.exitCode).toBe(0);
    const report = jsonOf(ended) as unknown as Report;
    expect(report.warnings.join()).toMatch(/was read up to byte \d+/);
  });

  test("needs no privileges", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mrm-nobody-"));
    try {
      chownSync(folder, 65534, 65534);
      const file = join(folder, "small.data");
      writeFileSync(file, await recordingOf(50), { mode: 0o644 });
      const words = ["import", file, "--json", "--output", join(folder, "runs")];
      expect((await runCli(words, { prefix: NOBODY })).exitCode).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("imported text of perf script", () => {
  test("in the fields of the Python package gives the rows that the lines say", async () => {
    const file = join(output, "perf_script.txt");
    const decoded = "|OP LOAD|LVL L1 or L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A";
    const lines = Array.from(
      { length: 100 },
      (_, i) =>
        `     my worker ${i}  100   12.${String(i).padStart(6, "0")}: cpu/mem-loads,ldlat=30/P:     7f00000${String(10_000 + 64 * i)} 10268100142 ${decoded}     ${30 + i}`,
    );
    writeFileSync(file, `# a comment\n${lines.join("\n")}\nno sample at all\n`);
    const ended = await runCli(["import", file, "--json", "--quiet", "--output", join(output, "runs")]);
    expect(ended.exitCode).toBe(0);
    const report = jsonOf(ended) as unknown as Report;
    expect(rowsAt(report.ledger, { source: "pebs", stage: "decode" })[0]).toMatchObject({
      kept: "100",
      dropped_by: { unreadable_line: "1" },
    });
    // No mapping is known, and still the rows are counted, with the pages on which they fell.
    expect(report.labels).toMatchObject([
      { region_type: "unknown", mapping_kind: null, regions: 0, bytes_are: "touched", access_rows: "100" },
    ]);
    expect(Number(report.labels[0]?.bytes)).toBeGreaterThan(0);
    const [trace] = await traceOf(report.run_dir);
    expect(trace).toMatchObject({ n: 100n, levels: "L1", addresses: 100n, sources: "pebs" });
  });
});

describe("one damaged time in a file", () => {
  const line = (time: string): string =>
    ` prog 100/100 [000] ${time}: 1000 cpu/mem-loads,ldlat=30/P: 7f1234567000 68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A 12 400000 main+0x1 (/bin/prog)`;
  for (const time of ["15000000000.000000101", "999999999999.000000101", "0.000000001"]) {
    test(`costs its row alone, counted and said: ${time}`, async () => {
      const file = join(output, "damaged.txt");
      const good = Array.from({ length: 99 }, (_, i) => line(`90000000.${String(i).padStart(9, "0")}`));
      writeFileSync(file, `${[...good.slice(0, 50), line(time), ...good.slice(50)].join("\n")}\n`);
      const ended = await runCli(["import", file, "--json", "--output", join(output, "damaged")]);
      const report = jsonOf(ended) as unknown as Report;
      expect(ended.exitCode).toBe(0);
      expect(report.warnings.join("\n")).toContain("1 row left out: more than 104 days from the others");
      const [row] = report.ledger.filter(({ dropped_by }) => "implausible_time" in dropped_by);
      expect(row).toMatchObject({ kept: "99", dropped: "1" });
      const [rows] = await traceOf(report.run_dir);
      expect(rows?.n).toBe(99n);
    });
  }
});

describe("text of a recording that shows no accesses", () => {
  const recordings: readonly (readonly [what: string, options: readonly string[]])[] = [
    ["page faults printed without their addresses", ["-e", "page-faults", "-c", "1"]],
    ["page faults with their addresses", ["-e", "page-faults", "-c", "1", "-d"]],
    ["samples of a timer", ["-e", "cpu-clock:u", "-F", "999"]],
  ];
  for (const [what, options] of recordings) {
    test(`has no instruction taken for the address of an access: ${what}`, async () => {
      const data = join(output, `${options[1]}${options.length}.data`);
      const program = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"];
      const recorded = Bun.spawnSync(["perf", "record", "-q", "-o", data, ...options, "--", ...program]);
      expect(recorded.exitCode).toBe(0);
      const file = `${data}.txt`;
      writeFileSync(file, Bun.spawnSync(["perf", "script", "-i", data]).stdout);
      const ended = await runCli(["import", file, "--json", "--output", join(output, "faults")]);
      expect(ended.exitCode).toBe(4);
      expect(jsonOf(ended)).toMatchObject({
        run_dir: null,
        error: {
          code: "data_quality",
          message: expect.stringMatching(/no access to a user address: \d+ no access/),
          hint: expect.stringContaining("perf.data"),
        },
      });
    });
  }
});

describe("a file of another kind", () => {
  test("is refused with the formats there are, and leaves nothing", async () => {
    const runs = join(output, "refused");
    for (const [name, content, exit] of [
      ["noise.bin", new Uint8Array([1, 0, 2, 3]), 4],
      ["PERFILE2.data", new Uint8Array(Buffer.from("PERFILE2 and no more than that")), 4],
      ["empty", new Uint8Array(0), 4],
    ] as const) {
      const file = join(output, name);
      writeFileSync(file, content);
      const ended = await runCli(["import", file, "--json", "--output", runs]);
      expect(ended.exitCode).toBe(exit);
      expect(JSON.stringify(jsonOf(ended))).toContain(name);
    }
    const missing = await runCli(["import", join(output, "absent"), "--json", "--output", runs]);
    expect(missing.exitCode).toBe(2);
    const left = existsSync(runs)
      ? readdirSync(runs, { recursive: true }).filter((path) => String(path).includes("facts"))
      : [];
    expect(left).toEqual([]);
  });
});
