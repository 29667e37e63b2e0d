/** Lays out labelled rows of cells in columns, in as many bands of columns as the width asks for. */
import { type Line, lineWidth, type Span, widthOf } from "./terminal.ts";

export interface GridRow {
  readonly label: string;
  /** True for a heading, which has no cells. */
  readonly heading?: boolean;
  readonly cells: readonly Line[];
}

const GAP = 2;

function pad(line: Line, width: number): Line {
  const missing = width - lineWidth(line);
  return missing > 0 ? [...line, { text: " ".repeat(missing) }] : line;
}

/** Groups of neighbouring columns, as equal in number as can be, each of which fits; a column that fits nowhere stands alone. */
function bandsOf(widths: readonly number[], room: number): number[][] {
  const columns = widths.map((_, i) => i);
  for (let bands = 1; bands < columns.length; bands++) {
    const size = Math.ceil(columns.length / bands);
    const groups = Array.from({ length: Math.ceil(columns.length / size) }, (_, b) =>
      columns.slice(b * size, (b + 1) * size),
    );
    const fits = (group: readonly number[]): boolean =>
      group.reduce((sum, i) => sum + (widths[i] ?? 0) + GAP, 0) <= room;
    if (groups.every(fits)) return groups;
  }
  return columns.map((i) => [i]);
}

/**
 * The rows under their column names. Where not all columns fit side by side they follow in bands below each other.
 * @param columns names of the columns, one cell per row each
 * @param corner what stands above the labels
 */
export function grid(
  columns: readonly string[],
  rows: readonly GridRow[],
  width: number,
  rule: string,
  corner = "",
): Line[] {
  const widestLabel = Math.max(...rows.map((row) => (row.heading ? 0 : widthOf(row.label))), widthOf(corner));
  const widths = columns.map((name, i) => Math.max(widthOf(name), ...rows.map((row) => lineWidth(row.cells[i] ?? []))));
  // A name is no use whose figure was cut: it then stands above its cells.
  const isBeside = widestLabel + GAP + Math.max(0, ...widths) <= width;
  const labelWidth = isBeside ? widestLabel : 0;
  const out: Line[] = [];
  for (const band of bandsOf(widths, width - labelWidth)) {
    if (out.length > 0) out.push([]);
    const used = band.reduce((sum, i) => sum + GAP + (widths[i] ?? 0), labelWidth);
    const across = (label: Line, cell: (column: number) => Line): Line => {
      const line: Span[] = [...pad(label, labelWidth)];
      band.forEach((column, place) => {
        // Space behind the last cell would be cut as if something were missing.
        const padded = place === band.length - 1 ? cell(column) : pad(cell(column), widths[column] ?? 0);
        line.push({ text: " ".repeat(GAP) }, ...padded);
      });
      return line;
    };
    if (!isBeside && corner !== "") out.push([{ text: corner, ink: "dim" }]);
    out.push(
      across(isBeside ? [{ text: corner, ink: "dim" }] : [], (column) => [
        { text: columns[column] ?? "", ink: "bold" },
      ]),
    );
    out.push([{ text: rule.repeat(Math.min(used, width)), ink: "dim" }]);
    for (const row of rows) {
      const label: Line = [{ text: row.label, ink: row.heading ? "bold" : "plain" }];
      if (row.heading || !isBeside) out.push(label);
      if (!row.heading) out.push(across(isBeside ? label : [], (i) => row.cells[i] ?? []));
    }
  }
  return out;
}
