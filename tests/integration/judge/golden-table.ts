/** Every figure that the Python package and we both give of one trace, side by side, with the reason where they differ. */
import type { ReportMetric, RunReport } from "../../../src/schema/run-json.ts";

type Row = Readonly<Record<string, number | string>>;
export type Analysis = Readonly<Record<string, readonly Row[]>>;

export interface Comparison {
  readonly figure: string;
  readonly region_type: string;
  readonly theirs: string;
  readonly ours: string;
  readonly equal: boolean;
}

/** Floats pass through other formulas, and the package cuts interval quantiles to whole ns. */
const NEAR = 1e-6;

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** The package's figure of a class in a table, averaged over regions as its own summaries do. */
function of(analysis: Analysis, table: string, column: string, region_type: string): number | string | null {
  const rows = (analysis[table] ?? []).filter((row) => row.region_type === region_type);
  if (rows.length === 0) return null;
  if (rows.length === 1) return rows[0]?.[column] ?? null;
  return mean(rows.map((row) => Number(row[column])));
}

function totalOf(analysis: Analysis, table: string, column: string, region_type: string): number {
  const rows = (analysis[table] ?? []).filter((row) => row.region_type === region_type);
  return rows.reduce((sum, row) => sum + Number(row[column]), 0);
}

interface Figure {
  readonly name: string;
  readonly theirs: (analysis: Analysis, region_type: string) => number | string | null;
  readonly metric: string;
  readonly grain?: number;
  /** From our unit to the package's. */
  readonly scale?: (value: number, row: ReportMetric) => number;
  /** True where the figure is the number of samples behind the metric, which is known even where its value is not. */
  readonly counts?: true;
}

const seconds = (ns: number): number => ns / 1e9;
const count = (perSecond: number, row: ReportMetric): number => Math.round((perSecond * Number(row.window_ns)) / 1e9);

const FIGURES: readonly Figure[] = [
  {
    name: "total_reads",
    metric: "loads_per_s",
    scale: count,
    theirs: (a, t) => totalOf(a, "read_freq", "total_reads", t),
  },
  {
    name: "total_writes",
    metric: "stores_per_s",
    scale: count,
    theirs: (a, t) => totalOf(a, "read_freq", "total_writes", t),
  },
  {
    name: "n_written_addresses",
    metric: "write_once_ratio",
    counts: true,
    theirs: (a, t) => totalOf(a, "write_once", "n_written_addresses", t),
  },
  { name: "reads_per_write", metric: "reads_per_write", theirs: (a, t) => of(a, "read_freq", "reads_per_write", t) },
  {
    name: "write_once_ratio",
    metric: "write_once_ratio",
    theirs: (a, t) => of(a, "write_once", "write_once_ratio", t),
  },
  {
    name: "working set, bytes",
    metric: "working_set_bytes",
    grain: 4096,
    theirs: (a, t) => of(a, "working_set_summary", "total_bytes", t),
  },
  ...(["p50", "p90", "p99"] as const).map((p) => ({
    name: `retention_${p}_s`,
    metric: `retention_${p}_ns`,
    scale: seconds,
    theirs: (a: Analysis, t: string) => of(a, "retention_summary", `retention_${p}_s`, t),
  })),
  {
    name: "n_intervals",
    metric: "reuse_time_p50_ns",
    counts: true,
    theirs: (a, t) => totalOf(a, "iai", "n_intervals", t),
  },
  ...(["p50", "p90", "p99", "mean"] as const).map((p) => ({
    name: `iai_${p}_ns`,
    metric: `reuse_time_${p}_ns`,
    theirs: (a: Analysis, t: string) => of(a, "iai", `iai_${p}_ns`, t),
  })),
  {
    name: "same_page_fraction",
    metric: "same_page_fraction",
    theirs: (a, t) => of(a, "locality_summary", "same_page_fraction", t),
  },
  {
    name: "median_stride_bytes",
    metric: "median_stride_bytes",
    theirs: (a, t) => of(a, "locality_summary", "median_stride_bytes", t),
  },
  { name: "suitability", metric: "suitability", theirs: (a, t) => of(a, "suitability", "suitability", t) },
];

function shown(value: number | string | null): string {
  if (value === null) return "none";
  return typeof value === "string" ? value : String(Number(value.toPrecision(7)));
}

function oursOf(row: ReportMetric | undefined, figure: Figure): { text: string; value: number | null } {
  if (row === undefined) return { text: "none", value: null };
  const n = Number(row.n);
  if (figure.counts) return { text: shown(n), value: n };
  if (row.label !== null) return { text: row.label, value: null };
  const scaled = (value: number): number => figure.scale?.(value, row) ?? value;
  if (row.status === "ok" && row.value !== null) return { text: shown(scaled(row.value)), value: scaled(row.value) };
  if (row.status === "bound" && row.lo !== null) return { text: `at least ${shown(scaled(row.lo))}`, value: null };
  return { text: row.status.replace("_", " "), value: null };
}

/** One comparison per figure and class, figures in order. */
export function compareGolden(analysis: Analysis, report: RunReport): Comparison[] {
  const classes = report.labels.map((label) => label.region_type);
  const regions = report.labels.map(({ region_type, regions: count }): Comparison => {
    const theirs = Number(of(analysis, "retention_summary", "n_regions", region_type));
    const ours = Number(count);
    return { figure: "n_regions", region_type, theirs: shown(theirs), ours: shown(ours), equal: theirs === ours };
  });
  const figures = FIGURES.flatMap((figure) =>
    classes.map((region_type) => {
      const row = report.metrics.find(
        (one) =>
          one.metric === figure.metric &&
          one.region_type === region_type &&
          (figure.grain === undefined || one.grain_bytes === figure.grain),
      );
      const theirs = figure.theirs(analysis, region_type);
      const ours = oursOf(row, figure);
      const equal =
        typeof theirs === "number" && ours.value !== null
          ? Math.abs(theirs - ours.value) <= NEAR * Math.max(1, Math.abs(theirs))
          : shown(theirs) === ours.text;
      return { figure: figure.name, region_type, theirs: shown(theirs), ours: ours.text, equal };
    }),
  );
  return [...regions, ...figures];
}

/** The comparisons as the table of docs/python-package.md; `why` gives the number of the reason where they differ. */
export function goldenTable(comparisons: readonly Comparison[], why: (of: Comparison) => number | null): string {
  const lines = comparisons.map((one) => {
    const verdict = one.equal ? "equal" : `(${why(one) ?? "?"})`;
    return `| ${one.figure} | ${one.region_type} | ${one.theirs} | ${one.ours} | ${verdict} |`;
  });
  return ["| figure | class | Python package | mrm-trace | |", "|---|---|---|---|---|", ...lines].join("\n");
}
