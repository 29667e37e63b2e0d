/** Bytes that a class holds at most. */

import { peakPageBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import { peakFigure } from "../process/allocation-figures.ts";
import type { Figure, MetricFamily } from "./metric.ts";

function figures(group: Group): Figure[] {
  if (group.allocations !== null) return [peakFigure("allocated_bytes", group.allocations)];
  const bytes = peakPageBytes(group.regions, group.span);
  const value = group.regions.rows.length > 0 ? bytes : null;
  return [
    {
      metric: "allocated_bytes",
      source: "region_map",
      estimate: { value, lo: value, hi: value },
      n: group.regions.rows.length,
      coverage: 1,
      census: true,
      method: "census of the regions: most bytes alive at one moment; no sampling error",
    },
  ];
}

export const allocatedBytes: MetricFamily = {
  metrics: [
    {
      name: "allocated_bytes",
      unit: "bytes",
      definition:
        "Most bytes of the class mapped, placed by the engine or allocated at one moment: address space, of which any part may be resident. A tensor of a file that a process maps more than once counts once; of any other file, or shared memory, each mapping counts.",
      formula: "max over moments of the sum of sizes of the regions alive",
      averaged_over: "nothing",
    },
  ],
  estimator: [
    "Sweep over births and deaths of the regions. n counts regions.",
    "Allocations are swept in the order of memray's records, which is exact for each process; of several processes the highest peak and the sum of the peaks are bounds, and of a capture that was cut its peak is a lower one.",
  ],
  sources: [
    ["region_map", "every mapping and tensor is recorded"],
    ["allocation", "memray records every allocation and every free, in their order"],
  ],
  not_by_sampling: null,
  suppressed: "No region of the class.",
  spans: "whole",
  figures,
};
