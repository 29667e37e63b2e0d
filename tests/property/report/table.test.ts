import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { renderRun } from "../../../src/report/table.ts";
import { encodeRun, type ReportMetric, type RunReport, runJsonSchema, toJson } from "../../../src/schema/run-json.ts";
import { demoReport, metricRow } from "../../fixtures/run-report.ts";

const figure = fc.oneof(
  fc.constant(null),
  fc.double(),
  fc.double({ min: 0, max: 1e12 }),
  fc.constantFrom(0, 1, -1, Number.NaN),
);
const anyText = fc.oneof(fc.string({ unit: "grapheme", maxLength: 60 }), fc.string({ unit: "binary", maxLength: 60 }));
const whole = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.nat());

const metric: fc.Arbitrary<ReportMetric> = fc
  .record({
    metric: fc.oneof(
      fc.constantFrom("iai_p50_ns", "working_set_bytes", "write_once_ratio", "read_bytes_per_s"),
      anyText,
    ),
    region_type: fc.oneof(fc.constantFrom("weight", "kv_cache", "activation", "runtime", "unknown", "all"), anyText),
    mapping_kind: fc.option(fc.constantFrom("heap", "anon", "file")),
    step: fc.constantFrom("decode", "prefill", "all"),
    grain_bytes: fc.option(fc.constantFrom(8, 64, 4096)),
    unit: fc.constantFrom("ns", "bytes", "bytes/s", "1", "%"),
    value: figure,
    lo: figure,
    hi: figure,
    n: whole,
    n_censored: whole,
    method: anyText,
    label: fc.option(anyText),
    status: fc.constantFrom("ok" as const, "bound" as const, "insufficient" as const, "not_identifiable" as const),
    why: fc.option(anyText),
  })
  .map((change) => metricRow(change.metric, change.region_type, null, change));

const report: fc.Arbitrary<RunReport> = fc
  .record({
    metrics: fc.array(metric, { maxLength: 25 }),
    model_id: anyText,
    stopped_by: anyText,
    run_dir: anyText,
    reasons: fc.array(anyText, { maxLength: 3 }),
    warnings: fc.array(anyText, { maxLength: 3 }),
    command: fc.array(anyText, { maxLength: 3 }),
    slowdown: figure,
  })
  .map(({ command, slowdown, ...change }) => {
    const base = demoReport();
    const slowdown_pct = { value: slowdown, lo: slowdown, hi: slowdown, method: "model" as const };
    return demoReport({ ...change, target: { ...base.target, command }, observer: { ...base.observer, slowdown_pct } });
  });

describe("whatever the report holds", () => {
  test("no line is wider than the terminal, coloured or not", () => {
    fc.assert(
      fc.property(
        report,
        fc.integer({ min: 20, max: 220 }),
        fc.boolean(),
        fc.boolean(),
        (run, width, color, unicode) => {
          for (const line of renderRun(run, { width, color, unicode }).split("\n")) {
            expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test("its JSON parses, validates, and holds null for every figure that is not finite", () => {
    fc.assert(
      fc.property(report, (run) => {
        const text = toJson(encodeRun(run));
        const read: unknown = JSON.parse(text);
        const back = runJsonSchema.parse(read);
        expect(back.metrics.length).toBe(run.metrics.length);
        back.metrics.forEach((row, i) => {
          const value = run.metrics[i]?.value ?? null;
          // JSON has no -0.
          expect(row.value).toBe(value !== null && Number.isFinite(value) ? value + 0 : null);
          expect(row.n).toBe(BigInt(run.metrics[i]?.n ?? -1));
        });
      }),
      { numRuns: 200 },
    );
  });
});
