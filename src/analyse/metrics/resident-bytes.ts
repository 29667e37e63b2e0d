/** How much of a class can be resident: the address space that it has may be far larger. */
import { interval } from "../../statistics/interval.ts";
import { peakBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const METRIC = "resident_bytes";

/** Most that all processes of the target had resident at one moment of the span; null where nobody knows. */
function targetPeak({ input, span }: Group): number | null {
  const { counts } = input;
  const index = counts?.spans.findIndex(({ phase, step }) => phase === span.phase && step === span.step) ?? -1;
  return counts?.process?.[index]?.peak_hi_bytes ?? null;
}

function figures(group: Group): Figure[] {
  if (group.regions.rows.length === 0) return [];
  const mapped = peakBytes(group.regions, group.span);
  const target = targetPeak(group);
  const most = target === null ? mapped : Math.min(mapped, target);
  return [
    {
      metric: METRIC,
      source: "region_map",
      estimate: interval(null, null, most),
      n: group.regions.rows.length,
      coverage: 1,
      census: true,
      bound: true,
      method: "the smaller of what the class has mapped and what the target has resident, each at its peak",
      why: "which of its pages are resident is not recorded",
    },
  ];
}

export const residentBytes: MetricFamily = {
  metrics: [
    {
      name: METRIC,
      unit: "bytes",
      definition: "Most bytes of the class that can be resident at one moment.",
      formula: "max over moments of the bytes of the class that are resident",
      averaged_over: "nothing",
    },
  ],
  estimator:
    "An upper end: no more than the class has mapped at one moment, and no more than the target has resident at one (`rss_peak_bytes`). n counts regions.",
  sources: [["region_map", "every mapping is recorded, and /proc tells what the target has resident"]],
  not_by_sampling: null,
  suppressed: "No region of the class.",
  spans: "phases",
  figures,
};
