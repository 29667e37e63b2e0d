/** How far a run may be trusted, by published thresholds; what was not measured never passes as good. */
import { VALIDITY_CLASSES, type Validity } from "../schema/run-json.ts";

/** Everything in %, events or degrees; null (or NaN) for what was not measured. */
export interface ValidityInput {
  /** Events lost of all seen, over every path. */
  readonly loss_pct: number | null;
  /** CPU time of the tracer in % of one CPU, all its processes together: what its work may have cost the target at most. */
  readonly observer_cpu_pct: number | null;
  /** What it did cost: time that the target waited for CPUs which the tracer had, in % of the target's CPU time. */
  readonly contention_pct: number | null;
  readonly observer_rss_bytes: number | null;
  readonly target_rss_bytes: number | null;
  /** MemAvailable before the run. */
  readonly mem_available_bytes: number | null;
  readonly baseline_cpu_pct: number | null;
  /** Estimated slowdown of the target. */
  readonly slowdown_pct: number | null;
  readonly throttle_events: number | null;
  readonly peak_temperature_c: number | null;
}

interface Threshold {
  readonly clean: number;
  readonly marginal: number;
  /** True where the limit itself still passes. */
  readonly inclusive: boolean;
}

/** The Python package's thresholds for CPU, memory, throttling and temperature; ours for loss, slowdown and waiting. */
export const THRESHOLDS = {
  loss_pct: { clean: 1, marginal: 5, inclusive: true },
  slowdown_pct: { clean: 2, marginal: 5, inclusive: true },
  contention_pct: { clean: 2, marginal: 5, inclusive: true },
  observer_cpu_pct: { clean: 10, marginal: 20, inclusive: false },
  baseline_cpu_pct: { clean: 15, marginal: 30, inclusive: false },
  rss_pct_of_target: { clean: 5, marginal: 15, inclusive: false },
  rss_pct_of_available: { clean: 2, marginal: 5, inclusive: false },
  throttle_events: { clean: 0, marginal: 2, inclusive: true },
  peak_temperature_c: { clean: 85, marginal: 90, inclusive: true },
} as const satisfies Record<string, Threshold>;

type CheckName = keyof typeof THRESHOLDS;

const WORDS: Record<CheckName, readonly [what: string, unit: string]> = {
  loss_pct: ["events lost", " %"],
  slowdown_pct: ["estimated slowdown of the process", " %"],
  contention_pct: ["time that the process waited for a CPU that the tracer had", " % of its CPU time"],
  observer_cpu_pct: ["CPU of the tracer", " % of one CPU"],
  baseline_cpu_pct: ["CPU of the machine before the run", " %"],
  rss_pct_of_target: ["memory of the tracer against the process's RSS", " %"],
  rss_pct_of_available: ["memory of the tracer against MemAvailable", " %"],
  throttle_events: ["thermal throttling", " events"],
  peak_temperature_c: ["peak temperature", " C"],
};

export interface ValidityCheck {
  readonly check: CheckName;
  readonly value: number | null;
  readonly result: Validity | "not_measured";
}

export interface ValidityResult {
  readonly validity: Validity;
  /** One sentence for each check that lowered the class, the worst first. */
  readonly reasons: readonly string[];
  /** What the machine could not tell, in words; it lowers nothing. */
  readonly not_measured: readonly string[];
  readonly checks: readonly ValidityCheck[];
}

function grade(check: CheckName, value: number | null): ValidityCheck {
  if (value === null || !Number.isFinite(value)) return { check, value: null, result: "not_measured" };
  const { clean, marginal, inclusive }: Threshold = THRESHOLDS[check];
  const passes = (limit: number): boolean => (inclusive ? value <= limit : value < limit);
  return { check, value, result: passes(clean) ? "clean" : passes(marginal) ? "marginal" : "contaminated" };
}

const rank = (validity: Validity): number => VALIDITY_CLASSES.indexOf(validity);

