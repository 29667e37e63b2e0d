import { describe, expect, test } from "bun:test";
import { rowOf } from "../../../../src/analyse/figures/figure-row.ts";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { AccessSums, KvRowSample, StepSample } from "../../../../src/analyse/input/input.ts";
import { type StepName, spanOf, spansOf } from "../../../../src/analyse/input/span.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import type { FaultSums } from "../../../../src/analyse/process/fault-sums.ts";
import type { ProcessUse } from "../../../../src/analyse/process/process-readings.ts";
import { judgeValidity } from "../../../../src/overhead/validity.ts";
import { runVerdict } from "../../../../src/report/run-lines.ts";
import { FIGURE_SOURCES, type FigureSource, type LedgerRow, STAGE_NAMES } from "../../../../src/schema/ledger.ts";
import { lossOf, worstLossPct } from "../../../../src/schema/loss.ts";
import { wordsOf } from "../../../../src/schema/row.ts";
import { encodeRun } from "../../../../src/schema/run-json.ts";
import type { Scope } from "../../../../src/schema/words.ts";
import { interval } from "../../../../src/statistics/interval.ts";
import { type LossCase, ledgerWith, lossCases, sourcesHarmed } from "../../../fixtures/ledger.ts";
import { demoReport } from "../../../fixtures/run-report.ts";
import { type GivenInput, input, MS, region, watch } from "../sample-input.ts";

const SOURCES = wordsOf("access", "source");

const STEPS: StepSample[] = Array.from({ length: 34 }, (_, i) => ({
  step: "decode",
  begin_ns: (100 + 10 * i) * MS,
  end_ns: (109 + 10 * i) * MS,
  n_tokens: 1,
}));

const KV_ROWS: KvRowSample[] = STEPS.map((step, i) => ({
  write_ns: step.begin_ns + MS,
  is_written: true,
  last_read_ns: i < 33 ? 439 * MS : Number.NaN,
  evict_ns: Number.NaN,
  total_reads: 33 - i,
  size_bytes: 1024,
  filling: i,
  writes: "once" as const,
}));

/** Watches of one read per token. */
const WATCHES = Array.from({ length: 32 }, (_, i) =>
  watch(
    Array.from({ length: 8 }, (_, k) => [(112 + 5 * i + 10 * k) * MS, "load"] as const),
    {
      begin_ns: (105 + 5 * i) * MS,
      end_ns: (182 + 5 * i) * MS,
      ended_by: "trap_limit",
      region_type: "weight",
      mapping_kind: "file",
    },
  ),
);

const sums = (source: string): AccessSums => ({
  region_type: "activation",
  mapping_kind: "anon",
  step: "none",
  source,
  period_known: true,
  loads: Float64Array.from({ length: 30 }, (_, i) => 2000 + 100 * (i % 3)),
  stores: Float64Array.from({ length: 30 }, (_, i) => 1000 + 50 * (i % 3)),
  rows: 5000,
  load_rows: 5000,
  store_rows: 5000,
  seen: [{ grain_bytes: 64, distinct: 120, once: 3, twice: 4 }],
  written: [],
});

const one = (value: number): Float64Array => Float64Array.from([value]);

const same = (value: number) => ({ value, lo: value, hi: value });

const USE: ProcessUse = {
  readings: 100,
  processes: 1,
  read_ns: 1000 * MS,
  peak_lo_bytes: 4096,
  peak_hi_bytes: 4096,
  read_peak_bytes: 4096,
  unread_ns: 0,
  early_ns: 0,
  early: { cpu_user_ns: 0, cpu_system_ns: 0, minor_faults: 0, major_faults: 0 },
  most: { rss_bytes: 4096, rss_anon_bytes: 4096, rss_file_bytes: 0, rss_shmem_bytes: 0 },
  pss_bytes: 4096,
  growth: {
    cpu_user_ns: same(500 * MS),
    cpu_system_ns: same(100 * MS),
    minor_faults: same(50),
    major_faults: same(0),
  },
  counted: 1,
};
const SPANS_COUNTED = [spanOf("all", "all", [[0, 1000 * MS]]), ...spansOf(STEPS, 1000 * MS)];

const FAULTS: FaultSums = {
  rows: 100,
  all: SPANS_COUNTED.map(() => ({
    faults: 100,
    first_touches: 90,
    file_first_touches: 9,
    major_faults: 1,
    kernel_faults: 2,
    write_faults: 80,
  })),
  classes: [],
  files: [],
};

