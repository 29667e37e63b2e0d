/** The perf attribute of a timer that samples whatever runs, but no idle CPU. */
import { PERF_TYPE, type PerfAttr, SOFTWARE } from "../../../kernel/perf-event.ts";

export function timerAttr(periodNs: number): PerfAttr {
  return {
    type: PERF_TYPE.software,
    config: SOFTWARE.cpu_clock,
    sample_period: periodNs,
    flags: ["disabled", "exclude_idle"],
  };
}
