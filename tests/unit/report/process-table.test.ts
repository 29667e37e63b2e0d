import { describe, expect, test } from "bun:test";
import { renderRun } from "../../../src/report/table.ts";
import { demoReport, metricRow } from "../../fixtures/run-report.ts";

const ofTarget = { scope: "process", phase: "all", step: "all", source: "process", ci_level: null } as const;

describe("what the target used", () => {
  const report = demoReport({
    metrics: [
      metricRow("rss_peak_bytes", "all", [286e6, 286e6, 286e6], ofTarget),
      metricRow("rss_peak_bytes", "all", null, { ...ofTarget, phase: "weight_load", status: "bound", lo: 270e6 }),
      metricRow("cpus_busy", "all", [0.84, 0.81, 0.86], { ...ofTarget, phase: "generation", step: "decode" }),
      ...demoReport().metrics,
    ],
  });
  const lines = renderRun(report, { width: 100, color: false, unicode: true }).split("\n");

  test("stands before the classes, by phase, exact figures without an interval", () => {
    const begin = lines.findIndex((line) => line.includes("whole run"));
    expect(lines.slice(begin, begin + 6).map((line) => line.trimEnd())).toEqual([
      "             whole run  loading    decode",
      "─".repeat(55),
      "memory in use",
      "  peak       273 MiB    ≥ 257 MiB  -",
      "CPU",
      "  CPUs busy  -          -          0.840 [0.810, 0.860]",
    ]);
    expect(begin).toBeLessThan(lines.findIndex((line) => line.includes("most at one moment, whole run")));
  });

  test("makes no column of the class table", () => {
    expect(lines.some((line) => /weight +kv_cache.* all\b/.test(line))).toBe(false);
    expect(lines.filter((line) => line.includes("rss_peak"))).toEqual([]);
  });
});
