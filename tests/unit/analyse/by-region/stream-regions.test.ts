import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { streamRegions } from "../../../../src/analyse/by-region/stream-regions.ts";
import { reduceTrace } from "../../../../src/analyse/stream/reduce.ts";
import { regionSums } from "../../../../src/analyse/stream/region-sums.ts";
import { openTraceFile } from "../../../../src/label/trace/trace-file.ts";
import { OP } from "../../../../src/schema/operation.ts";
import { GOLDEN_ANALYSIS, GOLDEN_TRACE } from "../../../fixtures/python-package.ts";
import { input } from "../sample-input.ts";

const noEngine = async (): Promise<never> => {
  throw new Error("decoded without the SQL engine");
};

type Row = Readonly<Record<string, number | string | null>>;
const golden: Readonly<Record<string, readonly Row[]>> = JSON.parse(readFileSync(GOLDEN_ANALYSIS, "utf8"));

test("regions of a trace have the counts that the Python package gives them", async () => {
  const reduced = await reduceTrace(noEngine, await openTraceFile(noEngine, GOLDEN_TRACE), 1);
  const regions = new Map(
    streamRegions(input(), reduced.regionSums).map(({ region_id, rows }) => [
      region_id,
      new Map(rows.map((row) => [row.metric, row.value])),
    ]),
  );
  let compared = 0;
  for (const [table, names] of [
    ["read_freq", { total_reads: "total_reads", total_writes: "total_writes", read_fraction: "read_fraction" }],
    ["working_set_per_region", { working_set_bytes: "working_set_bytes" }],
    ["locality_per_region", { mean_stride_bytes: "mean_stride_bytes", same_page_fraction: "same_page_fraction" }],
  ] as const) {
    for (const row of golden[table] ?? []) {
      for (const [metric, column] of Object.entries(names)) {
        const value = regions.get(Number(row.region_id))?.get(metric) ?? null;
        // A region with one row has no stride: there it gives 0.
        expect([table, row.region_id, metric, value ?? 0]).toEqual([
          table,
          row.region_id,
          metric,
          expect.closeTo(Number(row[column]), 6),
        ]);
        compared += 1;
      }
    }
  }
  expect(compared).toBeGreaterThan(1000);
});

test("a region needs what was written to it from its first store to its last load, where it had a store", async () => {
  const reduced = await reduceTrace(noEngine, await openTraceFile(noEngine, GOLDEN_TRACE), 1);
  const spans = new Map(
    streamRegions(input(), reduced.regionSums).map(({ region_id, rows }) => [
      region_id,
      rows.find(({ metric }) => metric === "retention_span_ns")?.value ?? null,
    ]),
  );
  const written = new Set(
    (golden.read_freq ?? []).filter((row) => Number(row.total_writes) > 0).map((row) => row.region_id),
  );
  for (const { region_id, retention_ns } of golden.retention_per_region ?? []) {
    // Without a store it takes the first access for one.
    const expected = written.has(region_id ?? null) ? Number(retention_ns) : null;
    expect([region_id, spans.get(Number(region_id)) ?? null]).toEqual([region_id, expected]);
  }
});

test("a region with accesses of which nobody knows whether they read or wrote has bounds of both, and no ratio", () => {
  const ops = [OP.load, OP.load, OP.store, OP.unknown];
  const sums = regionSums();
  sums.add(
    new Uint32Array(4).fill(1),
    new Uint32Array(8),
    Uint32Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? i : 0)),
    Uint32Array.from(ops),
    new Uint8Array(4).fill(1),
    4,
  );
  const [region] = streamRegions(input(), sums.sums());
  const row = (metric: string) => region?.rows.find((one) => one.metric === metric);
  expect(row("total_reads")).toMatchObject({ status: "bound", value: null, lo: 2, hi: 3 });
  expect(row("total_writes")).toMatchObject({ status: "bound", value: null, lo: 1, hi: 2 });
  for (const metric of ["read_fraction", "reads_per_write", "retention_span_ns"]) {
    const why = "1 of 4 accesses may have read or written";
    expect(row(metric)).toMatchObject({ status: "insufficient", value: null, lo: null, hi: null, why });
  }
  expect(row("working_set_bytes")).toMatchObject({ status: "ok", value: 4096 });
});

test("a region of a trace with rows that nobody can place has ends that hold them", () => {
  const sums = regionSums();
  const rows = 1000;
  sums.add(
    new Uint32Array(rows).fill(1),
    new Uint32Array(2 * rows),
    Uint32Array.from({ length: 2 * rows }, (_, i) => (i % 2 === 0 ? i : 0)),
    Uint32Array.from({ length: rows }, (_, i) => (i < 200 ? OP.store : OP.load)),
    new Uint8Array(rows).fill(1),
    rows,
  );
  const counts = { seen: 1005, kept: 1000, filtered: 0, dropped: 5, dropped_by: { incomplete: 5 } };
  const place = { stream: "access", source: "import", stage: "decode", way: null, pid: null } as const;
  const ledger = [{ ...place, ...counts, unseen_estimate: null }];
  const [region] = streamRegions(input({ ledger }), sums.sums());
  const row = (metric: string) => region?.rows.find((one) => one.metric === metric);
  expect(row("total_reads")).toMatchObject({ status: "bound", value: null, lo: 800, hi: 805 });
  expect(row("total_writes")).toMatchObject({ status: "bound", value: null, lo: 200, hi: 205 });
  expect(row("read_fraction")).toMatchObject({ status: "bound", lo: 800 / 1005, hi: 805 / 1005 });
  expect(row("reads_per_write")).toMatchObject({ status: "bound", lo: 800 / 205, hi: 805 / 200 });
  expect(row("working_set_bytes")).toMatchObject({ status: "bound", lo: 4096, hi: 6 * 4096 });
  expect(row("same_page_fraction")).toMatchObject({ status: "insufficient", value: null });
});

test("regions and pages for which there is no room are left out, and that is said", () => {
  const sums = regionSums();
  const rows = 5000;
  sums.add(
    Uint32Array.from({ length: rows }, (_, i) => i + 1),
    new Uint32Array(2 * rows),
    new Uint32Array(2 * rows),
    new Uint32Array(rows),
    new Uint8Array(rows).fill(1),
    rows,
  );
  expect([sums.sums().length, sums.isWhole]).toEqual([4096, false]);
  expect(sums.sums()[0]).toMatchObject({ region_id: 0, rows: 1, pages: 1 });
});