const RUN: GivenInput = {
  counts: { spans: SPANS_COUNTED, process: SPANS_COUNTED.map(() => USE), memray: null, points: [], faults: FAULTS },
  watches: WATCHES,
  steps: STEPS,
  kvRows: KV_ROWS,
  regions: [region({ region_type: "weight", mapping_kind: "file", evidence: "file_header" }), region({})],
  residency: {
    look_ns: [200 * MS],
    latest: Int32Array.of(0, 1),
    before: [-1, -1],
    first_look: [0, 0],
    last_look: [0, 0],
    bytes: [4096, 4096],
  },
  accessSums: SOURCES.filter((source) => source !== "watch").map(sums),
  allocations: [
    {
      mapping_kind: "allocation",
      is_part: false,
      lives: {
        n: one(90),
        bytes: one(900),
        middle_ns: one(50),
        least_ns: one(40),
        most_ns: one(60),
        ended: Uint8Array.from([1]),
      },
      processes: 1,
      allocations: 90,
      allocated_bytes: 900,
      highest_peak_bytes: 300,
      peaks_bytes: 300,
      is_cut: false,
    },
  ],
};

const figures = (ledger: readonly LedgerRow[]): MetricRow[] => computeMetrics(input({ ...RUN, ledger }));

/** The places where figures say which sources they rest on. */
const PLACES: readonly (readonly [StepName, Scope])[] = [
  ["all", "class"],
  ["decode", "class"],
  ["all", "process"],
  ["decode", "process"],
];

/** A figure of a class or of the process, by a source, in a span, as the gate gives it. */
function gated(ledger: readonly LedgerRow[], source: FigureSource, step: StepName, asked: Scope): MetricRow {
  const groups = groupsOf(input({ ...RUN, ledger })).filter(({ allocations }) => allocations === null);
  const group = groups.find(({ span, scope }) => span.step === step && scope === asked);
  if (group === undefined) throw new Error(`no span ${step}`);
  const figure = { metric: "m", source, estimate: interval(1, 1, 1), n: 100, method: "by hand" };
  return rowOf(group, figure, "bytes");
}

/** What the three outputs say of a ledger, by source. */
function outputs(ledger: readonly LedgerRow[]) {
  const loss = lossOf(ledger);
  const unmeasured = {
    observer_cpu_pct: null,
    contention_pct: null,
    observer_rss_bytes: null,
    target_rss_bytes: null,
    mem_available_bytes: null,
    baseline_cpu_pct: null,
    slowdown_pct: null,
    throttle_events: null,
    peak_temperature_c: null,
  };
  const report = demoReport({ ledger, loss });
  const lines = runVerdict(report, { width: 2000, color: false, unicode: true });
  const printed = lines.map((line) => line.map(({ text }) => text).join("")).find((line) => line.startsWith("lost "));
  return {
    printed: printed ?? "",
    json: encodeRun(report).loss,
    validity: judgeValidity({ ...unmeasured, loss_pct: worstLossPct(ledger) }).checks.find(
      ({ check }) => check === "loss_pct",
    ),
  };
}

const SHARES = [0.5, 2, 50];
const CASES = lossCases(SHARES);
const PER_SOURCE = STAGE_NAMES.length * SHARES.length;
const CLASS = { 0.5: "clean", 2: "marginal", 50: "contaminated" } as const;
const nameOf = ({ stream, source, stage, pct }: LossCase): string =>
  `${pct} % of ${source ?? "all"} of ${stream} at ${stage}`;

/** Above 1 %; and whatever cannot be read back, for nobody knows how much more is gone. */
const holdsBack = ({ stage, pct }: LossCase): boolean => pct > 1 || stage === "read";

/** The source of a figure, the steps that cut its span, the map of its class, and the watches that say what is written at all. */
function restsOn({ metric, source, scope, mapping_kind, step }: MetricRow): string[] {
  const classed = scope === "class" && mapping_kind !== "allocation" ? ["region_map"] : [];
  const written = metric === "suitability" && source !== "step" ? ["watch"] : [];
  return [source, ...(step === "all" ? [] : ["step"]), ...classed, ...written];
}

