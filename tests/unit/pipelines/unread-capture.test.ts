import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableBatches } from "../../../src/columnar/read/table-batches.ts";
import { batchFromRows, rowsFromBatch } from "../../../src/columnar/rows.ts";
import { writeParquetFile } from "../../../src/columnar/write/parquet-writer.ts";
import { analyse } from "../../../src/pipelines/analyse.ts";
import { unknownFacts, writeFacts } from "../../../src/run-directory/facts.ts";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import type { StreamName } from "../../../src/schema/columns.ts";
import type { LedgerRow } from "../../../src/schema/ledger.ts";
import type { RunReport } from "../../../src/schema/run-json.ts";
import { ledgerRow } from "../../fixtures/ledger.ts";
import { ORIGIN, writeHandMadeRun, writeStream } from "../label/hand-made-run.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-unread-"));
const options = { output: join(folder, "results"), force: true, seed: 1, period: null };
const MORE = 400;
let made = "";
let whole: RunReport;
let copies = 0;

/** Rows that the recording wrote: those of the run known by hand, and a second segment of samples. */
const LEDGER: readonly LedgerRow[] = [
  ledgerRow({ stream: "mapping", source: "region_map", stage: "segments" }, 3, 0),
  ledgerRow({ stream: "tensor", source: "region_map", stage: "segments" }, 4, 0),
  ledgerRow({ stream: "step", source: "step", stage: "segments" }, 6, 0),
  ledgerRow({ stream: "access", source: "pebs", stage: "segments" }, 6 + MORE, 0),
  ledgerRow({ stream: "access", source: "watch", stage: "segments" }, 3, 0),
  ledgerRow({ stream: "watch", source: "watch", stage: "segments" }, 1, 0),
];

function factsWith(ledger: readonly LedgerRow[]) {
  return {
    ...unknownFacts("hand", "m", "", "target_ended"),
    validity: "clean" as const,
    reasons: [],
    warnings: [],
    ledger: ledger.map((row) => ({ ...row })),
  };
}

beforeAll(async () => {
  made = writeHandMadeRun();
  const more = Array.from({ length: MORE }, (_, i) => ({
    timestamp_ns: ORIGIN + BigInt(20_000_000 + i * 100_000),
    address: 0x7f0000000000n + 4096n + BigInt((i * 64) % 4096),
    op_type: "load" as const,
    ip: 0x10n,
    pid: 77,
    tid: 77,
    cpu: 0,
    source: "pebs" as const,
    period: 10n,
    in_kernel: false,
    op_evidence: "none" as const,
  }));
  writeStream(made, "access", more, 1);
  writeFacts(made, factsWith(LEDGER));
  whole = (await analyse(made, options)).report;
});
afterAll(() => {
  for (const path of [made, folder]) rmSync(path, { recursive: true, force: true });
});

function copyOfRun(): string {
  const path = join(folder, `copy-${copies++}`);
  cpSync(made, path, { recursive: true });
  return path;
}

const segment = (runDir: string, stream: StreamName, at: number): string =>
  listSegments(runDir, stream)[at]?.path ?? "";

/** Breaks the pages and leaves the footer. */
function corrupt(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xff, 4, 400));
}

const DAMAGES: readonly (readonly [string, (path: string) => void])[] = [
  ["cut", (path) => truncateSync(path, 100)],
  ["corrupted", corrupt],
  ["missing", (path) => rmSync(path)],
];

const readRows = (report: RunReport) => report.ledger.filter(({ stage }) => stage === "read");
const told = (report: RunReport, source: string) =>
  report.metrics.filter((row) => row.source === source && (row.value !== null || row.lo !== null || row.hi !== null));
const others = (report: RunReport, sources: readonly string[]) =>
  report.metrics.filter(({ source }) => !sources.includes(source));

test("a capture that is whole has no such row in its ledger, and keeps its class", () => {
  expect(readRows(whole)).toEqual([]);
  expect([whole.validity, whole.reasons]).toEqual(["clean", []]);
  expect(told(whole, "pebs").length).toBeGreaterThan(0);
});

