/** The limits of a budget beside the figures of a run that they limit. */
import { METRICS } from "../analyse/metrics/registry.ts";
import type { Budget, MetricLimit } from "../config/budget-schema.ts";
import type { CheckedFile } from "../config/checked-file.ts";
import { nearestWord } from "../config/nearest-word.ts";
import { type ConfigProblem, problemAt } from "../config/problem.ts";
import { type DataClass, dataClasses, shownMetric } from "../report/classes.ts";
import { isFigure } from "../report/figure.ts";
import type { CheckedLimit } from "../schema/budget-check.ts";
import type { ReportMetric, RunReport } from "../schema/run-json.ts";
import { MAPPING_KINDS, REGION_TYPES } from "../schema/words.ts";
import { judge } from "./judge.ts";
import { limitValue } from "./limit-value.ts";

interface KnownMetric {
  readonly unit: string;
  readonly scopes: readonly string[];
}

const KNOWN: ReadonlyMap<string, KnownMetric> = new Map(
  METRICS.flatMap(({ metrics, scopes = ["class"] }) =>
    metrics.map(({ name, unit }) => [name, { unit, scopes }] as const),
  ),
);

/** The figure that a limit is about: that which `show` prints, of the steps, phase and grain that the limit names. */
function figureOf(report: RunReport, limit: MetricLimit, classes: readonly DataClass[]): ReportMetric | undefined {
  const wanted = ({ step, phase, grain_bytes }: ReportMetric): boolean =>
    (limit.step === undefined || step === limit.step) &&
    (limit.phase === undefined || phase === limit.phase) &&
    (limit.grain === undefined || grain_bytes === limit.grain);
  if (limit.class === undefined) {
    const whole = limit.step === undefined && limit.phase === undefined;
    const rows = report.metrics.filter(
      (row) =>
        row.scope === "process" &&
        row.metric === limit.metric &&
        (whole ? row.phase === "all" && row.step === "all" : wanted(row)),
    );
    // Of several sources the first that tells is the one that is printed.
    return rows.find(isFigure) ?? rows[0];
  }
  const found = classes.find(({ name }) => name === limit.class);
  return found === undefined
    ? undefined
    : shownMetric({ ...found, metrics: found.metrics.filter(wanted) }, limit.metric, null);
}

/** Words for a name that is not known. */
function nearest(name: string, names: Iterable<string>, more: string): string {
  const near = nearestWord(name, names);
  return near === null ? more : `did you mean ${near}?`;
}

interface Limits {
  readonly checks: readonly CheckedLimit[];
  readonly problems: readonly ConfigProblem[];
}

/** Every limit of a metric, judged; and what is wrong in the budget that only the registry and the run can tell. */
export function metricLimits({ yaml, value: budget }: CheckedFile<Budget>, report: RunReport): Limits {
  const problems: ConfigProblem[] = [];
  const classes = dataClasses(report);
  const words = new Set([
    ...Object.keys(REGION_TYPES),
    ...Object.keys(MAPPING_KINDS),
    ...classes.map(({ name }) => name),
  ]);
  const checks = budget.metrics.flatMap((limit, i): CheckedLimit[] => {
    const path = ["metrics", i];
    const before = problems.length;
    const refuse = (key: string, message: string, hint: string | null = null): void =>
      void problems.push(problemAt(yaml, [...path, key], message, { hint }));
    const registered = KNOWN.get(limit.metric);
    if (registered === undefined) {
      refuse("metric", "unknown metric", nearest(limit.metric, KNOWN.keys(), "docs/metrics.md names all"));
      return [];
    }
    const { unit, scopes } = registered;
    if (limit.class === undefined && !scopes.includes("process"))
      refuse("class", `missing: ${limit.metric} is of a class of data`);
    if (limit.class !== undefined && !scopes.includes("class"))
      refuse("class", `${limit.metric} is of the process, and of no class`);
    if (limit.class !== undefined && !words.has(limit.class))
      refuse("class", "unknown class", nearest(limit.class, words, `one of ${[...words].join(", ")}`));
    if (unit === "label" ? limit.is === undefined : limit.is !== undefined) {
      refuse("is", unit === "label" ? `missing: ${limit.metric} has a label` : `${limit.metric} has no label`);
    }
    if (unit !== "label" && limit.max === undefined && limit.min === undefined) refuse("max", "max or min expected");
    const end = (key: "max" | "min"): number | null => {
      const given = limit[key];
      if (given === undefined) return null;
      const found = limitValue(given, unit);
      if (typeof found === "number") return found;
      refuse(key, found.problem);
      return null;
    };
    const ends = unit === "label" ? { max: null, min: null } : { max: end("max"), min: end("min") };
    if (ends.min !== null && ends.max !== null && ends.min > ends.max) refuse("min", "it is above max");
    if (problems.length > before) return [];
    const row = figureOf(report, limit, classes);
    return [
      checked(limit, row, {
        unit,
        ...ends,
        line: yaml.locate(path, "value").line,
        isClass: classes.some(({ name }) => name === limit.class),
      }),
    ];
  });
  return { checks, problems };
}

interface Frame {
  readonly unit: string;
  readonly min: number | null;
  readonly max: number | null;
  readonly line: number;
  /** True where the run has the class. */
  readonly isClass: boolean;
}

function checked(
  limit: MetricLimit,
  row: ReportMetric | undefined,
  { unit, min, max, line, isClass }: Frame,
): CheckedLimit {
  const none =
    limit.class !== undefined && !isClass ? `the run has no class ${limit.class}` : "the run has no such figure";
  const { value = null, lo = null, hi = null, status = "not_identifiable", why = none, label = null } = row ?? {};
  const labelled = status === "ok" && label !== null;
  const verdict =
    limit.is === undefined
      ? judge({ value, lo, hi, status }, { min, max })
      : labelled
        ? limit.is.includes(label)
          ? "within"
          : "beyond"
        : "open";
  return {
    what: limit.metric,
    class: limit.class ?? null,
    step: row?.step ?? null,
    phase: row?.phase ?? null,
    source: row?.source ?? null,
    unit,
    min,
    max,
    is: limit.is ?? null,
    label,
    value,
    lo,
    hi,
    status,
    why,
    verdict,
    line,
  };
}
