/** A run against a budget: each limit judged, and the exit code that follows. */
import type { Budget } from "../config/budget-schema.ts";
import type { CheckedFile } from "../config/checked-file.ts";
import { problemsError } from "../config/problem.ts";
import { EXIT_CODES } from "../errors.ts";
import type { BudgetCheck, BudgetVerdict, CheckedLimit } from "../schema/budget-check.ts";
import { type RunReport, VALIDITY_CLASSES } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { judge, worst } from "./judge.ts";
import { metricLimits } from "./metric-limits.ts";

const EXIT: Readonly<Record<BudgetVerdict, number>> = {
  within: EXIT_CODES.ok,
  beyond: EXIT_CODES.budget,
  open: EXIT_CODES.data_quality,
};

interface Measured {
  readonly value: number | null;
  readonly lo?: number | null;
  readonly hi?: number | null;
}

/** A limit of what is said of the run as a whole; nothing where the budget has none. */
function wholeLimit(
  { yaml }: CheckedFile<Budget>,
  path: readonly string[],
  max: number | undefined,
  unit: string,
  { value, lo = null, hi = null }: Measured,
): CheckedLimit[] {
  if (max === undefined) return [];
  const isKnown = value !== null || lo !== null || hi !== null;
  const status = isKnown ? ("ok" as const) : ("not_identifiable" as const);
  return [
    {
      ...{ what: path.join("."), class: null, step: null, phase: null, source: null, is: null, label: null },
      ...{ unit, min: null, max, value, lo, hi, status },
      why: isKnown ? null : "it was not measured",
      verdict: judge({ status, value, lo, hi }, { min: null, max }),
      line: yaml.locate(path, "value").line,
    },
  ];
}

function validityLimit({ yaml, value: { validity: limit } }: CheckedFile<Budget>, report: RunReport): CheckedLimit[] {
  if (limit === undefined) return [];
  const accepted = VALIDITY_CLASSES.slice(0, VALIDITY_CLASSES.indexOf(limit) + 1);
  const verdict = accepted.includes(report.validity) ? "within" : "beyond";
  return [
    {
      ...{ what: "validity", class: null, step: null, phase: null, source: null, unit: "label", min: null, max: null },
      ...{ is: accepted, label: report.validity, value: null, lo: null, hi: null, status: "ok" },
      why: verdict === "within" ? null : report.reasons.join("; "),
      verdict,
      line: yaml.locate(["validity"], "value").line,
    },
  ];
}

/** The most that was lost of any source; null where that of one is not known. */
function mostLost({ loss }: RunReport): number | null {
  if (loss.length === 0) return null;
  return loss.reduce<number | null>(
    (top, { lost_pct }) =>
      top === null || lost_pct === null || Number.isNaN(lost_pct) ? null : Math.max(top, lost_pct),
    0,
  );
}

/**
 * @param path of the budget, as it was named
 * @throws MrmTraceError usage where the budget names a metric or a class that there is none of, or a limit in another unit
 */
export function checkRun(report: RunReport, file: CheckedFile<Budget>, path: string): BudgetCheck {
  const { lost, tracer, name } = file.value;
  const { observer } = report;
  const { checks: ofMetrics, problems } = metricLimits(file, report);
  if (problems.length > 0) throw problemsError(path, problems, `mrm-trace check ${report.run_dir} --against ${path}`);
  const { value, lo, hi } = observer.slowdown_pct;
  const rss = observer.rss_bytes === null ? null : Number(observer.rss_bytes);
  const checks = [
    ...validityLimit(file, report),
    ...wholeLimit(file, ["lost"], lost, "%", { value: mostLost(report) }),
    ...wholeLimit(file, ["tracer", "slowdown"], tracer.slowdown, "%", { value, lo, hi }),
    ...wholeLimit(file, ["tracer", "cpu"], tracer.cpu, "%", { value: observer.cpu_pct }),
    ...wholeLimit(file, ["tracer", "memory"], tracer.memory, "bytes", { value: rss }),
    ...ofMetrics,
  ];
  const verdict = worst(checks.map((check) => check.verdict));
  return {
    schema_version: JSON_SCHEMA_VERSION,
    run_dir: report.run_dir,
    run_id: report.run_id,
    budget: path,
    name,
    checks,
    verdict,
    exit_code: EXIT[verdict],
  };
}
