/** Options of a collector or source that takes no part in the run: they do nothing, which is said. */
import { PERF_MEM_HINT, perfMemOptions } from "../collect/perf-mem/perf-command.ts";
import type { EffectiveOption } from "../config/effective.ts";
import type { AttachOptions, CollectorName } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";

/** The collector of each option that is of one alone. */
const COLLECTOR_OF: Readonly<Record<string, CollectorName>> = {
  perf: "perf-mem",
  memray: "memray",
  ebpf: "ebpf",
  source: "ebpf",
  clock_hz: "ebpf",
  budget: "ebpf",
  check_invariance: "ebpf",
  watch_registers: "ebpf",
};

/**
 * A line for each flag that does nothing. What a file or a variable gives is for many runs, and is not told of.
 * @throws MrmTraceError usage for events that perf-mem has not, whether it runs or not
 */
export function unusedOptions(
  given: readonly EffectiveOption[],
  { collector: collectors, source, perf }: Pick<AttachOptions, "collector" | "source" | "perf">,
): string[] {
  const wrong = perfMemOptions(perf);
  if (typeof wrong === "string") throw new MrmTraceError("usage", `--perf: ${wrong}`, PERF_MEM_HINT);
  return given.flatMap(({ key, from: flag }) => {
    const name = key.replace(/^run\./, "");
    const collector = COLLECTOR_OF[name];
    if (collector === undefined || !key.startsWith("run.") || !flag.startsWith("--")) return [];
    if (!collectors.includes(collector)) {
      return [`${flag} does nothing: it is of the collector ${collector}, and --collector is ${collectors.join(",")}`];
    }
    if (name === "clock_hz" && !source.includes("clock")) {
      return [`${flag} does nothing: it is of --source clock, and --source is ${source.join(",")}`];
    }
    return [];
  });
}
