/** How much CPU time the target takes. */
import type { Group } from "../input/group.ts";
import { growthFigure, PROCESS, TICKS_CUT_NS, unread } from "../process/census.ts";
import type { Growth } from "../process/process-readings.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const NAMES = ["cpu_ns", "cpu_user_ns", "cpu_system_ns", "cpus_busy", "cpu_per_token_ns"] as const;
const METHOD =
  "growth of the counters of /proc/PID/stat; the ends hold whenever it grew between two readings, before the first or behind the last, and what their ticks cut off; n counts readings";

const sum = (a: Growth, b: Growth): Growth => ({ value: a.value + b.value, lo: a.lo + b.lo, hi: a.hi + b.hi });

function figures(group: Group): Figure[] {
  const { use, span } = group;
  if (use === null || use.counted === 0) return unread(group, NAMES);
  const { cpu_user_ns: user, cpu_system_ns: system } = use.growth;
  const both = sum(user, system);
  const slack = TICKS_CUT_NS * use.counted;
  // Behind its last reading a process may have had every CPU.
  const cpus = group.input.cpus ?? 1;
  const behind = use.unread_ns * cpus;
  const early = { user: use.early.cpu_user_ns, system: use.early.cpu_system_ns };
  const grown = (metric: string, { value, lo, hi }: Growth, before: number, slackNs: number, per = 1): Figure => {
    // Before its first reading neither more than its counters had by then, nor than all CPUs in that time.
    const most = hi + behind + Math.min(before, use.early_ns * cpus);
    return growthFigure(group, use, metric, { value, lo, hi: most }, { per, slack: slackNs, method: METHOD });
  };
  const whole = (metric: string, per = 1): Figure => grown(metric, both, early.user + early.system, 2 * slack, per);
  return [
    whole("cpu_ns"),
    grown("cpu_user_ns", user, early.user, slack),
    grown("cpu_system_ns", system, early.system, slack),
    ...(span.window_ns > 0 ? [whole("cpus_busy", span.window_ns)] : []),
    ...(span.tokens !== null ? [whole("cpu_per_token_ns", span.tokens)] : []),
  ];
}

export const cpuTime: MetricFamily = {
  metrics: [
    {
      name: "cpu_ns",
      unit: "ns",
      definition: "CPU time of the traced processes, in user mode and in the kernel.",
      formula: "sum over processes of user + system time in S",
      averaged_over: "nothing",
    },
    {
      name: "cpu_user_ns",
      unit: "ns",
      definition: "The part of it in user mode.",
      formula: "sum over processes of user time in S",
      averaged_over: "nothing",
    },
    {
      name: "cpu_system_ns",
      unit: "ns",
      definition: "The part of it in the kernel.",
      formula: "sum over processes of system time in S",
      averaged_over: "nothing",
    },
    {
      name: "cpus_busy",
      unit: "CPUs",
      definition: "CPU time over wall time: how many CPUs the traced processes keep busy.",
      formula: "cpu_ns / (1e9 S)",
      averaged_over: "time",
    },
    {
      name: "cpu_per_token_ns",
      unit: "ns/token",
      definition: "CPU time per token that is decoded, or of the prompt in a prefill.",
      formula: "cpu_ns / N",
      averaged_over: "tokens",
    },
  ],
  estimator: [
    "Growth of the counters between the readings of /proc, 100 ms apart.",
    "Growth between two readings on both sides of an end of the span is shared out by time for the value, and counted not at all and in full for the ends.",
    "What a process did from its last reading to its end, or that of the span, is not in the value; the upper end has all CPUs of the machine for that time.",
    "Nor is what it did in the span before its first reading, as where `attach` took hold of other things first: the upper end has what its counters had by then, up to all CPUs for that time.",
  ],
  sources: [[PROCESS, "/proc/PID/stat of every traced process"]],
  not_by_sampling: null,
  suppressed: "No reading in the span.",
  scopes: ["process"],
  spans: "phases",
  figures,
};
