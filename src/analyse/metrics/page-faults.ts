/** How often the program touches memory that the kernel must give it first. */

import type { LedgerRow } from "../../schema/ledger.ts";
import { lostPct } from "../../schema/loss.ts";
import { interval } from "../../statistics/interval.ts";
import type { Group } from "../input/group.ts";
import { PROCESS, readingFigure } from "../process/census.ts";
import { FAULT_KINDS } from "../process/fault-sums.ts";
import type { Growth } from "../process/process-readings.ts";
import { type Figure, type MetricFamily, notIdentifiable } from "./metric.ts";

/** Source of these figures: the stream of faults. */
const FAULT = "fault";
const PER_SECOND = "faults_per_s";
const PER_TOKEN = "faults_per_token";
const NAMES: readonly string[] = [...FAULT_KINDS, PER_SECOND, PER_TOKEN];
const METHOD =
  "census of the faults, each by its address and time; no sampling error, up to those that were lost; n counts faults of the run";

/** Faults of the run without a row, at most: any of them may be of any class, kind and span. */
function lostFaults(rows: number, ledger: readonly LedgerRow[]): number {
  const share = (lostPct(ledger, FAULT) ?? 0) / 100;
  return share < 1 ? Math.ceil((rows * share) / (1 - share)) : 0;
}

function recorded(group: Group): Figure[] {
  const { faults, span, input } = group;
  const rows = input.counts?.faults?.rows ?? 0;
  if (faults === null) {
    // Said once, of the target as a whole.
    if (group.scope === "class") return [];
    return NAMES.map((metric) => notIdentifiable(metric, FAULT, 0, "no page faults were recorded"));
  }
  const lost = lostFaults(rows, input.ledger);
  const counted = (metric: string, count: number, per = 1): Figure => ({
    metric,
    source: FAULT,
    estimate: interval(count / per, count / per, (count + lost) / per),
    n: rows,
    coverage: 1,
    census: true,
    method: METHOD,
  });
  return [
    ...FAULT_KINDS.map((kind) => counted(kind, faults[kind])),
    ...(span.window_ns > 0 ? [counted(PER_SECOND, faults.faults, span.window_ns / 1e9)] : []),
    ...(span.tokens === null ? [] : [counted(PER_TOKEN, faults.faults, span.tokens)]),
  ];
}

/** What /proc counts of the target as a whole, with the faults that the kernel takes in a call. */
function read(group: Group): Figure[] {
  const { use } = group;
  if (use === null || use.readings === 0) return [];
  const withEarly = ({ value, lo, hi }: Growth, early: number): Growth => ({ value, lo, hi: hi + early });
  const minor = withEarly(use.growth.minor_faults, use.early.minor_faults);
  const major = withEarly(use.growth.major_faults, use.early.major_faults);
  const method =
    "growth of the counters of /proc/PID/stat; the ends hold whenever it grew between two readings or before the first";
  const both = { value: minor.value + major.value, lo: minor.lo + major.lo, hi: minor.hi + major.hi };
  const isOpen = use.unread_ns > 0;
  const why = isOpen ? "what a process did behind its last reading is not counted" : undefined;
  const counted = (metric: string, growth: Growth): Figure =>
    readingFigure(group, use, metric, isOpen ? { value: null, lo: growth.lo, hi: null } : growth, method, why);
  return [counted("faults", both), counted("major_faults", major)];
}

export const pageFaults: MetricFamily = {
  metrics: [
    {
      name: "faults",
      unit: "faults",
      definition: "Page faults taken, each once: minor and major ones.",
      formula: "number of faults in S",
      averaged_over: "nothing",
    },
    {
      name: "first_touches",
      unit: "faults",
      definition:
        "Those on a page that the process had not mapped: its first touch since it was mapped, given back or evicted. The others are of protection, such as the copy of a page that is shared until it is written.",
      formula: "number of those faults in S",
      averaged_over: "nothing",
    },
    {
      name: "file_first_touches",
      unit: "faults",
      definition: "First touches of pages of files. The kernel may map the neighbours of such a page with it.",
      formula: "number of those faults in S",
      averaged_over: "nothing",
    },
    {
      name: "major_faults",
      unit: "faults",
      definition: "Faults that had to wait for storage.",
      formula: "number of those faults in S",
      averaged_over: "nothing",
    },
    {
      name: "kernel_faults",
      unit: "faults",
      definition: "Faults that the kernel took while it copied to or from the memory of the program.",
      formula: "number of those faults in S",
      averaged_over: "nothing",
    },
    {
      name: PER_SECOND,
      unit: "faults/s",
      definition: "Faults per second of the span.",
      formula: "faults / S",
      averaged_over: "time",
    },
    {
      name: PER_TOKEN,
      unit: "faults/token",
      definition: "Faults per token that is decoded, or of the prompt in a prefill.",
      formula: "faults / N",
      averaged_over: "tokens",
    },
  ],
  estimator: [
    "Every fault is a row of the fault stream, and its address and time say of which region it is; what lies in no region that is known is unknown. /proc counts the faults of the traced processes as a whole, and also those that a call takes for a whole range at once, as mmap with MAP_POPULATE does: they are no exceptions of the program and have no row.",
    "Of faults whose rows were lost nobody knows the class, kind and span: the upper end of each count has room for all.",
    "What a process did from its last reading to its end, or that of the span, /proc does not count: its count is a lower end then. Of what its counters had at its first reading nobody knows how much was before the span: the upper end has all of it.",
  ],
  sources: [
    [FAULT, "every page fault of the traced processes is recorded, with its address"],
    [PROCESS, "/proc/PID/stat counts the faults of every traced process"],
  ],
  not_by_sampling: null,
  suppressed: "No fault recorded.",
  scopes: ["class", "process"],
  spans: "phases",
  figures: (group) => [...recorded(group), ...(group.scope === "process" ? read(group) : [])],
};
