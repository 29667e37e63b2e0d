/** How much of a class is resident: the address space that it has may be far larger. */
import { NO_LOOKS, totalsOf } from "../../label/regions/residency.ts";
import { interval } from "../../statistics/interval.ts";
import { peakPageBytes } from "../input/class-bytes.ts";
import type { Group } from "../input/group.ts";
import { isInside } from "../input/span.ts";
import { markSlackBytes } from "../process/mark-slack.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const METRIC = "resident_bytes";

/** Most that all processes of the target had resident at one moment of the span, up to their last readings; null where nobody knows. */
function targetPeak({ input, span }: Group): number | null {
  const { counts } = input;
  const index = counts?.spans.findIndex(({ phase, step }) => phase === span.phase && step === span.step) ?? -1;
  const peak = counts?.process?.[index]?.read_peak_bytes ?? null;
  return peak === null ? null : peak + markSlackBytes(input.cpus);
}

/** What the looks in the span found, most of all and how many they were. */
function found({ input, regions, span }: Group): { readonly most: number; readonly looks: number } {
  const { residency = NO_LOOKS } = input;
  const totals = totalsOf(residency, regions.rows);
  const looks = residency.look_ns.flatMap((time_ns, look) =>
    isInside(span, time_ns) && (totals.regions[look] as number) > 0 ? [totals.bytes[look] as number] : [],
  );
  return { most: looks.reduce((most, bytes) => Math.max(most, bytes), 0), looks: looks.length };
}

function figures(group: Group): Figure[] {
  if (group.regions.rows.length === 0) return [];
  const mapped = peakPageBytes(group.regions, group.span);
  const target = targetPeak(group);
  const most = target === null ? mapped : Math.min(mapped, target);
  const looked = found(group);
  // Pages that are mapped twice were counted twice by the look.
  const held = Math.min(looked.most, mapped);
  if (looked.looks > 0) {
    return [
      {
        metric: METRIC,
        source: "residency",
        estimate: interval(held, held, Math.max(held, most)),
        n: looked.looks,
        census: true,
        method:
          "the look at page tables that found most; no more between two looks than is mapped, and than the traced processes have resident",
      },
    ];
  }
  const isLooked = (group.input.residency ?? NO_LOOKS).look_ns.length > 0;
  return [
    {
      metric: METRIC,
      source: "region_map",
      estimate: interval(null, null, most),
      n: group.regions.rows.length,
      coverage: 1,
      census: true,
      bound: true,
      method: "the smaller of what the class has mapped and what the traced processes have resident, each at its peak",
      why: isLooked ? "no look at its pages fell into that time" : "which of its pages are resident is not recorded",
    },
  ];
}

export const residentBytes: MetricFamily = {
  metrics: [
    {
      name: METRIC,
      unit: "bytes",
      definition: "Most bytes of the class that are resident at one moment.",
      formula: "max over moments of the bytes of the class that are resident",
      averaged_over: "nothing",
    },
  ],
  estimator: [
    "What the look that found most of the class found, at about one a second and fewer in a long run; n counts looks.",
    "It is no sample: a look asks for every page of every mapping of the traced processes, and a page is resident where the page table of the process has it, as for its resident set.",
    "A page of a file counts where the process has touched it, also where other processes share it, and not where the page cache alone has it; in two of them it counts twice, as in two mappings of one process, but that a class has no more than it has mapped, where a tensor of a file that is mapped twice counts once; swapped pages and the page of zeros do not count.",
    "A tensor has of a page the bytes that it shares with it.",
    "Between two looks there may have been more: the upper end of the interval holds at any moment up to the last reading of /proc, at most 0.1 s before a process ends: no more than the class has mapped at one and no more than the traced processes have resident at one (the kernel's mark, as of `rss_peak_bytes`).",
    "Without a look, that upper end is all there is, and n counts regions.",
  ],
  sources: [
    ["residency", "/proc/PID/pagemap tells which pages of each mapping are in memory"],
    ["region_map", "every mapping is recorded, and /proc tells what the traced processes have resident"],
  ],
  not_by_sampling: null,
  suppressed: "No region of the class.",
  spans: "phases",
  figures,
};
