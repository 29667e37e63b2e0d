import { describe, expect, test } from "bun:test";
import { rowOf } from "../../../../src/analyse/figures/figure-row.ts";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { RunCounts } from "../../../../src/analyse/input/input.ts";
import { spansOf } from "../../../../src/analyse/input/span.ts";
import type { Figure } from "../../../../src/analyse/metrics/metric.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { suitability } from "../../../../src/analyse/metrics/suitability.ts";
import { seededDraws } from "../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const S = 1e9;

type Ends = readonly [lo: number | null, hi: number | null];

/** The label and reason for a class with these intervals, or without a figure. */
function labelled(once: Ends | null, p50: Ends | null, p99: Ends | null): MetricRow {
  const written = Array.from({ length: 30 }, () => watch([[1 * MS, "store"]]));
  const [group] = groupsOf(input({ watches: written, regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  const row = (metric: string, ends: Ends | null): MetricRow => {
    const [lo, hi] = ends ?? [null, null];
    const value = lo !== null && hi !== null ? (lo + hi) / 2 : null;
    const figure: Figure = { metric, source: "watch", estimate: { value, lo, hi }, n: 400, method: "made up" };
    return rowOf(group, figure, "");
  };
  const rows = [row("write_once_ratio", once), row("retention_p50_ns", p50), row("retention_p99_ns", p99)];
  const [figure] = suitability.figures(group, rows);
  if (figure === undefined) throw new Error("no figure");
  return rowOf(group, figure, "label");
}

describe("suitability", () => {
  test("is high where both intervals are at or above 0.8 and 10 s", () => {
    const row = labelled([0.8, 0.9], [2 * S, 3 * S], [10 * S, 12 * S]);
    expect(row).toMatchObject({ label: "high_mrm", status: "ok", value: null, n: 400, why: null });
  });

  test("is medium where 0.8 or 10 s is clearly missed, and 0.5 and 1 s are clearly reached", () => {
    expect(labelled([0.5, 0.7], [1 * S, 3 * S], [20 * S, 30 * S]).label).toBe("medium_mrm");
    expect(labelled([0.9, 1], [1 * S, 3 * S], [4 * S, 9.9 * S]).label).toBe("medium_mrm");
  });

  test("is low where neither pair can hold, even if another figure is missing", () => {
    expect(labelled([0.1, 0.4], [2 * S, 3 * S], [20 * S, 30 * S]).label).toBe("low_mrm");
    expect(labelled([0.1, 0.4], null, null)).toMatchObject({ label: "low_mrm", status: "ok" });
    expect(labelled(null, [0.1 * S, 0.2 * S], [0.3 * S, 0.4 * S]).label).toBe("low_mrm");
  });

  test("is insufficient where an interval holds the threshold that decides, and says which", () => {
    const once = labelled([0.7, 0.9], [20 * S, 30 * S], [20 * S, 30 * S]);
    expect(once).toMatchObject({ label: "insufficient", status: "insufficient" });
    expect(once.why).toBe(
      "high_mrm is open: write_once_ratio is between 0.700 and 0.900, not clearly above or below 0.8",
    );
    const kept = labelled([0.9, 1], [2 * S, 3 * S], [9 * S, 11 * S]);
    expect(kept.why).toContain("retention p99 is between 9 s and 11 s");
    expect(labelled([0.9, 1], [0.9 * S, 1.1 * S], [1 * S, 5 * S]).why).toStartWith("medium_mrm is open");
  });

  test("takes a bound for what it is: at least is enough above, and never enough below", () => {
    expect(labelled([0.9, 1], [11 * S, null], [11 * S, null]).label).toBe("high_mrm");
    expect(labelled([0.9, 1], [0.1 * S, null], [0.2 * S, null])).toMatchObject({ label: "insufficient" });
    expect(labelled([0, 0.4], [0.1 * S, null], [0.2 * S, null]).label).toBe("low_mrm");
  });

  test("is insufficient, not low, where nothing is known", () => {
    const row = labelled(null, null, null);
    expect(row).toMatchObject({ label: "insufficient", status: "insufficient" });
    expect(row.why).toContain("write_once_ratio is insufficient");
  });
});

describe("data that nothing ended while it was looked at", () => {
  /** The label of written data needed for so long, of which `open` of 10 rows were not seen to end. */
  const needed = (lo: number, open: number, hi: number | null = null, look = 30 * S): MetricRow => {
    const written = Array.from({ length: 30 }, () => watch([[1 * MS, "store"]]));
    const [group] = groupsOf(input({ window_ns: look, watches: written, regions: [region()] }));
    if (group === undefined) throw new Error("no group");
    const kept = { source: "step", n: 100, n_censored: 10 * open, censored: 0, method: "made up" };
    const rows = ["retention_p50_ns", "retention_p99_ns"].map((metric) =>
      rowOf(group, { ...kept, metric, estimate: { value: null, lo, hi }, bound: true }, "ns"),
    );
    const once: Figure = {
      metric: "write_once_ratio",
      source: "step",
      estimate: { value: 1, lo: 1, hi: 1 },
      n: 100,
      method: "",
    };
    const [figure] = suitability.figures(group, [rowOf(group, once, "ratio"), ...rows]);
    if (figure === undefined) throw new Error("no figure");
    return rowOf(group, figure, "label");
  };

  test("is told to be kept as long as we looked, and how long that was, however long it was", () => {
    const row = needed(28 * S, 9);
    expect(row).toMatchObject({ label: "kept_throughout", status: "ok", value: null, window_ns: 30 * S });
    expect(row.why).toBe("nothing ended most of it in the 30 s that we looked: retention p99 is at least 28 s");
    expect(row.method).toEndWith("looked for 30 s");
    // Below the threshold of any label, too.
    expect(needed(4.6 * S, 10, null, 5 * S).label).toBe("kept_throughout");
  });

  test("is judged by its retention where most of it was seen to end", () => {
    expect(needed(16 * S, 4).label).toBe("high_mrm");
    expect(needed(16 * S, 9, 20 * S).label).toBe("high_mrm");
  });

  test("is not told to be kept where its last use was long before the end of the look", () => {
    expect(needed(12 * S, 9).label).toBe("high_mrm");
    expect(needed(2 * S, 9).label).toBe("insufficient");
  });
});

/** Faults on weights, all in the whole of the run. */
function countsOf(window_ns: number, write_faults: number): RunCounts {
  const counted = {
    faults: 9,
    first_touches: 9,
    file_first_touches: 9,
    major_faults: 0,
    kernel_faults: 0,
    write_faults,
  };
  const classes = [{ region_type: "weight", mapping_kind: null, spans: [counted] }] as const;
  return {
    spans: spansOf([], window_ns),
    process: null,
    memray: null,
    points: [],
    faults: { rows: 9, all: [counted], classes, files: [] },
  };
}

describe("weights that are only read", () => {
  const readers = Array.from({ length: 40 }, (_, i) =>
    watch([[(2 + i) * MS, "load"]], { region_type: "weight", mapping_kind: "file" }),
  );
  const lived = (
    death_s: number,
    looked_s: number,
    watches = readers,
    write_faults = 0,
    is_unwritable = true,
  ): MetricRow | undefined =>
    computeMetrics(
      input({
        window_ns: looked_s * S,
        watches,
        counts: countsOf(looked_s * S, write_faults),
        regions: [
          region({
            region_type: "weight",
            mapping_kind: "file",
            is_unwritable,
            death_ns: death_s * S,
            death_censored: death_s >= looked_s,
          }),
        ],
      }),
    ).find((row) => row.metric === "suitability" && row.region_type === "weight");

  test("are kept as long as we looked, whether that was long or short", () => {
    for (const seconds of [0.8, 9, 30]) {
      const row = lived(seconds, seconds);
      expect(row).toMatchObject({ label: "kept_throughout", status: "ok", source: "region_map" });
      expect(row?.why).toBe(
        `never written in what was seen, and nothing ended it in the ${seconds} s that we looked: lifetime p99 is at least ${seconds} s`,
      );
      expect(row?.method).toEndWith(`looked for ${seconds} s`);
    }
  });

  test("that a program frees as it ends are kept as long as we looked too", () => {
    expect(lived(29.9, 30)?.label).toBe("kept_throughout");
  });

  test("are judged by how long they live where they go while the work goes on", () => {
    expect(lived(30, 40)).toMatchObject({ label: "high_mrm", status: "ok", source: "region_map" });
    expect(lived(30, 40)?.why).toBe("never written in what was seen: judged by lifetime");
    expect(lived(5, 40)?.label).toBe("medium_mrm");
    expect(lived(0.5, 40)?.label).toBe("low_mrm");
  });

  test("are not judged by how long they live where the kernel gave them a page to write", () => {
    expect(lived(30, 40, readers, 1)).toMatchObject({ label: "insufficient" });
    expect(lived(30, 30, readers, 1)?.why).not.toContain("never written");
  });

  test("are not known to be written by nobody where the process may write, by watches that saw no write", () => {
    const row = lived(30, 30, readers, 0, false);
    expect(row).toMatchObject({ label: "insufficient", status: "insufficient" });
    expect(row?.why).toStartWith("high_mrm is open: no write seen at 40 addresses, where the process may write");
    expect(lived(30, 40, readers, 0, false)?.label).toBe("insufficient");
    // However seldom they are written, they live too shortly.
    expect(lived(0.5, 40, readers, 0, false)).toMatchObject({ label: "low_mrm", status: "ok" });
  });

  test("name the share that may be written where most of their bytes lie where nobody may write", () => {
    const of = (sealed_bytes: number): MetricRow | undefined => {
      const place = { region_type: "weight", mapping_kind: "file", death_ns: 30 * S, death_censored: true } as const;
      const sealed = region({ ...place, size_bytes: sealed_bytes, is_read_only: true });
      const buffer = region({ ...place, addr: 1n << 20n, size_bytes: 8000 - sealed_bytes });
      const rows = computeMetrics(input({ window_ns: 30 * S, watches: readers, regions: [sealed, buffer] }));
      return rows.find(({ metric }) => metric === "suitability");
    };
    expect(of(7200)).toMatchObject({ label: "kept_throughout", status: "ok" });
    expect(of(7200)?.why).toStartWith(
      "never written in what was seen (write_once_ratio is between 0.900 and 1.00), and nothing ended it",
    );
    expect(of(3200)).toMatchObject({ label: "insufficient", status: "insufficient" });
  });

  test("have no label of what is never written where each word is written every 2 s", () => {
    const random = seededDraws(1);
    const labels = Array.from({ length: 40 }, () => {
      const watches = Array.from({ length: 30 }, (_, i) => {
        const begin_ns = i * S;
        const end_ns = begin_ns + 80 * MS;
        const write_ns = begin_ns + 2 * S * random();
        const hits = [
          [begin_ns + 20 * MS, "load"] as const,
          ...(write_ns < end_ns ? [[write_ns, "store"] as const] : []),
        ];
        const times = { watch_id: i + 1, begin_ns, end_ns, dwell_limit_ns: 80 * MS };
        return watch(
          hits.toSorted(([a], [b]) => a - b),
          { ...times, region_type: "weight", mapping_kind: "anon" },
        );
      });
      return lived(30, 30, watches, 0, false)?.label;
    });
    expect(new Set(labels)).toEqual(new Set(["insufficient"]));
  });

  test("need no memory that keeps them where nobody reads them either", () => {
    const untouched = readers.map((one) => ({ ...one, hit_ns: new Float64Array(0), hit_op: new Uint8Array(0) }));
    expect(lived(30, 30, untouched)).toMatchObject({ label: "insufficient", status: "insufficient" });
    expect(lived(30, 30, untouched)?.why).toBe("neither read nor written at 40 addresses");
  });
});

describe("locality", () => {
  test("cannot be told by watches or samples, and says why", () => {
    const rows = computeMetrics(
      input({
        watches: Array.from({ length: 40 }, () => watch([[1 * MS, "load"]])),
        accessSums: [
          {
            region_type: "activation",
            mapping_kind: null,
            step: "none",
            source: "pebs",
            period_known: true,
            loads: Float64Array.of(5),
            stores: Float64Array.of(5),
            rows: 10,
            load_rows: 10,
            store_rows: 10,
            seen: [{ grain_bytes: 64, distinct: 5, once: 1, twice: 1 }],
            written: [],
          },
        ],
      }),
    ).filter((row) => row.metric === "same_page_fraction" || row.metric === "median_stride_bytes");
    expect(rows.map((row) => [row.source, row.status, row.why?.split(",")[0]])).toEqual([
      ["watch", "not_identifiable", "a watch sees its own bytes alone"],
      ["pebs", "not_identifiable", "the sample before a sample is not the access before it"],
      ["watch", "not_identifiable", "a watch sees its own bytes alone"],
      ["pebs", "not_identifiable", "the sample before a sample is not the access before it"],
    ]);
  });
});
