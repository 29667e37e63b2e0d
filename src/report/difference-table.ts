/** What `compare RUN_A RUN_B` prints for people. */
import type { MetricDifference, RunDifference, SideFigure } from "../schema/run-difference.ts";
import { formatBytes, formatIn, type Scale } from "../units.ts";
import { scaleOf } from "./figure.ts";
import { type GridRow, grid } from "./grid.ts";
import { nameOfMetric } from "./table-order.ts";
import { type Line, render, type Terminal, wrap } from "./terminal.ts";

const KEY_WIDTH = 11;

function entry(key: string, text: string, width: number): Line[] {
  return wrap(text, Math.max(10, width - KEY_WIDTH)).map((part, i) => [
    { text: (i === 0 ? key : "").padEnd(KEY_WIDTH), ink: "dim" },
    { text: part },
  ]);
}

/** The scale of both sides and of their difference, so that they can be compared by eye. */
function scaleOfRow({ unit, a, b }: MetricDifference): Scale {
  const sizes = [a?.value, a?.hi, a?.lo, b?.value, b?.hi, b?.lo].map((value) => Math.abs(value ?? 0));
  return scaleOf(unit, Math.max(...sizes));
}

function interval(lo: number | null, hi: number | null, scale: Scale): string {
  const least = lo === null ? "?" : formatIn(lo, scale, "down");
  const most = hi === null ? "?" : formatIn(hi, scale, "up");
  return lo === null && hi === null ? "" : ` [${least}, ${most}]`;
}

function sideCell(side: SideFigure | null, scale: Scale): Line {
  if (side === null) return [{ text: "-", ink: "dim" }];
  if (side.status === "not_identifiable" || side.status === "insufficient") {
    return [{ text: side.status.replace("_", " "), ink: "dim" }];
  }
  if (side.value === null && side.label !== null) return [{ text: side.label }];
  if (side.value === null) {
    const bound =
      side.hi === null ? `>= ${formatIn(side.lo ?? 0, scale, "down")}` : `<= ${formatIn(side.hi, scale, "up")}`;
    return [{ text: `${bound}${scale.unit}`, ink: "warn" }];
  }
  const counted = side.lo === side.hi;
  const ends = counted ? "" : interval(side.lo, side.hi, scale);
  return [{ text: `${formatIn(side.value, scale)}${scale.unit}` }, { text: ends, ink: "dim" }];
}

function differenceCell({ difference, difference_pct, differs, method }: MetricDifference, scale: Scale): Line {
  const { value, lo, hi } = difference;
  if (value === null && lo === null && hi === null) {
    if (differs === null) return [{ text: "-", ink: "dim" }];
    return differs ? [{ text: "differs", ink: "warn" }] : [{ text: "same", ink: "dim" }];
  }
  const sign = (figure: number): string => `${figure > 0 ? "+" : ""}${formatIn(figure, scale)}`;
  const head = value === null ? "between" : `${sign(value)}${scale.unit}`;
  const share = difference_pct === null ? "" : ` (${difference_pct > 0 ? "+" : ""}${difference_pct.toPrecision(3)} %)`;
  const ends = method === "counted" ? "" : interval(lo, hi, scale);
  return [
    { text: `${head}${share}`, ink: differs === true ? "bold" : "plain" },
    { text: ends, ink: "dim" },
    ...(differs === true ? [{ text: " differs", ink: "warn" as const }] : []),
  ];
}

function labelOf({ metric, mapping_kind, phase, step, grain_bytes }: MetricDifference): string {
  const shown = (word: string, usual: readonly string[]): string[] => (usual.includes(word) ? [] : [word]);
  const where = [
    ...(mapping_kind === null ? [] : [mapping_kind]),
    ...shown(phase, ["all", "generation"]),
    ...shown(step, ["all"]),
  ];
  const grain = grain_bytes === null ? "" : ` @ ${formatBytes(grain_bytes)}`;
  return `  ${nameOfMetric(metric)}${grain}${where.length === 0 ? "" : `, ${where.join(" ")}`}`;
}

/** True where at least one run says something of the size of the figure. */
function speaks({ a, b }: MetricDifference): boolean {
  return [a, b].some((side) => side !== null && (side.status === "ok" || side.status === "bound"));
}

function rowsOf(metrics: readonly MetricDifference[]): GridRow[] {
  const byClass = Map.groupBy(metrics.filter(speaks), ({ region_type }) => region_type);
  return [...byClass].flatMap(([region_type, rows]) => [
    { label: region_type, heading: true, cells: [] },
    ...rows.map((row) => {
      const scale = scaleOfRow(row);
      return {
        label: labelOf(row),
        cells: [sideCell(row.a, scale), sideCell(row.b, scale), differenceCell(row, scale)],
      };
    }),
  ]);
}

const HOW =
  "B - A with its 95 % interval by MOVER (Zou and Donner 2008) of the two runs' own intervals, which are independent; of bounds, the farthest that both allow. " +
  "They hold what one run can know of itself: two runs of the same may differ by more, so repeat before you conclude.";

/** The two runs as text; every line fits into the terminal. */
export function renderDifference(difference: RunDifference, terminal: Terminal): string {
  const { width, unicode } = terminal;
  const differing = difference.metrics.filter(({ differs }) => differs !== null);
  const differ = differing.filter(({ differs }) => differs === true).length;
  const silent = difference.metrics.filter((row) => !speaks(row)).length;
  const byChance = `${differ} of ${differing.length} differ; at this level about ${Math.round(differing.length * 0.05)} would by chance alone`;
  const rows = rowsOf(difference.metrics);
  return render(
    [
      ...entry("A", `${difference.a.model_id}  ${difference.a.run_id}  ${difference.a.validity}`, width),
      ...entry("B", `${difference.b.model_id}  ${difference.b.run_id}  ${difference.b.validity}`, width),
      ...(difference.contrasts.length === 0 ? entry("not alike", "nothing that is recorded", width) : []),
      ...difference.contrasts.flatMap(({ what, a, b }, i) =>
        entry(i === 0 ? "not alike" : "", `${what}: A ${a}, B ${b}`, width),
      ),
      [],
      ...(rows.length > 0 ? grid(["A", "B", "B - A"], rows, width, unicode ? "─" : "-") : []),
      [],
      ...wrap(HOW, width).map((text) => [{ text, ink: "dim" } as const]),
      ...wrap(byChance, width).map((text) => [{ text }]),
      ...(silent > 0
        ? [[{ text: `${silent} figures that neither run can tell are in --json`, ink: "dim" as const }]]
        : []),
    ],
    terminal,
  );
}