describe.each(DAMAGES)("a segment of samples that is %s", (_how, damage) => {
  let report: RunReport;
  let runDir = "";
  beforeAll(async () => {
    runDir = copyOfRun();
    damage(segment(runDir, "access", 1));
    ({ report } = await analyse(runDir, options));
  });

  test("is in the ledger, with the rows that the recording wrote into it", () => {
    expect(readRows(report)).toEqual([
      expect.objectContaining({
        stream: "access",
        source: "pebs",
        seen: 6 + MORE,
        kept: 6,
        dropped: MORE,
        dropped_by: { unreadable: MORE },
      }),
    ]);
    expect(report.loss.find(({ source }) => source === "pebs")?.lost_pct).toBeCloseTo((100 * MORE) / (MORE + 6), 9);
  });

  test("holds back the figures of its source, and no others", () => {
    expect(told(report, "pebs")).toEqual([]);
    const held = report.metrics.filter(({ why }) => why === "segments of capture/ with events of pebs are missing");
    expect(new Set(held.map(({ source, status }) => `${source} ${status}`))).toEqual(new Set(["pebs insufficient"]));
    expect(others(report, ["pebs"]).filter(({ status }) => status === "ok").length).toBeGreaterThan(0);
    expect(others(report, ["pebs"])).toEqual(others(whole, ["pebs"]));
  });

  test("takes the run its class, and leaves every file", () => {
    expect(report.validity).toBe("contaminated");
    expect(report.reasons.join()).toContain("no figures of pebs");
    for (const name of ["trace.parquet", "region_map.parquet", "metrics.parquet", "metadata.json", "manifest.json"]) {
      expect([name, existsSync(join(runDir, name))]).toEqual([name, true]);
    }
    expect(report.warnings.some((line) => line.startsWith("skipped "))).toBe(true);
  });

  test("is told again by every later analysis", async () => {
    const again = (await analyse(runDir, options)).report;
    expect(readRows(again)).toEqual(readRows(report));
    expect(again.metrics).toEqual(report.metrics);
  });
});

test("without a ledger a missing segment holds back all sources that its stream feeds", async () => {
  for (const [how, damage] of DAMAGES) {
    const runDir = copyOfRun();
    writeFacts(runDir, factsWith([]));
    damage(segment(runDir, "access", 1));
    const { report } = await analyse(runDir, options);
    const [row, ...more] = readRows(report);
    expect([how, more]).toEqual([how, []]);
    // The footer of a corrupted file still tells.
    expect(row).toMatchObject({
      stream: "access",
      source: null,
      way: how === "corrupted" ? "1 segment" : "1 segment, 1 of unknown length",
      dropped: how === "corrupted" ? MORE : 0,
    });
    for (const source of ["pebs", "watch"]) expect([how, told(report, source)]).toEqual([how, []]);
    expect(told(report, "region_map").length).toBeGreaterThan(0);
  }
});

test("a segment of another stream that is lost holds back what that stream tells", async () => {
  for (const [stream, source] of [
    ["step", "step"],
    ["watch", "watch"],
    ["mapping", "region_map"],
  ] as const) {
    const runDir = copyOfRun();
    rmSync(segment(runDir, stream, 0));
    const { report } = await analyse(runDir, options);
    expect(readRows(report)).toEqual([expect.objectContaining({ stream, source, kept: 0 })]);
    expect([stream, told(report, source)]).toEqual([stream, []]);
  }
});

test("rows that the ledger has and no segment are missed even where no manifest is left", async () => {
  const runDir = copyOfRun();
  rmSync(segment(runDir, "access", 1));
  rmSync(join(runDir, "manifest.json"));
  const { report } = await analyse(runDir, options);
  expect(readRows(report)).toEqual([expect.objectContaining({ source: "pebs", dropped: MORE })]);
});

test("hits that a watch tells of and no segment has are lost, where the tracer was killed before its ledger", async () => {
  for (const [n_accesses, lost] of [
    [3, 0],
    [7, 4],
    [null, 0],
  ] as const) {
    const runDir = copyOfRun();
    rmSync(join(runDir, "capture", "facts.json"));
    rmSync(join(runDir, "manifest.json"));
    const path = segment(runDir, "watch", 0);
    const [watch] = [...tableBatches(path, "watch")].flatMap(rowsFromBatch);
    if (watch === undefined) throw new Error("the run has no watch");
    writeParquetFile(path, "watch", [batchFromRows("watch", [{ ...watch, n_accesses }])]);
    const { report } = await analyse(runDir, options);
    const row = report.ledger.find(({ stream, source }) => stream === "access" && source === "watch");
    expect(report.warnings.some((line) => line.includes("accesses that they saw are in no segment"))).toBe(lost > 0);
    expect([n_accesses, row?.dropped ?? 0, row?.stage ?? "segments"]).toEqual([n_accesses, lost, "segments"]);
    const held = report.metrics.some(({ why, source }) => source === "watch" && why?.includes("events were lost"));
    const lossy = report.metrics.some(({ source, lost_pct }) => source === "watch" && (lost_pct ?? 0) > 50);
    expect([n_accesses, held || lossy]).toEqual([n_accesses, lost > 0]);
  }
});
