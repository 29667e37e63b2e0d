import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_ALLOCATION_REGIONS } from "../../../src/label/regions/allocation-regions.ts";
import { readMetadata } from "../../../src/run-directory/metadata.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { type Database, openDatabase, parquetScan } from "../../../src/sql/database.ts";
import { memrayPython, python } from "../../fixtures/memray-environment.ts";
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
    readonly source: string;
    readonly status: string;
    readonly n: string;
    readonly value: number | null;
    readonly lo: number | null;
    readonly hi: number | null;
  }[];
}

const COUNT = 70_000;

/** 70,000 allocations, the later the larger, in 700 ms; every second one is freed 100 allocations after its birth. */
function capture(): Uint8Array {
  const writer = memrayWriter({ version: 13, endMs: 1_700_000_000_700, pid: 77 });
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

/** Holds 24 MiB at one place from two threads, 6 MiB at another, and leaves a part of each. */
const PROGRAM = `
import threading, time
kept = []
def large():
    for _ in range(12):
        kept.append(bytearray(1 << 20))
def small():
    kept.extend(bytearray(1 << 16) for _ in range(96))
for _ in range(2):
    thread = threading.Thread(target=large); thread.start(); thread.join()
small()
time.sleep(0.2)
del kept[:8]
`;

/** What memray's own reader says of each place, most at the peak first. */
const PLACES = `
import collections, json, sys, memray
reader = memray.FileReader(sys.argv[1])
def places(records):
    sums = collections.Counter()
    for record in records:
        frames = record.stack_trace(1)
        place = list(frames[0]) if frames else [None, None, None]
        sums[json.dumps([memray.AllocatorType(record.allocator).name.lower(), *place])] += record.size
    return sums
peak = places(reader.get_high_watermark_allocation_records(merge_threads=True))
left = places(reader.get_leaked_allocation_records(merge_threads=True))
rows = [[*json.loads(place), size, left[place]] for place, size in peak.items()]
print(json.dumps([sorted(rows, key=lambda row: -row[4]), [shot.rss for shot in reader.get_memory_snapshots()]]))
`;

describe("an imported capture of a program that ran", () => {
  async function imported(name: string, flags: readonly string[]) {
    const program = join(output, "places.py");
    writeFileSync(program, PROGRAM);
    const file = join(output, `${name}.bin`);
    const interpreter = memrayPython("1.20.0");
    await python(interpreter, ["-m", "memray", "run", "-q", "-f", ...flags, "-o", file, program], output);
    const [places, rss] = JSON.parse(await python(interpreter, ["-c", PLACES, file], output)) as [
      readonly (readonly [string, string | null, string | null, number | null, number, number])[],
      readonly number[],
    ];
    const ended = await runCli(["import", file, "--json", "--output", join(output, name)]);
    expect(ended.exitCode).toBe(0);
    const report = jsonOf(ended) as unknown as Report;
    return { places, rss, report, metadata: readMetadata(join(report.run_dir, "metadata.json")).metadata };
  }

  for (const [name, flags] of Object.entries({ plain: [], aggregated: ["--aggregate"] })) {
    test(`has, where it is ${name}, the most memory that memray read as a lower end of the peak`, async () => {
      const { rss, report, metadata } = await imported(`${name}-memory`, flags);
      const most = Math.max(...rss);
      expect(most).toBeGreaterThan(30 * 2 ** 20);
      expect(report.metrics.filter(({ metric }) => metric === "rss_peak_bytes")).toMatchObject([
        { source: "allocation", status: "bound", n: String(rss.length), value: null, lo: most, hi: null },
      ]);
      const told = metadata.target_use.filter(({ metric }) => metric === "rss_peak_bytes");
      expect(told).toMatchObject([{ source: "allocation", lo: most, hi: null }]);
    });
  }

  test("has, where it is aggregated, the places that held most, as memray's own reader sums them", async () => {
    const { places, metadata } = await imported("places", ["--aggregate"]);
    const sites = metadata.allocation_sites ?? [];
    expect(sites.length).toBeGreaterThan(1);
    expect(sites.length).toBeLessThanOrEqual(20);
    expect(sites[0]).toMatchObject({ function: "large", line: 6, peak_allocations: 24 });
    expect(sites[0]?.peak_bytes).toBeGreaterThanOrEqual(24 * 2 ** 20);
    expect(sites[0]?.leaked_bytes).toBeLessThan(24 * 2 ** 20);
    const inProgram = sites.filter(({ file }) => file?.endsWith("places.py"));
    const said = places.filter(([, , file]) => file?.endsWith("places.py")).slice(0, inProgram.length);
    expect(
      inProgram.map((site) => [
        site.allocator,
        site.function,
        site.file,
        site.line,
        site.peak_bytes,
        site.leaked_bytes,
      ]),
    ).toEqual(said as never);
  });

  test("tells no places where a part of the sums is lost", async () => {
    const { report } = await imported("lost", ["--aggregate"]);
    for (const stream of ["allocation_site", "allocation_stack"] as const) {
      const [segment] = listSegments(report.run_dir, stream);
      if (segment === undefined) throw new Error(`no segment of ${stream}`);
      const kept = new Uint8Array(await Bun.file(segment.path).arrayBuffer());
      writeFileSync(segment.path, kept.slice().fill(0xff, 4, Math.floor(kept.length / 3)));
      expect((await runCli(["analyse", report.run_dir, "--json"])).exitCode).toBe(4);
      const { metadata } = readMetadata(join(report.run_dir, "metadata.json"));
      expect(metadata.allocation_sites).toBeNull();
      expect(metadata.warnings.filter((line) => line.startsWith("skipped ")).length).toBe(1);
      writeFileSync(segment.path, kept);
    }
    expect((await runCli(["analyse", report.run_dir, "--json"])).exitCode).toBe(0);
    expect(readMetadata(join(report.run_dir, "metadata.json")).metadata.allocation_sites?.length).toBeGreaterThan(1);
  });

  test("has no such places where every allocation was recorded", async () => {
    const { metadata } = await imported("whole", []);
    expect(metadata.allocation_sites).toBeNull();
  });
});
