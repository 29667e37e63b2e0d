/** `otlp-json`: the figures and the target over time as OpenTelemetry metrics, one request in OTLP's JSON form. */
import type { MetricRow } from "../analyse/figures/metric-row.ts";
import { METRICS } from "../analyse/metrics/registry.ts";
import type { RowOf } from "../schema/row.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";
import type { ExportTask, FileFormat } from "./export-format.ts";
import type { NewFile } from "./new-file.ts";

/** Flag of a data point that says that there is no value. */
const NO_VALUE = 1;
/** A sum of what came since the data point before. */
const DELTA = 1;
/** Our units in the code that OpenTelemetry asks for (UCUM); what counts things stands in braces. */
const UCUM: Readonly<Record<string, string>> = { bytes: "By", ns: "ns", ratio: "1", "1": "1", label: "1", "%": "%" };

/** Whole numbers are bigint, so that a key is of one type whatever its value. */
type Value = string | number | bigint | null;

function attribute(key: string, value: NonNullable<Value>) {
  if (typeof value === "string") return { key, value: { stringValue: value } };
  if (typeof value === "bigint") return { key, value: { intValue: String(value) } };
  return { key, value: { doubleValue: double(value) } };
}

/** Attributes of what has a value. */
function attributes(pairs: Readonly<Record<string, Value | undefined>>) {
  return Object.entries(pairs).flatMap(([key, value]) => {
    return value === null || value === undefined ? [] : [attribute(key, value)];
  });
}

const whole = (value: number | null): bigint | null => (value === null ? null : BigInt(value));

/** JSON has no number for these; the protobuf mapping has words. */
function double(value: number): number | string {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

function ucum(unit: string): string {
  const [what = "", per] = unit.split("/");
  const code = (one: string): string => UCUM[one] ?? (one === "s" ? "s" : `{${one}}`);
  return per === undefined ? code(what) : `${code(what)}/${code(per)}`;
}

/** Moments of CLOCK_MONOTONIC as ns since 1970, as text; "0" where nobody knows the wall time. */
function wallClock({ timing }: RunMetadata): (monotonic_ns: bigint) => string {
  if (timing.started_at_utc === null) return () => "0";
  const offset = BigInt(Date.parse(timing.started_at_utc)) * 1_000_000n - BigInt(timing.started_ns);
  return (monotonic_ns) => String(monotonic_ns + offset);
}

/** A figure with all that is needed to trust it. */
function figurePoint(row: MetricRow, startTimeUnixNano: string, timeUnixNano: string) {
  const { metric: _, unit: __, value, ...rest } = row;
  const { n, n_censored, window_ns, grain_bytes } = row;
  const counts = { n: BigInt(n), n_censored: BigInt(n_censored), window_ns: BigInt(window_ns) };
  const about = { ...rest, ...counts, grain_bytes: whole(grain_bytes) };
  const point = { attributes: attributes(about), startTimeUnixNano, timeUnixNano };
  return value === null ? { ...point, flags: NO_VALUE } : { ...point, asDouble: double(value) };
}

/** One metric with the rows of each figure. */
function* figures(rows: readonly MetricRow[], begin: string, end: string) {
  const definitions = new Map(
    METRICS.flatMap(({ metrics }) => metrics.map((one) => [one.name, one.definition] as const)),
  );
  const byName = new Map<string, MetricRow[]>();
  for (const row of rows) byName.set(row.metric, [...(byName.get(row.metric) ?? []), row]);
  for (const [name, points] of byName) {
    const dataPoints = points.map((row) => figurePoint(row, begin, end));
    const about = { name: `mrm_trace.${name}`, description: definitions.get(name) ?? "" };
    yield { ...about, unit: ucum(points[0]?.unit ?? "1"), gauge: { dataPoints } };
  }
}

type Point = RowOf<"process_timeline">;
const HELD = ["rss_bytes", "rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "pss_bytes"] as const;
const GREW = ["cpu_user_ns", "cpu_system_ns", "minor_faults", "major_faults"] as const;

/** The target over time: gauges of what it held, sums of what came since the moment before. */
function* timeline(rows: readonly Point[], wall: (monotonic_ns: bigint) => string, begin_ns: bigint) {
  const moment = ({ phase, step, token_index, timestamp_ns }: Point) => ({
    attributes: attributes({ phase, step, token_index: whole(token_index) }),
    timeUnixNano: wall(timestamp_ns),
  });
  for (const name of HELD) {
    const dataPoints = rows.flatMap((row) => {
      return row[name] === null ? [] : [{ ...moment(row), asInt: String(row[name]) }];
    });
    if (dataPoints.length === 0) continue;
    yield { name: `mrm_trace.target.${name.replace(/_bytes$/, "")}`, unit: "By", gauge: { dataPoints } };
  }
  for (const name of GREW) {
    const dataPoints = rows.map((row, i) => {
      const since = rows[i - 1]?.timestamp_ns ?? begin_ns;
      return { ...moment(row), startTimeUnixNano: wall(since), asInt: String(row[name]) };
    });
    if (dataPoints.length === 0) continue;
    const sum = { dataPoints, aggregationTemporality: DELTA, isMonotonic: true };
    yield { name: `mrm_trace.target.${name}`, unit: name.endsWith("_ns") ? "ns" : "{faults}", sum };
  }
}

function resourceOf(metadata: RunMetadata) {
  const { run_id, machine_id, model, validity, software, hardware } = metadata;
  const host = { "host.id": machine_id, "host.cpu.model.name": hardware.cpu_model, "os.description": software.os };
  const run = { "service.name": model.id, "service.instance.id": run_id, "mrm_trace.validity": validity.class };
  return { attributes: attributes({ ...run, ...host }) };
}

/** Every count of metrics.parquet is one that a number holds. */
function metricRow(row: RowOf<"metrics">): MetricRow {
  return { ...row, n: Number(row.n), n_censored: Number(row.n_censored), window_ns: Number(row.window_ns) };
}

async function write({ run, leaveOut, goOn }: ExportTask, file: NewFile): Promise<void> {
  const { metadata } = run;
  const wall = wallClock(metadata);
  const { started_ns, started_at_utc } = metadata.timing;
  const began_ns = BigInt(started_ns);
  const encoder = new TextEncoder();
  const add = (text: string): void => file.write(encoder.encode(text));
  const scope = { name: "mrm-trace", version: metadata.software.mrm_trace };
  add(`{"resourceMetrics":[{"resource":${JSON.stringify(resourceOf(metadata))},`);
  add(`"scopeMetrics":[{"scope":${JSON.stringify(scope)},"metrics":[`);
  const rows = [...run.rows("metrics")].map(metricRow);
  let written = 0;
  for (const one of [
    ...figures(rows, wall(began_ns), wall(BigInt(metadata.end_ns))),
    ...timeline([...run.rows("process_timeline")], wall, began_ns),
  ]) {
    add(`${written++ === 0 ? "" : ","}${JSON.stringify(one)}`);
    await goOn(written, null);
  }
  add("]}]}]}\n");
  if (started_at_utc === null) leaveOut("times: nobody knows what the wall clock showed");
  leaveOut("regions, steps and single events: OTLP's metrics have no place for them");
}

export const otlpJson: FileFormat = { makes: "file", takes: [], ending: () => "otlp.json", write };
