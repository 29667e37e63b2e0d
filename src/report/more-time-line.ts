/** The line that says how much longer a run would have to be for half of an interval. */
import type { RunReport } from "../schema/run-json.ts";
import { formatCount, formatNs } from "../units.ts";
import { type Line, type Terminal, wrap } from "./terminal.ts";

const NAMES: Readonly<Record<string, string>> = {
  read_bytes_per_s: "read",
  write_bytes_per_s: "written",
  reads_per_write: "reads per write",
  iai_p50_ns: "time between accesses, p50",
  retention_p50_ns: "kept for, p50",
};

/** One sentence; null where no interval is wide, or time would not narrow it. */
export function moreTimeText({ more_time }: RunReport): string | null {
  if (more_time === null) return null;
  const { metric, region_type, mapping_kind, half_width_pct, more_s } = more_time;
  const kind = mapping_kind === null || region_type !== "unknown" ? region_type : mapping_kind;
  const now = `the ±${formatCount(half_width_pct ?? 0)} %`;
  return `run ${formatNs(1e9 * more_s)} longer to halve ${now} of ${kind}, ${NAMES[metric] ?? metric}`;
}

/** The sentence below a blank line. */
export function moreTimeLine(report: RunReport, { width }: Terminal): Line[] {
  const text = moreTimeText(report);
  return text === null ? [] : [[], ...wrap(text, width).map((part): Line => [{ text: part }])];
}