function ratioPct(part: number | null, whole: number | null): number | null {
  return part !== null && whole !== null && whole > 0 ? (100 * part) / whole : null;
}

function sentence({ check, value, result }: ValidityCheck): string {
  const [what, unit] = WORDS[check];
  if (result === "not_measured") return `${what}: not measured, and required for clean`;
  const { clean, marginal, inclusive }: Threshold = THRESHOLDS[check];
  const limit = result === "marginal" ? clean : marginal;
  const better = result === "marginal" ? "clean" : "marginal";
  const measured = Number((value ?? 0).toPrecision(3));
  return `${what} ${measured}${unit}, ${better} is ${inclusive ? "at most" : "below"} ${limit}`;
}

const NUMBER = "-?[\\d.]+(?:e[+-]?\\d+)?";
/** What an end by a signal adds to the reasons. */
export const KILLED = "the tracer was killed: its last seconds are in no file";

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** True for a reason of ours, which names nothing but numbers; those of older runs end otherwise. */
export function isReason(text: string): boolean {
  if (text === KILLED) return true;
  return Object.values(WORDS).some(([what, unit]) => {
    const limit = `, (?:clean|marginal) is (?:at most|below) ${NUMBER}`;
    const older = `: (?:above|not below) the limit of ${NUMBER} for (?:clean|marginal)`;
    const judged = `${literal(what)} ${NUMBER}${literal(unit)}(?:${limit}|${older})`;
    return new RegExp(`^(?:${judged}|${literal(what)}: not measured, and required for clean)$`).test(text);
  });
}

/** True for what `not_measured` lists. */
export function isUnmeasured(text: string): boolean {
  return Object.values(WORDS).some(([what]) => what === text);
}

/**
 * Class of the run: the worst of its checks. Loss, slowdown, baseline CPU and how long the target waited for the tracer's CPUs
 * are required; where that waiting is not measured, the tracer's CPU time stands for it. Memory is
 * required by one of its two ratios and passes by the better one. Without them a run is at best marginal.
 */
export function judgeValidity(input: ValidityInput): ValidityResult {
  const waiting = input.contention_pct === null ? "observer_cpu_pct" : "contention_pct";
  const required = (["loss_pct", "slowdown_pct", waiting, "baseline_cpu_pct"] as const).map((check) =>
    grade(check, input[check]),
  );
  const ratios = [
    grade("rss_pct_of_target", ratioPct(input.observer_rss_bytes, input.target_rss_bytes)),
    grade("rss_pct_of_available", ratioPct(input.observer_rss_bytes, input.mem_available_bytes)),
  ];
  const optional = (["throttle_events", "peak_temperature_c"] as const).map((check) => grade(check, input[check]));
  const classOf = ({ result }: ValidityCheck): Validity => (result === "not_measured" ? "marginal" : result);
  const measuredRatios = ratios.filter((ratio) => ratio.result !== "not_measured");
  const memory = measuredRatios.length > 0 ? measuredRatios : ratios;
  const bestMemory = memory.reduce<Validity>(
    (best, ratio) => (rank(classOf(ratio)) < rank(best) ? classOf(ratio) : best),
    "contaminated",
  );
  const lowering = [
    ...required,
    ...(bestMemory === "clean" ? [] : memory),
    ...optional.filter((check) => check.result !== "not_measured"),
  ]
    .filter((check) => classOf(check) !== "clean")
    // Where one reason has room, it is the one that made the class.
    .sort((a, b) => rank(classOf(b)) - rank(classOf(a)));
  const classes = [...required, ...optional.filter((check) => check.result !== "not_measured")].map(classOf);
  const worst = [...classes, bestMemory].reduce((a, b) => (rank(a) >= rank(b) ? a : b));
  return {
    validity: worst,
    reasons: lowering.map(sentence),
    not_measured: [...optional, ...(measuredRatios.length > 0 ? ratios : [])]
      .filter((check) => check.result === "not_measured")
      .map(({ check }) => WORDS[check][0]),
    checks: [...required, ...ratios, ...optional],
  };
}
