/** The table of docs/accuracy.md: where a world allows a figure, how far it is from the truth and how often its interval holds it. */
import type { CoverageRow } from "../../../src/simulate/coverage.ts";

const pct = (part: number, all: number): string => (all === 0 ? "" : `${Math.round((100 * part) / all)} %`);

/** Rows that answer in fewer runs than this say so by the share of `ok` alone. */
const FEW = 5;

/** Markdown, a row for each world and metric in which any run told something. */
export function accuracyTable(rows: readonly CoverageRow[], seeds: number): string {
  const telling = rows.filter(({ ok, bound }) => ok + bound > 0);
  const answered = telling.filter(({ ok }) => ok >= FEW);
  const held = answered.map((row) => row.held / row.ok).sort((a, b) => a - b);
  const poor = held.filter((share) => share < 0.9).length;
  const median = held[held.length >> 1] ?? Number.NaN;
  const lines = telling.map((row) => {
    const { ratio, half_width } = row;
    const isTold = row.ok >= FEW && ratio !== null && half_width !== null;
    const value = isTold ? [ratio.toFixed(3), `${(100 * half_width).toPrecision(2)} %`] : ["", ""];
    const cells = [
      row.world,
      row.source,
      row.metric,
      pct(row.ok, row.runs),
      ...value,
      row.ok >= FEW ? pct(row.held, row.ok) : "",
      pct(row.bound, row.runs),
      pct(row.right, row.bound),
      pct(row.refused, row.runs),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    `${seeds} runs of each world. Of ${answered.length} rows with a value in ${FEW} runs or more, the median holds the truth in ${Math.round(100 * median)} % of them; ${poor} rows hold it in fewer than 90 %.`,
    "",
    "| world | source | figure | ok | estimate / truth | half width | held | bound | right | refused |",
    "|---|---|---|---|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}
