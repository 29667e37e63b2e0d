import { describe, expect, test } from "bun:test";
import type { AllocationSample } from "../../../../src/analyse/input/input.ts";
import { metricsPage } from "../../../../src/analyse/metrics/metrics-page.ts";
import { computeMetrics, METRICS, printedFigures } from "../../../../src/analyse/metrics/registry.ts";
import { columnsOf } from "../../../../src/schema/columns.ts";
import { ledgerRow } from "../../../fixtures/ledger.ts";
import { input, MS, region, watch } from "../sample-input.ts";
import { readers, STEPS, weights } from "../sample-weights.ts";

test("the printed figure is the first source that says something, each grain its own", () => {
  const steps = STEPS.map((step) => ({ ...step, step: "prefill" as const })).slice(0, 20);
  const kvRows = steps.map((step) => ({
    write_ns: step.begin_ns,
    is_written: true,
    last_read_ns: Number.NaN,
    evict_ns: Number.NaN,
    total_reads: 0,
    size_bytes: 64,
    filling: 0,
    writes: "once" as const,
  }));
  const watches = Array.from({ length: 40 }, (_, i) =>
    watch([[(105 + i) * MS, "store"]], { begin_ns: (100 + i) * MS, end_ns: (110 + i) * MS, region_type: "kv_cache" }),
  );
  const regions = [region({ region_type: "kv_cache", evidence: "engine_probe" })];
  const rows = computeMetrics(input({ steps, kvRows, watches, regions })).filter(
    (r) => r.metric === "write_bytes_per_s" && r.step === "prefill",
  );
  expect(rows.map((r) => [r.source, r.status])).toEqual([
    ["step", "insufficient"],
    ["watch", "ok"],
  ]);
  expect(printedFigures(rows).map((r) => r.source)).toEqual(["watch"]);
});

const OF_ALLOCATIONS = ["allocated_total_bytes", "allocations_total"];

describe("rows", () => {
  const rows = weights();

  test("have the columns of the table, in its order", () => {
    expect(Object.keys(rows[0] ?? {})).toEqual(columnsOf("metrics").map((c) => c.name));
  });

  test("cover every metric of the registry that a watch or the map tells", () => {
    const told = new Set(rows.map((r) => r.metric));
    const otherSources = ["loads_per_s", "stores_per_s", "iai_mean_ns", "loads_per_store"];
    otherSources.push(
      ...OF_ALLOCATIONS,
      "reuse_time_p50_ns",
      "reuse_time_p90_ns",
      "reuse_time_p99_ns",
      "reuse_time_mean_ns",
      "needs_per_write",
    );
    for (const { metrics } of METRICS) {
      for (const { name } of metrics) expect(told.has(name) || otherSources.includes(name)).toBe(true);
    }
  });

  test("are the same for the same seed", () => {
    expect(weights()).toEqual(rows);
  });

  test("processes without an engine are told by mapping kind", () => {
    const watches = ["heap", "anon"].flatMap((kind) =>
      readers(100, { region_type: "unknown", mapping_kind: kind, stratum: kind }),
    );
    const kinds = computeMetrics(input({ watches, window_ns: 1600 * MS })).filter((r) => r.metric === "iai_p50_ns");
    expect(kinds.map((r) => [r.region_type, r.mapping_kind, r.phase, r.n])).toEqual([
      ["unknown", "anon", "all", 100],
      ["unknown", "heap", "all", 100],
    ]);
  });
});

test("the page names every metric with its unit", () => {
  const page = metricsPage();
  for (const { metrics } of METRICS)
    for (const { name, unit } of metrics) expect(page).toContain(`| ${name} | ${unit} |`);
});

