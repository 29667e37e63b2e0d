/** The figures at the whole budget and at a part of it: what `--check-invariance` prints below the table. */
import type { RunReport } from "../schema/run-json.ts";
import { formatCount, formatIn, type Rounding, type Scale } from "../units.ts";
import { scaleOf } from "./figure.ts";
import { type GridRow, grid } from "./grid.ts";
import { type Line, type Terminal, wrap } from "./terminal.ts";

type Compared = NonNullable<RunReport["invariance"]>["figures"][number];
type Ends = { readonly value: number | null; readonly lo: number | null; readonly hi: number | null };

function cell({ value, lo, hi }: Ends, scale: Scale): Line {
  const shown = (x: number | null, rounding: Rounding = "nearest"): string =>
    x === null ? "?" : formatIn(x, scale, rounding);
  return [
    { text: `${shown(value)}${scale.unit}` },
    { text: ` [${shown(lo, "down")}, ${shown(hi, "up")}]`, ink: "dim" },
  ];
}

const classOf = ({ region_type, mapping_kind }: Compared): string =>
  region_type === "unknown" ? (mapping_kind ?? region_type) : region_type;

/** The outcome in one sentence, with the figures that differ; null where it was not asked for. */
export function invarianceText({ invariance }: RunReport): string | null {
  if (invariance === null) return null;
  const { figures, turns } = invariance;
  const differing = figures.filter(({ differs }) => differs);
  const names = differing.map((one) => `${classOf(one)} ${one.metric}`).join(", ");
  const count = `${differing.length} of ${figures.length} figures differ with the budget, of which there were ${turns} turns`;
  return names === "" ? count : `${count}: ${names}`;
}

/** Rows of the figures by budget, those that differ marked; nothing where it was not asked for. */
export function invarianceTable(report: RunReport, { width, unicode }: Terminal): Line[] {
  const { invariance } = report;
  if (invariance === null) return [];
  const { whole_pct, reduced_pct, figures, untold } = invariance;
  const rows = figures.map((figure): GridRow => {
    const scale = scaleOf(
      figure.unit,
      Math.max(Math.abs(figure.whole.value ?? 0), Math.abs(figure.reduced.value ?? 0)),
    );
    const mark: Line = figure.differs ? [{ text: " differs", ink: "bad" }] : [];
    return {
      label: `${classOf(figure)} ${figure.metric}`,
      cells: [
        cell(figure.whole, scale),
        cell(figure.reduced, scale),
        [...cell(figure.difference, scale), ...mark],
        cell(figure.unwatched, scale),
      ],
    };
  });
  const columns = [`${formatCount(whole_pct)} %`, `${formatCount(reduced_pct)} %`, "difference", "at no budget"];
  const verdict =
    `${invarianceText(report)}; of figures that do not, 1 in 20 would by chance. At no budget: the line through both.` +
    (untold > 0 ? ` ${untold} more were not told at both.` : "");
  return [
    [],
    ...(rows.length > 0 ? grid(columns, rows, width, unicode ? "─" : "-") : []),
    ...wrap(verdict, width).map((text): Line => [{ text }]),
  ];
}
