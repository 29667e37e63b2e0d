import { describe, expect, test } from "bun:test";
import { csvField, METRICS_CSV_HEADER, metricsCsv, pythonFloat } from "../../../src/report/csv.ts";
import { demoReport, metricRow, plainReport } from "../../fixtures/run-report.ts";

describe("metrics.csv", () => {
  test("has one row per class, sorted, and leaves empty what is no figure", () => {
    expect(metricsCsv(demoReport())).toMatchInlineSnapshot(`
      "region_type,n_regions,retention_p50_s,retention_p90_s,retention_p99_s,retention_mean_s,write_once_ratio_mean,reads_per_write_mean,working_set_mb_total,unique_pages_total,suitability,first_touches,major_faults,rss_peak_mb,cpu_s
      activation,6,0.0041,,,,0.02,1.96,,,low,,,,
      kv_cache,24,,,,,1.0,3941.0,22.88818359375,,high,,,,
      runtime,311,,,,,,,,,,,,,
      unknown,2,,,,,,,,,,,,,
      weight,201,,,,,,,112.5335693359375,,high,,,,
      "
    `);
  });

  test("begins with the header of the Python package", () => {
    expect(METRICS_CSV_HEADER.split(",")).toEqual([
      "region_type",
      "n_regions",
      "retention_p50_s",
      "retention_p90_s",
      "retention_p99_s",
      "retention_mean_s",
      "write_once_ratio_mean",
      "reads_per_write_mean",
      "working_set_mb_total",
      "unique_pages_total",
      "suitability",
    ]);
  });

  test("gives no figure of one kind of mapping for all kinds together", () => {
    const [, row, end] = metricsCsv(plainReport()).split("\n");
    expect(row).toBe("unknown,544,,,,,,,,,,,,,");
    expect(end).toBe("");
  });

  test("writes numbers as Python does", () => {
    expect([0, 1, -2, 0.1, 1e-5, 1.5e-7, 1e16, 123456789.25, 0.0001].map(pythonFloat)).toEqual([
      "0.0",
      "1.0",
      "-2.0",
      "0.1",
      "1e-05",
      "1.5e-07",
      "1e+16",
      "123456789.25",
      "0.0001",
    ]);
  });

  test("quotes what needs it and disarms what a spreadsheet would run", () => {
    expect(['a"b', "a,b", "=1+1", "plain"].map(csvField)).toEqual(['"a""b"', '"a,b"', "'=1+1", "plain"]);
  });

  test("has a row of the target as a whole, with its memory, its CPU time and its faults", () => {
    const whole = { phase: "all", step: "all" } as const;
    const ofTarget = { ...whole, scope: "process", source: "process" } as const;
    const metrics = [
      metricRow("rss_peak_bytes", "all", [2 ** 21, 2 ** 21, 2 ** 21], ofTarget),
      metricRow("cpu_ns", "all", [3e9, 3e9, 3e9], ofTarget),
      metricRow("cpu_ns", "all", [1e9, 1e9, 1e9], { ...ofTarget, phase: "idle" }),
      metricRow("first_touches", "all", [70, 70, 70], { ...ofTarget, source: "fault" }),
      metricRow("first_touches", "weight", [40, 40, 40], { ...whole, source: "fault" }),
      metricRow("first_touches", "weight", [9, 9, 9], { ...whole, phase: "idle", source: "fault" }),
    ];
    const rows = metricsCsv(demoReport({ metrics })).split("\n");
    expect(rows.find((line) => line.startsWith("weight"))).toBe("weight,201,,,,,,,,,,40,,,");
    expect(rows.at(-2)).toBe("all,544,,,,,,,,,,70,,2.0,3.0");
  });

  test("counts pages in blocks of a page where the source tells them", () => {
    const metrics = [64, 4096].map((grain_bytes) =>
      metricRow("working_set_bytes", "weight", [grain_bytes * 256, 0, 0], { grain_bytes }),
    );
    const row = metricsCsv(demoReport({ metrics }))
      .split("\n")
      .find((line) => line.startsWith("weight"));
    expect(row).toBe("weight,201,,,,,,,1.0,256,,,,,");
  });

  test("prefers the figure of decoding and skips what is not ok", () => {
    const metrics = [
      metricRow("retention_p50_ns", "weight", [1e9, 1e9, 1e9], { step: "prefill" }),
      metricRow("retention_p50_ns", "weight", [2e9, 2e9, 2e9]),
      metricRow("retention_p90_ns", "weight", null, { status: "bound", lo: 5e9 }),
    ];
    const row = metricsCsv(demoReport({ metrics }))
      .split("\n")
      .find((line) => line.startsWith("weight"));
    expect(row).toBe("weight,201,2.0,,,,,,,,,,,,");
  });
});
