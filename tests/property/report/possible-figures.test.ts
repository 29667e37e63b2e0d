import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { progressText } from "../../../src/report/progress.ts";
import { renderRun } from "../../../src/report/table.ts";
import type { ReportMetric, RunReport } from "../../../src/schema/run-json.ts";
import { demoReport, metricRow } from "../../fixtures/run-report.ts";

/** Figures that a broken estimator, a counter that wrapped or an old file may hold. */
const hostile = fc.oneof(
  fc.constant(null),
  fc.double(),
  fc.double({ min: -1e6, max: 1e6 }),
  fc.constantFrom(0, -0, 1.53e-59, -34.81, -18_800, 9357, 2 ** 64, Number.NaN, Number.NEGATIVE_INFINITY),
);

const metric: fc.Arbitrary<ReportMetric> = fc
  .record({
    metric: fc.constantFrom("iai_p50_ns", "working_set_bytes", "write_once_ratio", "read_bytes_per_s"),
    region_type: fc.constantFrom("weight", "kv_cache", "activation"),
    unit: fc.constantFrom("ns", "bytes", "bytes/s", "ratio", "faults/s", "passes/byte/token"),
    value: hostile,
    lo: hostile,
    hi: hostile,
    status: fc.constantFrom("ok" as const, "bound" as const),
  })
  .map(({ metric, region_type, ...change }) => metricRow(metric, region_type, null, change));

const report: fc.Arbitrary<RunReport> = fc
  .record({
    metrics: fc.array(metric, { maxLength: 12 }),
    figures: fc.array(hostile, { minLength: 14, maxLength: 14 }),
  })
  .map(({ metrics, figures }) => {
    const [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = figures.map((figure) => figure ?? null);
    const { observer, target, loss, ledger } = demoReport();
    return demoReport({
      metrics,
      loss: loss.map((row) => ({ ...row, lost_pct: a ?? null })),
      ledger: ledger.map((row) => ({ ...row, unseen_estimate: b ?? null })),
      target: {
        ...target,
        command: ["program"],
        wall_s: c ?? null,
        decode_tokens_per_s: d ?? null,
        decode_call_tokens_per_s: e ?? null,
        ttft_ms: f ?? null,
      },
      observer: {
        ...observer,
        cpu_pct: g ?? null,
        contention_pct: h ?? null,
        rss_pct_of_target: i ?? null,
        rss_pct_of_available: j ?? null,
        baseline_cpu_pct: k ?? null,
        slowdown_pct: { value: l ?? null, lo: m ?? null, hi: n ?? null, method: "model" },
      },
    });
  });

/** What no figure of a run can be: none, below nothing, or of a size that nobody measured. */
const IMPOSSIBLE = /NaN|Infinity|undefined|null|(?<![\w.,)~-])-\d|\de-[2-9]\d|\de\+|\d{20}/;

describe("no number is printed that cannot be", () => {
  test("in the report of a run, whatever figures it holds", () => {
    fc.assert(
      fc.property(report, (run) => {
        const text = renderRun(run, { width: 200, color: false, unicode: false });
        expect(text.split("\n").filter((line) => IMPOSSIBLE.test(line))).toEqual([]);
        const shares = [...text.matchAll(/(\S+) % of \d|(?:fault|process|watch) (\S+) %/g)];
        for (const [, ...found] of shares) expect(Number(found.find(Boolean) ?? 0)).not.toBeGreaterThan(100);
      }),
      { numRuns: 400 },
    );
  });

  test("in the line that says how far a run is", () => {
    const number = fc.oneof(fc.double(), fc.constantFrom(-18_800, 0, 1e300));
    fc.assert(
      fc.property(number, number, number, (events, elapsed, left) => {
        const text = progressText({ phase: "x", tokens: 1, events: 1, lost: 0, share: null }, elapsed, events, left);
        expect(text).not.toMatch(IMPOSSIBLE);
      }),
      { numRuns: 400 },
    );
  });
});
