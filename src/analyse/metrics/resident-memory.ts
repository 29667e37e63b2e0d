/** How much memory the target has in use. */
import { interval } from "../../statistics/interval.ts";
import type { Group } from "../input/group.ts";
import { ALLOCATION } from "../process/allocation-figures.ts";
import { PROCESS, readingFigure, unread } from "../process/census.ts";
import type { MemoryReadings } from "../process/load-memory-readings.ts";
import { markSlackBytes } from "../process/mark-slack.ts";
import type { ProcessUse } from "../process/process-readings.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const PEAK = "rss_peak_bytes";
/** Parts of the resident set, at one reading each. */
const PARTS = [
  ["rss_anon_most_bytes", "rss_anon_bytes", "Anonymous memory"],
  ["rss_file_most_bytes", "rss_file_bytes", "Pages of files"],
  ["rss_shmem_most_bytes", "rss_shmem_bytes", "Shared memory"],
] as const;
const PSS = "pss_most_bytes";

function peakFigure(group: Group, use: ProcessUse): Figure {
  const { peak_lo_bytes: lo, peak_hi_bytes: hi, processes } = use;
  const slack = markSlackBytes(group.input.cpus);
  const several = processes > 1 ? `up to ${processes} processes: their peaks need not have been at one moment` : null;
  const open =
    "the peak may have been between two readings, before the first, or behind the last one of a process that ended";
  return readingFigure(
    group,
    use,
    PEAK,
    { value: lo === hi ? hi : null, lo: Math.max(0, lo - slack), hi: hi === null ? null : hi + slack },
    "the kernel's own high-water mark (VmHWM) at each reading, with the readings themselves; n counts readings",
    lo === hi ? undefined : (several ?? open),
  );
}

/** The peak of what memray read: of several processes, that of the largest. Nobody knows what came and went between readings. */
function memrayPeak({ span }: Group, { readings, processes, read_ns, most_rss_bytes }: MemoryReadings): Figure {
  const between = "the peak may have been between two readings";
  const several = `${processes} processes, of which this is the largest: together they may have had more`;
  return {
    metric: PEAK,
    source: ALLOCATION,
    estimate: interval(null, most_rss_bytes, null),
    n: readings,
    coverage: span.window_ns > 0 ? Math.min(1, read_ns / span.window_ns) : null,
    census: true,
    method: "memray's reading every 10 ms, the most of them; n counts readings",
    why: processes > 1 ? several : between,
  };
}

function figures(group: Group): Figure[] {
  const { use } = group;
  if (use === null || use.readings === 0) {
    const memray = group.span.phase === "all" ? (group.input.counts?.memray ?? null) : null;
    return memray === null ? unread(group, NAMES) : [memrayPeak(group, memray), ...unread(group, NAMES.slice(1))];
  }
  const atReading = (metric: string, most: number): Figure =>
    readingFigure(group, use, metric, { value: most, lo: most, hi: most }, "most at one reading; n counts readings");
  const pss =
    use.pss_bytes === null
      ? unread(group, [PSS]).map((figure) => ({
          ...figure,
          why: "not read in this span: every 5 s at most, and never where that would hold a lock of the traced process for 10 ms",
        }))
      : [atReading(PSS, use.pss_bytes)];
  return [peakFigure(group, use), ...PARTS.map(([metric, part]) => atReading(metric, use.most[part])), ...pss];
}

const NAMES = [PEAK, ...PARTS.map(([metric]) => metric), PSS];

export const residentMemory: MetricFamily = {
  metrics: [
    {
      name: PEAK,
      unit: "bytes",
      definition:
        "Most resident memory of the traced processes at one moment. Pages that several of them share count for each.",
      formula: "max over moments of the sum over processes of resident bytes",
      averaged_over: "nothing",
    },
    ...PARTS.map(([name, , what]) => ({
      name,
      unit: "bytes",
      definition: `${what} in the resident set at the reading that had most of it.`,
      formula: "max over readings of the sum over processes of those bytes",
      averaged_over: "nothing",
    })),
    {
      name: PSS,
      unit: "bytes",
      definition: "Proportional set at the reading that had most: a page that n processes share counts 1/n for each.",
      formula: "max over readings of the sum over processes of their proportional set",
      averaged_over: "nothing",
    },
  ],
  estimator: [
    "Read from /proc every 100 ms, the proportional set every 5 s at most.",
    "The peak is the kernel's high-water mark where that of one process rose between two readings inside the span; else it lies between what was read and that mark. The ends have room for what the mark itself may be off: since Linux 6.2 the kernel leaves out what each CPU counted by itself, up to 32 pages, or twice as many as there are CPUs, of each CPU and kind of memory.",
    "Of several processes the sum of the marks is only an upper end.",
    "What a process that ended held behind its last reading nobody read, also where nobody saw when it ended: there is no upper end then.",
    "Where nobody read /proc, as in an imported capture of memray, the most that memray read of one process, every 10 ms, is a lower end of the peak of the whole run.",
  ],
  sources: [
    [PROCESS, "/proc/PID/status and smaps_rollup of every traced process"],
    [ALLOCATION, "memray reads the resident set of the processes that it traces"],
  ],
  not_by_sampling: null,
  suppressed: "No reading in the span.",
  scopes: ["process"],
  spans: "phases",
  figures,
};
