/** The columns of the class table: classes of data, or kinds of mapping where nothing is labelled. */
import { wordsOf } from "../schema/row.ts";
import type { ReportLabel, ReportMetric, RunReport } from "../schema/run-json.ts";
import { type BytesAre, MAPPING_KINDS } from "../schema/words.ts";

/** One column of the table. */
export interface DataClass {
  readonly name: string;
  /** True for a class of data, false for a kind of mapping. */
  readonly labelled: boolean;
  /** The most bytes at one moment that were given this class by a guess; 0 where every label has evidence. */
  readonly guessed_bytes: number;
  readonly regions: number;
  /** The most at one moment, by what they are: see src/schema/run-json.ts. */
  readonly bytes: Readonly<Partial<Record<BytesAre, number>>>;
  readonly access_rows: number;
  readonly metrics: readonly ReportMetric[];
}

/** What memray saw is a class of its own: it lies inside the mappings of others. */
export const ALLOCATION = "allocation";
const LABELLED: readonly string[] = wordsOf("tensor", "region_type");
/** Every class that a run may have, in the order of the table. */
export const CLASS_WORDS: readonly string[] = [
  ...LABELLED,
  ...Object.keys(MAPPING_KINDS),
  "unknown",
  "all",
  ALLOCATION,
];

function rank(name: string): number {
  const index = CLASS_WORDS.indexOf(name);
  return index < 0 ? CLASS_WORDS.length : index;
}

interface Classed {
  readonly region_type: string;
  readonly mapping_kind: string | null;
}

/** Class of a row: its region type, or the kind of mapping of what has none. */
function classOf(row: Classed): string {
  if (row.mapping_kind?.startsWith(ALLOCATION)) return ALLOCATION;
  return row.region_type === "unknown" ? (row.mapping_kind ?? "unknown") : row.region_type;
}

/** A figure of one function that allocates: the table has that of all of them. */
const isPart = (row: Classed): boolean => row.mapping_kind?.startsWith(`${ALLOCATION}/`) === true;

function bytesOf(labels: readonly ReportLabel[]): DataClass["bytes"] {
  const bytes: Partial<Record<BytesAre, number>> = {};
  for (const label of labels) bytes[label.bytes_are] = (bytes[label.bytes_are] ?? 0) + Number(label.bytes);
  return bytes;
}

/** Every class of the report in a fixed order. */
export function dataClasses(report: RunReport): DataClass[] {
  const metrics = report.metrics.filter((metric) => metric.scope === "class" && !isPart(metric));
  const names = new Set([...report.labels.map(classOf), ...metrics.map(classOf)]);
  return [...names]
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    .map((name) => {
      const labels = report.labels.filter((label) => classOf(label) === name);
      return {
        name,
        labelled: LABELLED.includes(name),
        guessed_bytes: labels.reduce((sum, label) => sum + Number(label.guessed_bytes ?? 0), 0),
        regions: labels.reduce((sum, label) => sum + label.regions, 0),
        bytes: bytesOf(labels),
        access_rows: labels.reduce((sum, label) => sum + Number(label.access_rows), 0),
        metrics: metrics.filter((metric) => classOf(metric) === name),
      };
    });
}

/** The head of its column: the name, with a question mark where it rests on a guess. */
export const headOf = ({ name, guessed_bytes }: DataClass): string => (guessed_bytes > 0 ? `${name} ?` : name);

/** Names of the classes of a report, in the order of the table. */
export const classNames = (report: RunReport): string[] => dataClasses(report).map(({ name }) => name);

/** The report without the figures and sizes of other classes; figures of the target as a whole stay. */
export function ofClass(report: RunReport, name: string): RunReport {
  return {
    ...report,
    labels: report.labels.filter((label) => classOf(label) === name),
    metrics: report.metrics.filter((metric) => metric.scope !== "class" || classOf(metric) === name),
  };
}

const STEPS = ["decode", "all", "prefill"];
const PHASES = ["generation", "all"];
const USABLE = ["ok", "bound"];
const PAGE_BYTES = 4096;

/** What is shown first: figures before reasons, decoding before the whole run before prefill; of counts the whole run. */
function preference({ status, step, phase, source }: ReportMetric): number[] {
  const place = (list: readonly string[], word: string): number =>
    list.includes(word) ? list.indexOf(word) : list.length;
  const isPart = source === "fault" && phase !== "all";
  return [
    USABLE.includes(status) ? 0 : 1,
    isPart ? 1 : 0,
    place(STEPS, step),
    place(PHASES, phase),
    place(USABLE, status),
  ];
}

function isBefore(a: ReportMetric, b: ReportMetric): boolean {
  const other = preference(b);
  const difference = preference(a).map((place, i) => place - (other[i] ?? 0));
  return (difference.find((d) => d !== 0) ?? 0) < 0;
}

/** The figure of a metric that the table shows; at one grain, or at any where `grainBytes` is null. */
export function shownMetric(dataClass: DataClass, metric: string, grainBytes: number | null): ReportMetric | undefined {
  const found = dataClass.metrics.filter(
    (row) =>
      row.metric === metric && (grainBytes === null || row.grain_bytes === null || row.grain_bytes === grainBytes),
  );
  return found.reduce<ReportMetric | undefined>(
    (best, row) => (best === undefined || isBefore(row, best) ? row : best),
    undefined,
  );
}

/**
 * The most bytes that a class can have had where nobody read what was in memory of it; null where that is not known. Pages on which accesses
 * fell are no such bound where the others are missing: a trace that holds every access tells how many were touched.
 */
export function mostBytes({ bytes, metrics }: DataClass): number | null {
  if (bytes.touched === undefined) return bytes.allocated ?? bytes.mapped ?? null;
  const pages = metrics.filter(
    ({ metric, source, grain_bytes }) =>
      metric === "working_set_bytes" && source === "import" && grain_bytes === PAGE_BYTES,
  );
  return pages.find(({ status, hi }) => USABLE.includes(status) && hi !== null)?.hi ?? null;
}

/** Grains to show a metric at: those that classes have figures for, finest first; one null where grain makes no difference. */
export function grainsOf(classes: readonly DataClass[], metric: string): (number | null)[] {
  const rows = classes.flatMap((dataClass) => dataClass.metrics.filter((row) => row.metric === metric));
  const grains = [...new Set(rows.map((row) => row.grain_bytes).filter((grain) => grain !== null))];
  return grains.length < 2 ? [null] : grains.sort((a, b) => a - b);
}
