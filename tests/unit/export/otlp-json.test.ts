import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExportTask } from "../../../src/export/export-format.ts";
import { openNewFile } from "../../../src/export/new-file.ts";
import { otlpJson } from "../../../src/export/otlp-json.ts";
import type { RunTable } from "../../../src/run-directory/table-files.ts";
import { type Given, rowWith } from "../../fixtures/row-with.ts";
import { metadataWith } from "../../fixtures/run-metadata.ts";

const metadata = metadataWith();
const began = BigInt(metadata.timing.started_ns);
const wall = (ms: number): string => String(BigInt(Date.parse("2026-11-21T10:00:00Z") + ms) * 1_000_000n);

interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly gauge?: { readonly dataPoints: readonly object[] };
  readonly sum?: { readonly dataPoints: readonly object[]; readonly aggregationTemporality: number };
}

/** The metrics of a run of these figures and moments. */
async function metricsOf(figures: Given<"metrics">[], moments: Given<"process_timeline">[]): Promise<Metric[]> {
  const rows = {
    metrics: figures.map((row) => rowWith("metrics", row)),
    process_timeline: moments.map((row) => rowWith("process_timeline", row)),
  };
  const run = { metadata, tables: [], rows: (name: RunTable) => Reflect.get(rows, name) };
  const task = { run, leaveOut: () => {}, goOn: async () => {} } as unknown as ExportTask;
  const folder = mkdtempSync(join(tmpdir(), "mrm-otlp-"));
  try {
    using file = openNewFile(join(folder, "made"), false);
    await otlpJson.write(task, file);
    file.finish();
    return JSON.parse(readFileSync(join(folder, "made"), "utf8")).resourceMetrics[0].scopeMetrics[0].metrics;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("metrics of OpenTelemetry", () => {
  test("keep the interval, the samples and the reason of a figure, and say where there is no value", async () => {
    const about = { metric: "retention_p50_ns", unit: "ns", grain_bytes: 64, n: 9n } as const;
    const [metric] = await metricsOf(
      [
        { ...about, value: 5, lo: 4, hi: null, status: "ok" },
        { ...about, value: null, status: "insufficient", why: "too few" },
      ],
      [],
    );
    expect([metric?.name, metric?.unit]).toEqual(["mrm_trace.retention_p50_ns", "ns"]);
    const points = metric?.gauge?.dataPoints ?? [];
    expect(points[0]).toMatchObject({ asDouble: 5, startTimeUnixNano: wall(0) });
    expect(points[1]).toMatchObject({ flags: 1 });
    expect(Object.keys(points[1] ?? {})).not.toContain("asDouble");
    const pairs = points.map((point) => Reflect.get(point, "attributes"));
    expect(pairs[0]).toContainEqual({ key: "lo", value: { doubleValue: 4 } });
    expect(pairs[0]).toContainEqual({ key: "grain_bytes", value: { intValue: "64" } });
    expect(pairs[0]).toContainEqual({ key: "n", value: { intValue: "9" } });
    expect(pairs[0]).not.toContainEqual(expect.objectContaining({ key: "hi" }));
    expect(pairs[1]).toContainEqual({ key: "why", value: { stringValue: "too few" } });
  });

  test("tell what the target held as a gauge, and what came as sums from moment to moment, by the wall clock", async () => {
    const moment = (ms: number, rss: bigint, faults: bigint): Given<"process_timeline"> => ({
      timestamp_ns: began + BigInt(ms) * 1_000_000n,
      rss_bytes: rss,
      minor_faults: faults,
    });
    const metrics = await metricsOf([], [moment(100, 7n, 2n), moment(200, 8n, 3n)]);
    const rss = metrics.find(({ name }) => name === "mrm_trace.target.rss");
    expect(rss?.gauge?.dataPoints).toMatchObject([
      { asInt: "7", timeUnixNano: wall(100) },
      { asInt: "8", timeUnixNano: wall(200) },
    ]);
    const faults = metrics.find(({ name }) => name === "mrm_trace.target.minor_faults");
    expect([faults?.unit, faults?.sum?.aggregationTemporality]).toEqual(["{faults}", 1]);
    expect(faults?.sum?.dataPoints).toMatchObject([
      { asInt: "2", startTimeUnixNano: wall(0), timeUnixNano: wall(100) },
      { asInt: "3", startTimeUnixNano: wall(100), timeUnixNano: wall(200) },
    ]);
    expect(metrics.map(({ name }) => name)).not.toContain("mrm_trace.target.pss");
  });
});
