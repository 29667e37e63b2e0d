/** What each class of data asked of the memory, from the saved figures of a run. */
import { ALLOCATION, type DataClass, dataClasses, mostBytes, shownMetric } from "../report/classes.ts";
import { isFigure } from "../report/figure.ts";
import type { RunReport } from "../schema/run-json.ts";
import { between, exactly, measured, type Quantity, unknown } from "./quantity.ts";

export interface Demand {
  readonly name: string;
  /** Bytes that must lie somewhere: no fewer than its working set, no more than can have been resident. */
  readonly size_bytes: Quantity;
  readonly read_bytes_per_s: Quantity;
  readonly write_bytes_per_s: Quantity;
  /** Over all steps, rests between them included, as `kept_ns` is of all that is written. */
  readonly write_bytes_per_s_of_all: Quantity;
  /** How long what was written had to be kept: the median, the 90th and the 99th percentile over bytes written. */
  readonly kept_ns: { readonly p50: Quantity; readonly p90: Quantity; readonly p99: Quantity };
  /** True where nothing writes the class, so that it is kept as long as its place is. */
  readonly is_kept_by_life: boolean;
}

export interface Demands {
  /** Tokens in each second of the time that the rates cover. */
  readonly tokens_per_s: Quantity;
  /** The steps that the rates cover. */
  readonly step: "decode" | "all";
  readonly classes: readonly Demand[];
}

/** The label of what nothing was seen to end. */
const KEPT = "kept_throughout";

const RATES = ["read_bytes_per_s", "write_bytes_per_s"];
/** Of larger blocks nobody says how much of them was touched. */
const LARGEST_GRAIN = 64;

/** The figures of one step alone. */
function inStep(dataClass: DataClass, step: Demands["step"]): DataClass {
  return { ...dataClass, metrics: dataClass.metrics.filter((row) => row.step === step) };
}

function sizeOf(dataClass: DataClass, steps: DataClass): Quantity {
  const { name, metrics } = dataClass;
  const resident = metrics.find(({ metric, phase }) => metric === "resident_bytes" && phase === "all");
  const most = resident?.hi ?? mostBytes(dataClass);
  const fine = { ...steps, metrics: steps.metrics.filter((row) => (row.grain_bytes ?? 0) <= LARGEST_GRAIN) };
  const used = measured(shownMetric(fine, "working_set_bytes", null), `${name}.working_set_bytes`, "no working set");
  if (most === null) return unknown("the run does not say how large the class is");
  const why = "between what was touched in a short while and all that can have been in memory";
  return between(Math.min(used.lo, most), most, why, used.lo > 0 ? used.rests_on : []);
}

/** Times that data is kept: by its writes and last reads, or where nothing writes it by the life of its place. */
function keptOf(dataClass: DataClass): Pick<Demand, "kept_ns" | "is_kept_by_life"> {
  const { name } = dataClass;
  const suitability = shownMetric(dataClass, "suitability", null);
  const retention = shownMetric(dataClass, "retention_p50_ns", null);
  // That source says so where enough was watched and nothing of it was written.
  const is_kept_by_life =
    retention?.status === "not_identifiable" && suitability?.source === "region_map" && suitability.status === "ok";
  const family = is_kept_by_life ? "lifetime" : "retention";
  const quantile = (p: string): Quantity => {
    const metric = `${family}_${p}_ns`;
    const missing = "the run says nothing of how long it is kept";
    const kept = measured(shownMetric(dataClass, metric, null), `${name}.${metric}`, missing);
    // The end of the run ended it, not that it was needed no more: a longer run would have kept it longer.
    const isOpen = suitability?.label === KEPT && isFigure(kept);
    return isOpen ? between(kept.lo, null, "nothing ended it in the time that we looked", kept.rests_on) : kept;
  };
  return { is_kept_by_life, kept_ns: { p50: quantile("p50"), p90: quantile("p90"), p99: quantile("p99") } };
}

const NO_RATE = "the run has no rate of its decode steps";

function demandOf(dataClass: DataClass, step: Demands["step"]): Demand {
  const { name } = dataClass;
  const steps = inStep(dataClass, step);
  const rate = (metric: string): Quantity => {
    const missing = step === "decode" ? NO_RATE : "the run has no rate of bytes";
    return measured(shownMetric(steps, metric, null), `${name}.${metric}`, missing);
  };
  const written = rate("write_bytes_per_s");
  const ofAll = shownMetric(inStep(dataClass, "all"), "write_bytes_per_s", null);
  return {
    name,
    size_bytes: sizeOf(dataClass, steps),
    read_bytes_per_s: rate("read_bytes_per_s"),
    write_bytes_per_s: written,
    write_bytes_per_s_of_all:
      step === "all"
        ? written
        : measured(ofAll, `${name}.write_bytes_per_s of all steps`, "the run has no rate of all steps"),
    ...keptOf(dataClass),
  };
}

/** Tokens over the time of the rates, which has what lies between two calls too. */
function tokensPerSecond({ target, metrics }: RunReport): Quantity {
  const { decode_tokens, decode_tokens_beside_prompts: beside = 0 } = target;
  const row = metrics.find(
    ({ metric, scope, step }) => scope === "class" && step === "decode" && RATES.includes(metric),
  );
  const window_ns = Number(row?.window_ns ?? 0);
  if (decode_tokens === null || !(window_ns > 0)) return unknown(NO_RATE);
  return exactly((1e9 * (decode_tokens - beside)) / window_ns);
}

/** The classes of data, or the kinds of mapping of which something is known where nothing is labelled. */
export function demandsOf(report: RunReport): Demands {
  const classes = dataClasses(report);
  const labelled = classes.filter((one) => one.labelled);
  const answered = classes.filter(({ metrics }) => metrics.some(isFigure));
  // What memray saw lies inside the mappings, and would be there twice.
  const mapped = answered.filter(({ name }) => name !== ALLOCATION);
  const asked = [labelled, mapped, answered].find((some) => some.length > 0) ?? [];
  const step = report.target.decode_call_tokens_per_s === null ? "all" : "decode";
  return {
    step,
    tokens_per_s: step === "all" ? unknown("the run has no tokens") : tokensPerSecond(report),
    classes: asked.map((dataClass) => demandOf(dataClass, step)),
  };
}
