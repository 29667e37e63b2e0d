/** Figures of the regions of a trace that holds every access: counts, without sampling error. */

import { lostCount, lostPct } from "../../schema/loss.ts";
import { tooLossy } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { AnalysisInput } from "../input/input.ts";
import type { RegionSum } from "../stream/region-sums.ts";
import { IMPORT } from "../stream/stream-figures.ts";
import type { RegionIdentity } from "./region-identity.ts";

/** Figures and what says the region. */
export interface RegionRows extends RegionIdentity {
  readonly rows: readonly MetricRow[];
}

const PAGE_BYTES = 4096;

interface Count {
  readonly metric: string;
  readonly unit: string;
  readonly value: number | null;
  /** Why there is no value. */
  readonly why: string;
  readonly grain_bytes?: number;
  /** True of what loads are told from stores for; `most` where those that nobody tells may add to it. */
  readonly byKind?: true;
  readonly most?: number;
  /** The ends where so many rows more may be of the region; absent where nothing can be said then. */
  readonly ends?: (more: number) => readonly [lo: number, hi: number | null];
}

function countsOf(sum: RegionSum): Count[] {
  const { loads, stores, unknown, rows, first_store_ns, last_load_ns, pages } = sum;
  const byKind = true;
  const upTo = (count: number) => (more: number) => [count, count + more] as const;
  const over = (top: number, bottom: number): number | null => (bottom > 0 ? top / bottom : null);
  const span =
    first_store_ns === null ? null : Math.max(0, (last_load_ns ?? Number.NEGATIVE_INFINITY) - first_store_ns);
  return [
    {
      metric: "total_reads",
      unit: "accesses",
      value: loads,
      why: "",
      byKind,
      most: loads + unknown,
      ends: upTo(loads),
    },
    {
      metric: "total_writes",
      unit: "accesses",
      value: stores,
      why: "",
      byKind,
      most: stores + unknown,
      ends: upTo(stores),
    },
    {
      metric: "read_fraction",
      unit: "ratio",
      value: over(loads, loads + stores),
      why: "neither read nor written",
      byKind,
      ends: (more) => [loads / (loads + stores + more), (loads + more) / (loads + stores + more)],
    },
    {
      metric: "reads_per_write",
      unit: "reads/write",
      value: over(loads, stores),
      why: "no store in the trace",
      byKind,
      ends: (more) => [loads / (stores + more), over(loads + more, stores)],
    },
    {
      metric: "retention_span_ns",
      unit: "ns",
      value: span,
      why: "no store in the trace",
      byKind,
      ...(span === null ? {} : { ends: () => [span, null] as const }),
    },
    {
      metric: "working_set_bytes",
      unit: "bytes",
      value: pages === null ? null : pages * PAGE_BYTES,
      why: "the regions of the trace touch more pages than are counted",
      grain_bytes: PAGE_BYTES,
      ...(pages === null ? {} : { ends: (more) => [pages * PAGE_BYTES, (pages + more) * PAGE_BYTES] as const }),
    },
    { metric: "mean_stride_bytes", unit: "bytes", value: over(sum.stride_sum_bytes, rows - 1), why: "one access" },
    {
      metric: "same_page_fraction",
      unit: "ratio",
      value: over(sum.same_page, rows - 1),
      why: "one access",
      grain_bytes: PAGE_BYTES,
    },
  ];
}

/**
 * What is printed of a count: nothing where too many rows were lost, and no more than ends where it may be larger.
 * @param lost why they are too many @param lostRows of which nobody knows the region
 */
function judged(
  count: Count,
  sum: RegionSum,
  lost: string | null,
  lostRows: number,
): Pick<MetricRow, "value" | "lo" | "hi" | "status" | "why"> {
  const { value, byKind, most, why } = count;
  const isOpen = byKind === true && sum.unknown > 0;
  const nothing = { value: null, lo: null, hi: null };
  if (lost !== null) return { ...nothing, status: "insufficient", why: lost };
  if (lostRows > 0 && !(isOpen && most === undefined)) {
    const missing = `${lostRows} rows of the trace are without an address or a time, and may be of it`;
    const [lo, hi] = count.ends?.(lostRows + (isOpen ? sum.unknown : 0)) ?? [0, null];
    // A lower end of nothing tells nothing.
    if (lo <= 0 && hi === null) return { ...nothing, status: "insufficient", why: missing };
    return { value: null, lo, hi, status: "bound", why: missing };
  }
  if (isOpen) {
    const untold = `${sum.unknown} of ${sum.rows} accesses may have read or written`;
    if (most === undefined) return { ...nothing, status: "insufficient", why: untold };
    return { value: null, lo: value, hi: most, status: "bound", why: untold };
  }
  if (value === null) return { ...nothing, status: "not_identifiable", why };
  return { value, lo: value, hi: value, status: "ok", why: null };
}

/** @param sums of regions, of a trace in which every row is one access */
export function streamRegions({ window_ns, ledger }: AnalysisInput, sums: readonly RegionSum[]): RegionRows[] {
  const lost_pct = lostPct(ledger, IMPORT);
  const lostRows = lostCount(ledger, IMPORT);
  const lost = tooLossy({ source: IMPORT, pct: lost_pct, isUnread: false });
  return sums.map((sum) => ({
    region_id: sum.region_id,
    name: null,
    tensor: null,
    layer: null,
    rows: countsOf(sum).map((count) => ({
      metric: count.metric,
      scope: "class",
      region_type: sum.region_type,
      mapping_kind: null,
      phase: "all",
      step: "all",
      grain_bytes: count.grain_bytes ?? null,
      source: IMPORT,
      unit: count.unit,
      ...judged(count, sum, lost, lostRows),
      ci_level: null,
      n: sum.rows,
      n_censored: 0,
      coverage: 1,
      window_ns,
      method: "census of the rows of the region; no sampling error",
      label: null,
      lost_pct,
    })),
  }));
}
