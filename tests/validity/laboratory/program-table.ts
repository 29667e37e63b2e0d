/** Tables of docs/accuracy-programs.md: what was said of real programs, beside what is true of them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer } from "../../../src/simulate/coverage.ts";
import type { Truth } from "../../../src/simulate/true-quantiles.ts";

export interface ProgramRow extends Answer {
  readonly program: string;
}

const PAGE = join(import.meta.dir, "..", "..", "..", "docs", "accuracy-programs.md");

export const digits = (x: number | null | undefined): string =>
  x === null || x === undefined ? "" : Number.isFinite(x) ? Number(x.toPrecision(4)).toString() : "endless";

const truthText = ({ lo, hi }: Truth): string =>
  digits(lo) === digits(hi) ? digits(lo) : `${digits(lo)} to ${digits(hi)}`;
export const isGiven = ({ row }: Answer): boolean => row.status === "ok" || row.status === "bound";

/** What one run said: a value with its interval, a bound, or why there is none. */
function answerText({ row }: Answer): string {
  const { status, value, lo, hi } = row;
  if (status === "ok") return `${digits(value)} [${digits(lo)}, ${digits(hi)}]`;
  if (status !== "bound") return status;
  return (
    [lo === null || (lo === 0 && hi !== null) ? "" : `≥ ${digits(lo)}`, hi === null ? "" : `≤ ${digits(hi)}`]
      .filter((text) => text !== "")
      .join(" ") || "≥ 0"
  );
}

/** How much of what all runs said is true. */
function tally(rows: readonly ProgramRow[]): string {
  const told = rows.filter(({ real }) => real !== null);
  const [values, bounds] = (["ok", "bound"] as const).map((word) => told.filter(({ row }) => row.status === word));
  const right = (answers: readonly ProgramRow[] = []): number => answers.filter(({ isTrue }) => isTrue).length;
  return [
    `Of ${values?.length} values the intervals of ${right(values)} hold the truth`,
    `of ${bounds?.length} bounds ${right(bounds)} are right`,
    `${told.filter((answer) => !isGiven(answer)).length} answers are refusals.`,
  ].join("; ");
}

/** From the lowest to the highest that is true of a run; null where of one run nothing is. */
function truthOfAll(answers: readonly ProgramRow[]): Truth | null {
  const truths = answers.flatMap(({ real }) => (real === null ? [] : [real]));
  if (truths.length < answers.length || truths.length === 0) return null;
  return { lo: Math.min(...truths.map(({ lo }) => lo)), hi: Math.max(...truths.map(({ hi }) => hi)) };
}

/**
 * Markdown of programs that ran several times: a row for each figure, with what each run said of it. Whether that holds is judged by
 * what is true of the same run.
 */
export function repeatedTable(rows: readonly ProgramRow[]): string {
  const keyOf = ({ program, row }: ProgramRow): string => [program, row.source, row.metric, row.region_type].join("/");
  const lines = [...Map.groupBy(rows, keyOf).values()].flatMap((answers) => {
    const [first] = answers;
    const truth = truthOfAll(answers);
    if (first === undefined || truth === null) return [];
    const { source, region_type, metric } = first.row;
    const given = answers.filter(isGiven);
    const held = given.filter(({ isTrue }) => isTrue).length;
    const verdict = held === given.length ? "holds" : `MISSES in ${given.length - held}`;
    const cells = [
      first.program,
      source,
      `${metric} of ${region_type}`,
      truthText(truth),
      answers.map(answerText).join("; "),
      given.length === 0 ? "" : verdict,
    ];
    return [`| ${cells.join(" | ")} |`];
  });
  const head = ["| program | source | figure | truth | each run | |", "|---|---|---|---|---|---|"];
  return [tally(rows), "", ...head, ...lines].join("\n");
}

/** Writes a table between its marks. @param name of the marks */
export function writeTable(name: string, table: string): void {
  const [begin, end] = [`<!-- table of ${name} -->`, `<!-- end of table of ${name} -->`];
  const page = readFileSync(PAGE, "utf8");
  const [before = "", rest = ""] = page.split(begin);
  writeFileSync(PAGE, `${before}${begin}\n${table}\n${end}${rest.split(end)[1] ?? ""}`);
}
