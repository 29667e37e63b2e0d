import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeParquetFile } from "../../../../src/columnar/write/parquet-writer.ts";
import { readCurves } from "../../../../src/report/page/data/read-curves.ts";
import { readRegions } from "../../../../src/report/page/data/read-regions.ts";
import { readRequests } from "../../../../src/report/page/data/read-requests.ts";
import { readTimeline } from "../../../../src/report/page/data/read-timeline.ts";
import { readRun } from "../../../../src/report/page/data/run-data.ts";
import { writePageRun } from "../../../fixtures/page-run.ts";
import { batchWith } from "../../../fixtures/row-with.ts";

const run = writePageRun();
const folder = run.heldPath;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const floats = (base64: string): number[] => {
  const { buffer, byteOffset, length } = Buffer.from(base64, "base64");
  return [...new Float32Array(buffer.slice(byteOffset, byteOffset + length))];
};
const total = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

describe("what the page draws of a run", () => {
  test("has every access at its place, and each look that lies in a region", async () => {
    const { data } = await readRun(run, "run");
    if ("why" in data.heat) throw new Error(data.heat.why);
    const heat = data.heat.data;
    // Each second a read of four weights and four cache tensors, and a write to one of these; one lies in no region.
    expect([total(floats(heat.reads)), total(floats(heat.writes)), heat.elsewhere]).toEqual([240, 30, 1]);
    const { looks, row, column, width } = heat.looks;
    const band = heat.bands.find(({ class: index }) => data.classes[index] === "kv_cache");
    expect([looks, floats(row)[0]]).toEqual([1, band?.row]);
    expect(floats(column)[0]).toBeCloseTo((10 / (data.duration_ms / 1e3)) * heat.columns, 0);
    expect(floats(width)[0]).toBeCloseTo((2 / (data.duration_ms / 1e3)) * heat.columns, 0);
  });

  test("has the most memory and all faults of the readings that a point stands for, and each phase once", () => {
    const path = join(folder, "many.parquet");
    const rows = Array.from({ length: 3000 }, (_, i) => ({
      timestamp_ns: BigInt(i) * 1_000_000n,
      phase: i < 1000 ? null : ("generation" as const),
      step: i < 2000 ? ("prefill" as const) : ("decode" as const),
      token_index: i < 2000 ? null : i,
      rss_anon_bytes: BigInt(i),
      minor_faults: 1n,
    }));
    writeParquetFile(path, "process_timeline", [batchWith("process_timeline", rows)]);
    const { points, phases } = readTimeline(path, 0n);
    if ("why" in points) throw new Error(points.why);
    expect(points.data.time_ms).toHaveLength(1024);
    expect(total(points.data.minor_faults)).toBe(3000);
    expect([points.data.rss_anon_bytes.at(-1), points.data.token_index.at(-1)]).toEqual([2999, 2999]);
    expect(phases).toEqual([
      { phase: "generation", step: "prefill", begin_ms: 1000, end_ms: 2000 },
      { phase: "generation", step: "decode", begin_ms: 2000, end_ms: 2999 },
    ]);
  });

  test("has the first requests, each in the first lane that is free, and none where there was no client of ours", async () => {
    expect((await readRun(run, "run")).data.requests).toBeNull();
    const path = join(folder, "requests.parquet");
    // Every ms one is sent that takes 2.5 ms; they lie in the file in another order.
    const rows = Array.from({ length: 2100 }, (_, i) => ({
      request_id: i + 1,
      timestamp_ns: BigInt(i) * 1_000_000n,
      status: "answered" as const,
      ttft_ns: 500_000n,
      generation_ns: 2_000_000n,
    }));
    writeParquetFile(path, "request_figures", [batchWith("request_figures", rows.toReversed())]);
    const read = readRequests(path, 0n);
    expect([read?.id.length, read?.left_out]).toEqual([2000, 100]);
    expect(read?.lane.slice(0, 6)).toEqual([0, 1, 2, 0, 1, 2]);
    expect([read?.sent_ms[7], read?.ttft_ms[7], read?.wait_ms[7]]).toEqual([7, 0.5, null]);
  });

  test("leaves out the regions that are least worth seeing, however many there are", () => {
    const path = join(folder, "regions.parquet");
    const rows = Array.from({ length: 25_000 }, (_, i) => ({
      region_id: BigInt(i + 1),
      addr: BigInt(i) * 4096n,
      size_bytes: 4096n,
      mapping_kind: i % 5 === 0 ? "allocation/malloc" : "anon",
      access_count: BigInt(i % 2500),
    }));
    writeParquetFile(path, "region_map", [batchWith("region_map", rows)]);
    const read = readRegions(path);
    if ("why" in read) throw new Error(read.why);
    const { regions, left_out } = read.data;
    expect([regions.length, left_out]).toEqual([10_000, 10_000]);
    expect(regions.some(({ mapping_kind }) => mapping_kind !== "anon")).toBe(false);
    // Half of those that are mapped; what was allocated in them has the counts that 5 divides.
    expect(Math.min(...regions.map(({ access_rows }) => access_rows))).toBe(1251);
    expect(regions.map(({ addr }) => addr)).toEqual(regions.map(({ addr }) => addr).sort((a, b) => Number(a - b)));
  });

  test("is refused by name and reason where a file is damaged, and without the map where that is the trace", async () => {
    const path = join(folder, "damaged.parquet");
    writeFileSync(path, "PAR1 is not all of it PAR1");
    for (const read of [
      () => readCurves(path, 0n),
      () => readTimeline(path, 0n),
      () => readRegions(path),
      () => readRequests(path, 0n),
    ]) {
      expect(read).toThrow(expect.objectContaining({ code: "data_quality", message: expect.stringContaining(path) }));
    }
    writeFileSync(join(folder, "trace", "part-00000.parquet"), "PAR1 is not all of it PAR1");
    const { data } = await readRun(run, "run");
    expect(data.heat).toEqual({ why: expect.stringContaining("the trace cannot be read: ") });
  });
});
