/** metrics.csv: one row per class and one of the target, for people and for readers of the Python package. */
import type { ReportMetric, RunReport } from "../schema/run-json.ts";

/** The header of the Python package, byte for byte. */
export const METRICS_CSV_HEADER =
  "region_type,n_regions,retention_p50_s,retention_p90_s,retention_p99_s,retention_mean_s,write_once_ratio_mean,reads_per_write_mean,working_set_mb_total,unique_pages_total,suitability";

/** Columns of ours behind it; those of the target as a whole have values in the row `all` alone. */
const OWN_COLUMNS = "first_touches,major_faults,rss_peak_mb,cpu_s";

const MIB = 2 ** 20;
const PAGE_BYTES = 4096;

/** A number as Python's repr writes it: `2.0`, `1e-05`, `1e+16`. */
export function pythonFloat(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    const [digits = "", exponent = "0"] = value.toExponential().split("e");
    return `${digits}e${exponent.startsWith("-") ? "-" : "+"}${exponent.replace(/^[+-]/, "").padStart(2, "0")}`;
  }
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** A field, quoted where it must be (RFC 4180); text that a spreadsheet would run as a formula gets an apostrophe. */
export function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function figure(rows: readonly ReportMetric[], metric: string, scale: (value: number) => string): string {
  const usable = rows.filter((row) => row.metric === metric && row.status === "ok");
  // The Python package knows neither steps nor grains: the finest grain while decoding, else the first there is.
  const best = usable.find((row) => row.step === "decode") ?? usable[0];
  return best?.value !== null && best?.value !== undefined && Number.isFinite(best.value) ? scale(best.value) : "";
}

const seconds = (ns: number): string => pythonFloat(ns / 1e9);

/** Faults of all kinds of a class in the whole run; empty where they were not recorded. */
function faults(rows: readonly ReportMetric[], metric: string): string {
  const usable = rows.filter((row) => {
    return row.metric === metric && row.source === "fault" && row.phase === "all" && row.status === "ok";
  });
  return usable.length === 0 ? "" : String(usable.reduce((sum, { value }) => sum + (value ?? 0), 0));
}

/** The most memory that was read, as the Python package has it, also where there may have been more behind the last reading. */
function peak(rows: readonly ReportMetric[]): string {
  const row = rows.find(({ metric, source }) => metric === "rss_peak_bytes" && source === "process");
  const bytes = row?.value ?? row?.lo;
  return bytes === null || bytes === undefined ? "" : pythonFloat(bytes / MIB);
}

/** The row of the target as a whole; null where nothing is known of it. */
function targetRow(report: RunReport): string | null {
  const rows = report.metrics.filter(({ scope, phase }) => scope === "process" && phase === "all");
  const ownColumns = [
    faults(rows, "first_touches"),
    faults(rows, "major_faults"),
    peak(rows),
    figure(rows, "cpu_ns", seconds),
  ];
  const regions = report.labels.reduce((sum, label) => sum + label.regions, 0);
  return ownColumns.every((field) => field === "")
    ? null
    : ["all", regions, ...new Array(9).fill(""), ...ownColumns].join(",");
}

/**
 * Text of metrics.csv: one row per region_type, sorted by it, and one of the target as a whole, lines ended by \n. A
 * figure that is a bound, insufficient or not identifiable is an empty field, but for the most memory that was read, as is the mean of retention, which censoring
 * leaves undefined.
 */
export function metricsCsv(report: RunReport): string {
  const types = [...new Set(report.labels.map((label) => label.region_type))].sort();
  const lines = types.map((type) => {
    const labels = report.labels.filter((label) => label.region_type === type);
    // Kinds of mapping cannot be summed into one quantile: only a figure of the whole class stands for it.
    const ofType = report.metrics.filter((row) => row.region_type === type);
    const rows = labels.length > 1 ? ofType.filter((row) => row.mapping_kind === null) : ofType;
    // The Python package counts pages: blocks of that size where the source tells them.
    const pages = rows.filter((row) => row.metric === "working_set_bytes" && row.grain_bytes === PAGE_BYTES);
    const touched = pages.some(({ status }) => status === "ok") ? pages : rows;
    return [
      csvField(type),
      String(labels.reduce((sum, label) => sum + label.regions, 0)),
      figure(rows, "retention_p50_ns", seconds),
      figure(rows, "retention_p90_ns", seconds),
      figure(rows, "retention_p99_ns", seconds),
      "",
      figure(rows, "write_once_ratio", pythonFloat),
      figure(rows, "reads_per_write", pythonFloat),
      figure(touched, "working_set_bytes", (bytes) => pythonFloat(bytes / MIB)),
      // Bytes of blocks of another size, however many, are no number of pages.
      figure(pages, "working_set_bytes", (bytes) => String(Math.round(bytes / PAGE_BYTES))),
      csvField(rows.find((row) => row.metric === "suitability")?.label ?? ""),
      faults(ofType, "first_touches"),
      faults(ofType, "major_faults"),
      "",
      "",
    ].join(",");
  });
  const target = targetRow(report);
  return `${[`${METRICS_CSV_HEADER},${OWN_COLUMNS}`, ...lines, ...(target === null ? [] : [target])].join("\n")}\n`;
}
