/** What a program asked its allocators for in all. */
import { totalFigures } from "../process/allocation-figures.ts";
import type { MetricFamily } from "./metric.ts";

export const allocatedTotal: MetricFamily = {
  metrics: [
    {
      name: "allocated_total_bytes",
      unit: "bytes",
      definition: "Bytes that all allocations of the run asked for, whether or not they were freed again.",
      formula: "sum of sizes over allocations",
      averaged_over: "nothing",
    },
    {
      name: "allocations_total",
      unit: "allocations",
      definition: "Allocations of the run.",
      formula: "number of allocations",
      averaged_over: "nothing",
    },
  ],
  estimator: ["Counted: every allocation is in the capture. n counts allocations."],
  sources: [["allocation", "memray records every allocation"]],
  not_by_sampling: null,
  suppressed: "An aggregated capture.",
  spans: "whole",
  figures: (group) => (group.allocations === null ? [] : totalFigures(group.allocations)),
};