describe("a run whose collectors cannot tell", () => {
  const blind = { collector: "process", identifies: [], blind_to: "it reads /proc" };

  test("says of every metric that it is not identifiable, and why", () => {
    const rows = computeMetrics(input({ sight: [blind] }));
    const names = new Set(rows.map(({ metric }) => metric));
    const silent = METRICS.flatMap(({ metrics }) => metrics).filter(({ name }) => !names.has(name));
    expect(silent.map(({ name }) => name)).toEqual(OF_ALLOCATIONS);
    for (const row of rows.filter(({ scope }) => scope === "class")) {
      expect(row).toMatchObject({ status: "not_identifiable", source: "process", why: "it reads /proc", value: null });
    }
    const unread = rows.filter(({ scope, source }) => scope === "process" && source === "process");
    expect(unread.length).toBeGreaterThan(0);
    for (const row of unread) {
      expect(row).toMatchObject({ status: "not_identifiable", region_type: "all", value: null });
      expect(row.why).toBe("nobody read /proc of the traced process");
    }
  });

  test("blames the collector that was asked for, not the one that runs beside it", () => {
    const asked = { collector: "memray", identifies: ["region_map"], blind_to: "it sees no access" };
    const rows = computeMetrics(input({ sight: [asked, blind] }));
    const iai = rows.find(({ metric }) => metric === "iai_p50_ns");
    expect(iai).toMatchObject({ status: "not_identifiable", source: "memray", why: "it sees no access" });
    expect(rows.filter(({ scope, source }) => scope === "class" && source === "process")).toEqual([]);
  });

  test("lets a collector speak that feeds the metric", () => {
    const able = { collector: "ebpf", identifies: ["watch", "step", "region_map"], blind_to: "no PMU" };
    const rows = computeMetrics(input({ sight: [able, blind] }));
    expect(rows.filter(({ source }) => source === "ebpf").map(({ metric }) => metric)).toEqual([
      "reuse_time_p50_ns",
      "reuse_time_p90_ns",
      "reuse_time_p99_ns",
      "reuse_time_mean_ns",
      "loads_per_s",
      "stores_per_s",
      "iai_mean_ns",
      "loads_per_store",
      "same_page_fraction",
      "median_stride_bytes",
    ]);
  });
});

describe("a run that recorded allocations", () => {
  const one = (value: number) => Float64Array.from([value]);
  const all: AllocationSample = {
    mapping_kind: "allocation",
    is_part: false,
    lives: {
      n: one(9),
      bytes: one(90),
      middle_ns: one(50),
      least_ns: one(40),
      most_ns: one(60),
      ended: Uint8Array.from([1]),
    },
    processes: 1,
    allocations: 9,
    allocated_bytes: 90,
    highest_peak_bytes: 30,
    peaks_bytes: 30,
    is_cut: false,
  };
  const memray = { collector: "memray", identifies: ["allocation"], blind_to: "never a read or a write" };
  const ebpf = { collector: "ebpf", identifies: ["watch", "region_map", "step"], blind_to: "it has no PMU" };
  const allocations = [all, { ...all, mapping_kind: "allocation/malloc", is_part: true }];
  const ofKind = (rows: ReturnType<typeof computeMetrics>, kind: string) =>
    rows.filter((row) => row.mapping_kind === kind);

  test("has figures of them, and says of everything else that it cannot be told", () => {
    const rows = computeMetrics(input({ sight: [memray], allocations }));
    const whole = ofKind(rows, "allocation");
    expect(whole.filter(({ status }) => status === "ok").map(({ metric, value }) => [metric, value])).toEqual([
      ["allocated_bytes", 30],
      ["allocated_total_bytes", 90],
      ["allocations_total", 9],
      ["lifetime_p50_ns", 50],
      ["lifetime_p90_ns", 50],
      ["lifetime_p99_ns", 50],
    ]);
    const others = whole.filter(({ status }) => status !== "ok");
    expect(others.every(({ status, why }) => status === "not_identifiable" && why === memray.blind_to)).toBe(true);
    expect(ofKind(rows, "allocation/malloc").map(({ status }) => status)).toEqual(new Array(6).fill("ok"));
    expect(rows.filter(({ scope }) => scope === "class").length).toBe(whole.length + 6);
  });

  test("tells them apart from the regions of the same run, whose collector it does not speak for", () => {
    const regions = [region({ region_type: "runtime", death_censored: false })];
    const rows = computeMetrics(input({ sight: [ebpf, memray], allocations, regions }));
    const runtime = rows.filter(({ region_type, mapping_kind }) => region_type === "runtime" && mapping_kind === null);
    expect(runtime.find(({ metric }) => metric === "allocated_bytes")).toMatchObject({
      source: "region_map",
      value: 8000,
    });
    expect(runtime.some(({ source }) => source === "allocation")).toBe(false);
    expect(ofKind(rows, "allocation").some(({ source }) => source === "ebpf" || source === "watch")).toBe(false);
  });

  test("holds back what lost more than a hundredth of its allocations", () => {
    const ledger = [ledgerRow({ stream: "allocation", source: "allocation", stage: "decode" }, 100, 10)];
    const rows = ofKind(computeMetrics(input({ sight: [memray], allocations, ledger })), "allocation/malloc");
    expect(rows.every(({ status, value }) => status === "insufficient" && value === null)).toBe(true);
  });
});

test("how a figure is estimated is told in points of a few lines each, none of them twice", () => {
  const points = METRICS.flatMap(({ estimator }) => estimator);
  expect(points.filter((point) => point.length > 450)).toEqual([]);
  const full = points.filter((point) => !point.startsWith("As `"));
  expect(full.length).toBe(new Set(full).size);
});
