/** Whether a class suits managed-retention memory, by the thresholds of the Python package, where the intervals decide. */

import { interval } from "../../statistics/interval.ts";
import { FEWEST, UNDECIDED } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const METRIC = "suitability";
/** A class has the first label whose two conditions hold; `low_mrm` where neither label's do. */
const LABELS = [
  { label: "high_mrm", write_once: 0.8, quantile: "p99", least_ns: 10e9 },
  { label: "medium_mrm", write_once: 0.5, quantile: "p50", least_ns: 1e9 },
] as const;
const LOWEST = "low_mrm";

/** True, false, or undefined where the interval holds the threshold or nothing is known. */
function reaches(row: MetricRow | undefined, threshold: number): boolean | undefined {
  if (row === undefined || (row.status !== "ok" && row.status !== "bound")) return undefined;
  if (row.lo !== null && row.lo >= threshold) return true;
  return row.hi !== null && row.hi < threshold ? false : undefined;
}

/** Both hold; false as soon as one does not, whatever the other. */
function both(a: boolean | undefined, b: boolean | undefined): boolean | undefined {
  if (a === false || b === false) return false;
  return a === true && b === true ? true : undefined;
}

/** True where enough addresses were watched and no hit on them was, or may have been, a write. */
function onlyRead(group: Group): boolean {
  const { exposures } = group.every;
  if (group.kvRows.length > 0 || group.kvUntold !== null || exposures.length < FEWEST) return false;
  return exposures.every(({ passes }) => passes.writes.every((n) => n === 0) && passes.unknown.every((n) => n === 0));
}

const seconds = (ns: number): string => `${Number((ns / 1e9).toPrecision(3))} s`;

/** What a row leaves open, such as `retention_p99_ns is at least 3.2 s`. */
function openEnd(name: string, row: MetricRow | undefined, show: (x: number) => string): string {
  if (row === undefined || (row.status !== "ok" && row.status !== "bound")) {
    return `${name} is ${(row?.status ?? "insufficient").replace("_", " ")}`;
  }
  const { lo, hi } = row;
  if (lo !== null && hi !== null) return `${name} is between ${show(lo)} and ${show(hi)}`;
  if (lo !== null) return `${name} is at least ${show(lo)}`;
  return hi === null ? `${name} has no interval` : `${name} is at most ${show(hi)}`;
}

/** Grains above a line tell of pages: a page that is filled in pieces is rewritten, though its bytes are not. */
const LARGEST_GRAIN = 64;

/** The first row of a metric that says something, else the first. */
function rowFor(rows: readonly MetricRow[], metric: string): MetricRow | undefined {
  const metricRows = rows.filter((row) => row.metric === metric && (row.grain_bytes ?? 0) <= LARGEST_GRAIN);
  return metricRows.find((row) => row.status === "ok" || row.status === "bound") ?? metricRows[0];
}

function figures(group: Group, rows: readonly MetricRow[]): Figure[] {
  const byLife = onlyRead(group);
  const kept = byLife ? "lifetime" : "retention";
  const once = rowFor(rows, "write_once_ratio");
  const used = LABELS.map(({ quantile }) => rowFor(rows, `${kept}_${quantile}_ns`));
  let label: string = LOWEST;
  let why: string | undefined;
  for (const [i, rule] of LABELS.entries()) {
    const enough = byLife ? true : reaches(once, rule.write_once);
    const long = reaches(used[i], rule.least_ns);
    const holds = both(enough, long);
    if (holds === false) continue;
    label = holds === true ? rule.label : UNDECIDED;
    if (holds === undefined) {
      const ends = [
        ...(enough === undefined
          ? [
              `${openEnd("write_once_ratio", once, (x) => x.toPrecision(3))}, not clearly above or below ${rule.write_once}`,
            ]
          : []),
        ...(long === undefined
          ? [
              `${openEnd(`${kept} ${rule.quantile}`, used[i], seconds)}, not clearly above or below ${seconds(rule.least_ns)}`,
            ]
          : []),
      ];
      why = `${rule.label} is open: ${ends.join("; ")}`;
    }
    break;
  }
  const basis = [...(byLife ? [] : [once]), ...used].filter((row) => row !== undefined);
  if (byLife && label !== UNDECIDED) why = "never written in what was seen: judged by lifetime";
  return [
    {
      metric: METRIC,
      source: used[0]?.source ?? "watch",
      // That nothing is written is what the watches say.
      rests_on: [...basis.map(({ source }) => source), ...(byLife ? ["watch"] : [])],
      estimate: interval(null, null, null),
      n: basis.length > 0 ? Math.min(...basis.map((row) => row.n)) : 0,
      method: byLife
        ? "thresholds on lifetime, every end of both intervals on one side: high_mrm p99 >= 10 s, medium_mrm p50 >= 1 s"
        : `thresholds on write_once_ratio (${once?.source ?? "none"}) and retention (${used[0]?.source ?? "none"}), every end of both intervals on one side: high_mrm >= 0.8 and p99 >= 10 s, medium_mrm >= 0.5 and p50 >= 1 s`,
      label,
      ...(why === undefined ? {} : { why }),
    },
  ];
}

export const suitability: MetricFamily = {
  metrics: [
    {
      name: METRIC,
      unit: "label",
      definition:
        "`high_mrm`: write-once ratio at least 0.8 and retention p99 at least 10 s; `medium_mrm`: at least 0.5 and p50 at least 1 s; `low_mrm`: neither; `insufficient`: the intervals do not decide. The thresholds are those of the Python package. The answer is in `label`.",
    },
  ],
  estimator:
    "Each condition holds where the whole interval is at or above its threshold, fails where the whole interval is below, and is open otherwise; bounds count as intervals without one end. A label is given only where no open condition could change it. A class of which at least 30 addresses were watched and none was written is judged by the lifetime of its regions in place of both: mapped weights are written once, before we looked.",
  sources: [
    ["step", "retention of KV rows"],
    ["watch", "write-once ratio, and retention of what has no steps"],
    ["import", "both, of a trace that holds every access"],
    ["region_map", "lifetime of what is only read"],
  ],
  not_by_sampling: null,
  suppressed: "An interval that holds a threshold, or a figure that is not there: `insufficient`, with which.",
  spans: "whole",
  figures,
};
