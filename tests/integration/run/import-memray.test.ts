import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_ALLOCATION_REGIONS } from "../../../src/label/regions/allocation-regions.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { type Database, openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { memrayWriter } from "../../fixtures/memray-writer.ts";
import { jsonOf, outputFolder, runCli } from "./cli.ts";

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true, force: true }));

interface Report {
  readonly run_dir: string;
  readonly warnings: readonly string[];
  readonly labels: readonly object[];
  readonly metrics: readonly {
    readonly metric: string;
    readonly mapping_kind: string | null;
    readonly value: number | null;
  }[];
}

const COUNT = 70_000;

/** 70,000 allocations, the later the larger, in 700 ms; every second one is freed 100 allocations after its birth. */
function capture(): Uint8Array {
  const writer = memrayWriter({ version: 13, endMs: 1_700_000_001_000, pid: 77 });
  writer.code(1, "serve", "/srv/serve.py", 12);
  writer.thread(1);
  writer.push(1);
  for (let i = 0; i < COUNT; i++) {
    if (i % 1000 === 0) writer.memory(1e6, i / 100);
    writer.allocation("malloc", 0x5000_0000 + i * 131_072, i + 1);
    if (i >= 100 && i % 2 === 0) writer.allocation("free", 0x5000_0000 + (i - 100) * 131_072, 0);
  }
  writer.trailer();
  return writer.take();
}

async function regions(database: Database, runDir: string) {
  const scan = parquetScan([join(runDir, "region_map.parquet")]);
  return await database.rows(`SELECT * FROM ${scan} ORDER BY region_id`);
}

describe("an imported memray capture", () => {
  test("has its largest allocations in the region map, and figures of all of them", async () => {
    const file = join(output, "many.bin");
    writeFileSync(file, capture());
    const ended = await runCli(["import", file, "--json", "--output", join(output, "runs")]);
    expect(ended.exitCode).toBe(0);
    const report = jsonOf(ended) as unknown as Report;
    await using database = await openDatabase();
    const rows = await regions(database, report.run_dir);
    expect(rows.length).toBe(MAX_ALLOCATION_REGIONS);
    expect(rows[0]).toMatchObject({
      region_id: 1n,
      region_type: "runtime",
      mapping_kind: "allocation/malloc",
      name: "serve (/srv/serve.py:12)",
      size_bytes: BigInt(COUNT),
      pid: 77,
      evidence: "memray",
      birth_censored: false,
      death_censored: true,
    });
    // The bound falls into a bin of sizes that are within 0.5 % of each other.
    const least = COUNT - MAX_ALLOCATION_REGIONS + 1;
    expect(Number(rows.at(-1)?.size_bytes)).toBeGreaterThan(least / 1.006);
    expect(Number(rows.at(-1)?.size_bytes)).toBeLessThanOrEqual(least);
    expect(report.warnings.join()).toContain("region_map.parquet has the 65.5k largest allocations");
    const value = (metric: string) =>
      report.metrics.find((row) => row.metric === metric && row.mapping_kind === "allocation")?.value;
    expect(value("allocations_total")).toBe(COUNT);
    expect(value("allocated_total_bytes")).toBe((COUNT * (COUNT + 1)) / 2);
    expect(report.labels).toMatchObject([{ region_type: "runtime", mapping_kind: "allocation", regions: COUNT }]);
    const again = await runCli(["analyse", report.run_dir, "--json"]);
    expect((jsonOf(again) as unknown as Report).metrics).toEqual(report.metrics as never);
  });

  test("loses the damaged part of what was captured, and no more", async () => {
    const file = join(output, "damaged.bin");
    writeFileSync(file, capture());
    const ended = await runCli(["import", file, "--json", "--output", join(output, "damaged"), "--run-id", "d"]);
    const { run_dir } = jsonOf(ended) as unknown as Report;
    for (const stream of ["allocation_stack", "allocation_total"] as const) {
      const [segment] = listSegments(run_dir, stream);
      const bytes = new Uint8Array(await Bun.file(segment?.path ?? "").arrayBuffer());
      bytes.fill(0xff, 4, Math.max(5, Math.floor(bytes.length / 3)));
      writeFileSync(segment?.path ?? "", bytes);
    }
    const again = await runCli(["analyse", run_dir, "--json"]);
    expect(again.exitCode).toBe(4);
    const report = jsonOf(again) as unknown as Report;
    expect(report.warnings.filter((line) => line.startsWith("skipped ")).length).toBe(2);
    expect(report.metrics.some(({ metric, value }) => metric === "allocated_bytes" && value !== null)).toBe(false);
    await using database = await openDatabase();
    expect((await regions(database, run_dir)).length).toBe(MAX_ALLOCATION_REGIONS);
  });
});
