/** The table of docs/accuracy-watches.md and of others: where a world allows a figure, how far it is from the truth and how often its interval holds it. */
import type { CoverageRow } from "../../../src/simulate/coverage.ts";
import { clopperPearson } from "../../../src/statistics/clopper-pearson.ts";

const share = (part: number, all: number): string => (all === 0 ? "" : `${((100 * part) / all).toFixed(1)} %`);

const pct = (part: number, all: number): string => (all === 0 ? "" : `${Math.round((100 * part) / all)} %`);

/** Rows that answer in fewer runs than this say so by the share of `ok` alone. */
const FEW = 5;

/** What intervals and bounds hold of, and how far a median may be off. */
const LEAST_HELD = 0.9;
const LEVEL = 0.95;
const LEAST_RIGHT = 0.97;
/** So many values of a row, and that all of them hold says that its interval is wider than it need be. */
const MANY = 100;
const MOST_OFF = 0.05;

const count = (rows: readonly CoverageRow[], which: (row: CoverageRow) => boolean): number => rows.filter(which).length;

/** True where a value is told in fewer than half of the runs: who asks will seldom have it. */
const isSeldom = ({ ok, runs }: CoverageRow): boolean => ok > 0 && 2 * ok < runs;

/** Lines of a table: values, and how many of them hold, by figure, what is counted by token with what is not. */
function figuresOf(rows: readonly CoverageRow[]): string[] {
  const names = [...new Set(rows.map(({ metric }) => metric))];
  const sum = (some: readonly CoverageRow[], number: (row: CoverageRow) => number): number =>
    some.reduce((all, row) => all + number(row), 0);
  const tellsMany = rows.some(({ ok }) => ok >= MANY);
  const lines = names.map((name) => {
    const mine = rows.filter(({ metric }) => metric === name);
    const [ok, bound] = [sum(mine, (row) => row.ok), sum(mine, (row) => row.bound)];
    const [held, right] = [sum(mine, (row) => row.held), sum(mine, (row) => row.right)];
    const many = mine.filter((row) => row.ok >= MANY);
    const whole = many.length === 0 ? "" : `${count(many, (row) => row.held === row.ok)} of ${many.length}`;
    const shares = [share(held, ok), String(bound), share(right, bound), ...(tellsMany ? [whole] : [])];
    return `| ${[name, String(ok), ...shares].join(" | ")} |`;
  });
  return [
    `| figure | values | held | bounds | right |${tellsMany ? ` rows of ${MANY} values or more of which all hold |` : ""}`,
    `|---|---|---|---|---|${tellsMany ? "---|" : ""}`,
    ...lines,
  ];
}

/** What the rows say together. */
function summaryOf(rows: readonly CoverageRow[]): string {
  const runs = rows.map((row) => row.runs);
  const [fewest, most] = [Math.min(...runs), Math.max(...runs)];
  const answered = rows.filter(({ ok }) => ok >= FEW);
  const held = answered.map((row) => row.held / row.ok).sort((a, b) => a - b);
  const median = held[held.length >> 1] ?? Number.NaN;
  const isPoor = (row: CoverageRow): boolean => row.held / row.ok < LEAST_HELD;
  // So few runs hold so little by chance where the true share is below the level.
  const isShort = (row: CoverageRow): boolean => isPoor(row) && (clopperPearson(row.held, row.ok).hi ?? 1) < LEVEL;
  const bounded = rows.filter(({ bound }) => bound >= FEW);
  const total = (number: (row: CoverageRow) => number): number => rows.reduce((sum, row) => sum + number(row), 0);
  const all = total((row) => row.runs);
  return [
    `${fewest === most ? most : `${fewest} to ${most}`} runs of each world.`,
    `Of ${answered.length} rows with a value in ${FEW} runs or more, the median holds the truth in ${Math.round(100 * median)} % of them;`,
    `${count(answered, isPoor)} rows hold it in fewer than 90 %, ${count(answered, isShort)} of them by more than the chance of so few runs;`,
    `the median estimate of ${count(answered, ({ ratio }) => Math.abs((ratio ?? 1) - 1) > MOST_OFF)} is more than 5 % off.`,
    `Of ${bounded.length} rows with a bound in ${FEW} runs or more, ${count(bounded, (row) => row.right / row.bound < LEAST_RIGHT)} are right in fewer than 97 %.`,
    `Of all ${all} answers ${share(
      total(({ ok }) => ok),
      all,
    )} are values and ${share(
      total(({ bound }) => bound),
      all,
    )} bounds;`,
    `${count(answered, isSeldom)} of the rows with a value have one in fewer than half of the runs (seldom).`,
  ].join(" ");
}

/** True where every run gave a bound that is right, or every run the same value, which is true. */
const isPlain = ({ runs, ok, held, bound, right, half_width }: CoverageRow): boolean =>
  (bound === runs && right === runs) || (ok === runs && held === runs && half_width === 0);

/** Markdown as accuracyTable has it, but rows of which there is nothing more to say are only counted. */
export function shortTable(rows: readonly CoverageRow[]): string {
  const plain = rows.filter(isPlain).length;
  const said = `${plain} rows are not shown: in every run a bound that is right, or in every run the same value, which is true.`;
  return `${said} ${accuracyTable(rows, (row) => !isPlain(row))}`;
}

/** Where a figure is not of the whole run, looked at as if no step were known. */
const spanOf = ({ phase, step }: CoverageRow): string | null =>
  step === "all" ? (phase === "generation" ? "steps known" : null) : step;

/**
 * Markdown, a row for each world and metric in which any run told something.
 * @param isShown what is summed up with the others may be left out of the rows
 */
export function accuracyTable(
  rows: readonly CoverageRow[],
  isShown: (row: CoverageRow) => boolean = () => true,
): string {
  const telling = rows.filter(({ ok, bound }) => ok + bound > 0);
  // How many runs there were is said once where that is the same of all.
  const isUneven = telling.some(({ runs }) => runs !== telling[0]?.runs);
  const lines = telling.filter(isShown).map((row) => {
    const { ratio, half_width } = row;
    const isTold = row.ok >= FEW && ratio !== null && half_width !== null;
    const value = isTold ? [ratio.toFixed(3), `${(100 * half_width).toPrecision(2)} %`] : ["", ""];
    const cells = [
      row.world,
      row.source,
      spanOf(row) === null ? row.metric : `${row.metric}, ${spanOf(row)}`,
      ...(isUneven ? [String(row.runs)] : []),
      `${pct(row.ok, row.runs)}${isSeldom(row) ? ", seldom" : ""}`,
      ...value,
      row.ok >= FEW ? pct(row.held, row.ok) : "",
      pct(row.bound, row.runs),
      pct(row.right, row.bound),
      pct(row.refused, row.runs),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    summaryOf(telling),
    "",
    ...figuresOf(telling),
    "",
    `| world | source | figure |${isUneven ? " runs |" : ""} ok | estimate / truth | half width | held | bound | right | refused |`,
    `|---|---|---|${isUneven ? "---|" : ""}---|---|---|---|---|---|---|`,
    ...lines,
  ].join("\n");
}