describe("events that are lost", () => {
  test("at any stage of any source are the same number in the printed line, in --json, in the class and at the gate", () => {
    for (const lost of CASES) {
      const ledger = ledgerWith(lost);
      const harmed = sourcesHarmed(lost);
      const { printed, json, validity } = outputs(ledger);
      const shares = FIGURE_SOURCES.map((source) => ({ source, lost_pct: harmed.includes(source) ? lost.pct : 0 }));
      expect([nameOf(lost), json]).toEqual([nameOf(lost), shares]);
      const words = FIGURE_SOURCES.filter((source) => harmed.includes(source)).map(
        (source) => `${source} ${lost.pct} %`,
      );
      expect([nameOf(lost), printed]).toEqual([nameOf(lost), expect.stringContaining(`(${words.join(", ")});`)]);
      expect([nameOf(lost), validity]).toMatchObject([
        nameOf(lost),
        { value: lost.pct, result: CLASS[lost.pct as keyof typeof CLASS] },
      ]);
      for (const source of FIGURE_SOURCES) {
        for (const [step, scope] of PLACES) {
          const row = gated(ledger, source, step, scope);
          const isHarmed = restsOn(row).some((one) => (harmed as readonly string[]).includes(one));
          const holds = isHarmed && holdsBack(lost);
          const place = [nameOf(lost), source, step, scope];
          expect([...place, row.lost_pct, row.status, row.value]).toEqual([
            ...place,
            isHarmed ? lost.pct : 0,
            holds ? "insufficient" : "ok",
            holds ? null : 1,
          ]);
        }
      }
    }
  });

  test("of mappings hold back every figure of a class, and neither those of the process nor those of memray", () => {
    const rows = figures(ledgerWith({ stream: "mapping", source: "region_map", stage: "ring", pct: 2 }));
    const standing = rows.filter(({ status }) => status === "ok" || status === "bound");
    const places = standing.map(({ scope, mapping_kind }) => (scope === "class" ? mapping_kind : scope));
    expect(new Set(places)).toEqual(new Set(["allocation", "process"]));
    const watched = rows.find(({ metric, source }) => metric === "read_bytes_per_s" && source === "watch");
    expect(watched).toMatchObject({ status: "insufficient", why: "2 % of the events of region_map were lost" });
  });

  /** As before, in an interval that is no nearer. */
  const isWider = (row: MetricRow, before: MetricRow): boolean =>
    (row.value === null || row.value === before.value) &&
    (row.lo ?? Number.NEGATIVE_INFINITY) <= (before.lo ?? Number.NEGATIVE_INFINITY) &&
    (row.hi ?? Number.POSITIVE_INFINITY) >= (before.hi ?? Number.POSITIVE_INFINITY);

  test("of page faults, where they are few, may be of any class and kind: no count is exact", () => {
    const faults = (pct: number) =>
      figures(ledgerWith({ stream: "fault", source: "fault", stage: "ring", pct })).filter(
        ({ source, step, value }) => source === "fault" && step === "all" && value !== null,
      );
    const [whole, some] = [faults(0), faults(0.5)];
    expect(some.length).toBeGreaterThan(5);
    for (const [i, row] of some.entries()) {
      const { metric, value, hi } = whole[i] ?? row;
      expect([metric, hi]).toEqual([metric, value]);
      expect([metric, row.status, row.value, row.lo]).toEqual([metric, "ok", value, value]);
      expect([metric, (row.hi ?? 0) > (value ?? 0)]).toEqual([metric, true]);
      // 100 of them are left of 100.5: no more than one is gone.
      if (row.unit === "faults") expect([metric, row.hi]).toEqual([metric, (value ?? 0) + 1]);
    }
  });

  test("hold back exactly the figures of their source, whatever the stage, and the others stand; few lost traps and faults make intervals wider", () => {
    const whole = figures([]);
    const says = ({ status }: MetricRow): boolean => status === "ok" || status === "bound";
    const telling = new Set(whole.filter(says).map(({ source }) => source));
    // Figures of requests stand in a table of their own, one row a request: what was lost of them is no row there.
    expect(FIGURE_SOURCES.filter((source) => !telling.has(source))).toEqual(["request"]);
    // The whole of a run takes long: of each source and share one stage, another one each time.
    const some = CASES.filter(({ stage }, i) => STAGE_NAMES[Math.floor(i / PER_SOURCE) % STAGE_NAMES.length] === stage);
    for (const lost of some) {
      const harmed: readonly string[] = sourcesHarmed(lost);
      const rows = figures(ledgerWith(lost));
      expect(rows.length).toBe(whole.length);
      for (const [i, row] of rows.entries()) {
        const before = whole[i];
        if (before === undefined) throw new Error("no such row");
        const isHarmed = restsOn(row).some((source) => harmed.includes(source));
        const name = [nameOf(lost), row.metric, row.region_type, row.step, row.source];
        if (isHarmed && holdsBack(lost) && says(before)) {
          expect([...name, row.status, row.value, row.lo, row.hi]).toEqual([...name, "insufficient", null, null, null]);
          expect(row.why).toMatch(
            /^((2|50) % of the|segments of capture\/ with) events of [a-z_]+ (were lost|are missing)$/,
          );
        } else if (isHarmed && holdsBack(lost)) {
          expect([...name, row.status]).toEqual([...name, before.status]);
        } else if (isHarmed && ["watch", "fault"].some((source) => harmed.includes(source))) {
          expect([...name, isWider(row, before)]).toEqual([...name, true]);
        } else {
          expect([...name, { ...row, lost_pct: before.lost_pct }]).toEqual([...name, before]);
        }
      }
    }
  });
});
