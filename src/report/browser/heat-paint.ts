/** Paints the map of addresses: memory and faults above, phases, then accesses by time and address, and the time below. */
import { formatBytes, formatCount, formatNs } from "../../units.ts";
import type { HeatMap, RunData } from "../page/data/page-data.ts";
import { ticks } from "./axis-ticks.ts";
import { computedColor } from "./elements.ts";
import { type Cells, momentOf } from "./heat-data.ts";
import type { View } from "./heat-view.ts";

/** Heights in CSS pixels, from the top. */
export const LAYOUT = { left: 92, right: 12, memory: 64, faults: 36, phases: 18, axis: 40, gap: 8 } as const;

export interface Scene {
  readonly run: RunData;
  readonly heat: HeatMap;
  readonly cells: Cells;
  /** Of the element, in CSS pixels. */
  readonly width: number;
  readonly height: number;
  readonly ink: { readonly text: string; readonly faint: string; readonly write: string; readonly memory: string };
}

/** Where the accesses are painted. */
export function mapArea({ width, height }: Pick<Scene, "width" | "height">) {
  const top = LAYOUT.memory + LAYOUT.faults + LAYOUT.phases + 3 * LAYOUT.gap;
  return { left: LAYOUT.left, top, width: width - LAYOUT.left - LAYOUT.right, height: height - top - LAYOUT.axis };
}

type Pen = CanvasRenderingContext2D;

function label(pen: Pen, text: string, x: number, y: number, align: CanvasTextAlign, ink: string): void {
  pen.fillStyle = ink;
  pen.textAlign = align;
  pen.fillText(text, x, y);
}

function paintTimeline(pen: Pen, scene: Scene, x: (ms: number) => number): void {
  const { run, ink } = scene;
  if ("why" in run.timeline) {
    label(pen, run.timeline.why, LAYOUT.left, 30, "left", ink.text);
    return;
  }
  const { time_ms, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, minor_faults, major_faults } = run.timeline.data;
  const rss = time_ms.map((_, i) => (rss_anon_bytes[i] ?? 0) + (rss_file_bytes[i] ?? 0) + (rss_shmem_bytes[i] ?? 0));
  const faults = time_ms.map((_, i) => (minor_faults[i] ?? 0) + (major_faults[i] ?? 0));
  const [mostRss, mostFaults] = [Math.max(1, ...rss), Math.max(1, ...faults)];
  pen.save();
  pen.beginPath();
  pen.rect(LAYOUT.left, 0, scene.width - LAYOUT.left - LAYOUT.right, LAYOUT.memory + LAYOUT.gap + LAYOUT.faults);
  pen.clip();
  pen.fillStyle = ink.memory;
  const base = LAYOUT.memory;
  pen.beginPath();
  pen.moveTo(x(time_ms[0] ?? 0), base);
  time_ms.forEach((ms, i) => {
    pen.lineTo(x(ms), base - ((base - 14) * (rss[i] ?? 0)) / mostRss);
  });
  pen.lineTo(x(time_ms.at(-1) ?? 0), base);
  pen.fill();
  const foot = LAYOUT.memory + LAYOUT.gap + LAYOUT.faults;
  pen.fillStyle = ink.faint;
  time_ms.forEach((ms, i) => {
    const height = ((LAYOUT.faults - 4) * Math.log1p(faults[i] ?? 0)) / Math.log1p(mostFaults);
    pen.fillRect(x(ms), foot - height, 1.5, height);
  });
  pen.restore();
  label(pen, "resident", LAYOUT.left - 8, 28, "right", ink.text);
  label(pen, formatBytes(mostRss), LAYOUT.left - 8, 44, "right", ink.text);
  label(pen, "faults", LAYOUT.left - 8, foot - 18, "right", ink.text);
  label(pen, `≤ ${formatCount(mostFaults)}`, LAYOUT.left - 8, foot - 3, "right", ink.text);
}

/** How dark a step stands in the row of phases; the key of the map has the same. */
const PHASE_INK: Readonly<Record<string, number>> = { prefill: 0.7, decode: 0.25 };
const OTHER_PHASE_INK = 0.1;

function paintPhases(pen: Pen, { run, ink, width }: Scene, x: (ms: number) => number): void {
  const top = LAYOUT.memory + LAYOUT.faults + 2 * LAYOUT.gap;
  for (const { phase, step, begin_ms, end_ms } of run.phases) {
    const [from, end] = [Math.max(LAYOUT.left, x(begin_ms)), Math.min(width - LAYOUT.right, x(end_ms))];
    if (end - from < 0.5) continue;
    pen.globalAlpha = PHASE_INK[step ?? ""] ?? OTHER_PHASE_INK;
    pen.fillStyle = ink.faint;
    pen.fillRect(from, top, end - from, LAYOUT.phases);
    pen.globalAlpha = 1;
    const name = (step ?? phase).replace("_", " ");
    if (end - from > pen.measureText(name).width + 8) label(pen, name, from + 4, top + 13, "left", ink.text);
  }
  label(pen, "phase", LAYOUT.left - 8, top + 13, "right", ink.text);
}

function paintRegions(pen: Pen, { run }: Scene, x: (ms: number) => number, y: (row: number) => number): void {
  if ("why" in run.regions) return;
  const { map_row, map_rows, birth_ms, death_ms, class: classes } = run.regions.data;
  const colors = run.classes.map(computedColor);
  pen.globalAlpha = 0.13;
  map_row.forEach((row, i) => {
    const rows = map_rows[i] ?? null;
    if (row === null || rows === null) return;
    const [from, end] = [x(birth_ms[i] ?? 0), x(death_ms[i] ?? 0)];
    pen.fillStyle = colors[classes[i] ?? 0] ?? "";
    pen.fillRect(from, y(row), Math.max(1, end - from), Math.max(0.5, y(row + rows) - y(row)));
  });
  pen.globalAlpha = 1;
}

/** What was looked at: without a mark upon it nobody used it then. */
function paintLooks(
  pen: Pen,
  { heat, cells, run, ink }: Scene,
  x: (ms: number) => number,
  y: (row: number) => number,
): void {
  const { column, row, width, height } = cells.looks;
  const perColumn = run.duration_ms / heat.columns;
  pen.fillStyle = ink.text;
  pen.globalAlpha = 0.28;
  for (let i = 0; i < column.length; i++) {
    const left = x((column[i] ?? 0) * perColumn);
    const across = Math.max(1, x(((column[i] ?? 0) + (width[i] ?? 0)) * perColumn) - left);
    const top = y(row[i] ?? 0);
    pen.fillRect(left, top, across, Math.max(1, y((row[i] ?? 0) + (height[i] ?? 0)) - top));
  }
  pen.globalAlpha = 1;
}

function paintCells(pen: Pen, scene: Scene, view: View, x: (ms: number) => number, y: (row: number) => number): void {
  const { heat, cells, run, ink } = scene;
  const perColumn = run.duration_ms / heat.columns;
  const most = Math.log1p(
    cells.reads.reduce(
      (a, b) => Math.max(a, b),
      cells.writes.reduce((a, b) => Math.max(a, b), 1),
    ),
  );
  const size = heat.cell_size;
  const width = Math.max(2, x(perColumn * size) - x(0));
  const height = Math.max(2, y(size) - y(0));
  const colors = heat.bands.map((band) => ({
    last: band.row + band.rows,
    color: computedColor(run.classes[band.class] ?? ""),
  }));
  const draw = (counts: Float32Array, colorOfRow: (row: number) => string): void => {
    for (let i = 0; i < heat.cells; i++) {
      const count = counts[i] ?? 0;
      const row = (cells.row[i] ?? 0) * size;
      const ms = (cells.column[i] ?? 0) * size * perColumn;
      if (count === 0 || row + size < view.top || row > view.bottom || ms > view.end) continue;
      const left = x(ms);
      if (left + width < LAYOUT.left) continue;
      pen.globalAlpha = 0.45 + (0.55 * Math.log1p(count)) / most;
      pen.fillStyle = colorOfRow(row);
      pen.fillRect(left, y(row), width, height);
    }
  };
  draw(cells.reads, (row) => colors.find(({ last }) => row < last)?.color ?? ink.text);
  draw(cells.writes, () => ink.write);
  pen.globalAlpha = 1;
}

/** The names of the classes at the left, and a line between each two. */
function paintBands(pen: Pen, { heat, run, ink, width, height }: Scene, y: (row: number) => number): void {
  const area = mapArea({ width, height });
  for (const band of heat.bands) {
    const [top, bottom] = [Math.max(area.top, y(band.row)), Math.min(area.top + area.height, y(band.row + band.rows))];
    if (bottom <= top) continue;
    pen.fillStyle = ink.faint;
    pen.fillRect(area.left, top, area.width, 0.5);
    if (bottom - top < 14) continue;
    const middle = (top + bottom) / 2;
    label(
      pen,
      run.classes[band.class] ?? "",
      LAYOUT.left - 8,
      middle,
      "right",
      computedColor(run.classes[band.class] ?? ""),
    );
    if (bottom - top > 32) label(pen, formatBytes(band.bytes), LAYOUT.left - 8, middle + 15, "right", ink.text);
  }
}

function paintAxis(pen: Pen, { run, ink, height, width }: Scene, view: View, x: (ms: number) => number): void {
  const line = height - LAYOUT.axis;
  pen.fillStyle = ink.faint;
  pen.fillRect(LAYOUT.left, line, width - LAYOUT.left - LAYOUT.right, 1);
  const count = Math.max(2, Math.floor((width - LAYOUT.left) / 110));
  for (const ms of ticks(view.begin, view.end, count)) {
    pen.fillStyle = ink.faint;
    pen.fillRect(x(ms), line, 1, 5);
    const align = x(ms) < LAYOUT.left + 16 ? "left" : x(ms) > width - 30 ? "right" : "center";
    label(pen, formatNs(ms * 1e6), x(ms), line + 16, align, ink.text);
    const { token } = momentOf(run, ms);
    if (token !== null) label(pen, formatCount(token), x(ms), line + 32, align, ink.text);
  }
  label(pen, "time", LAYOUT.left - 8, line + 16, "right", ink.text);
  label(pen, "token", LAYOUT.left - 8, line + 32, "right", ink.text);
}

/** Paints the whole scene as the view sees it. */
export function paint(pen: Pen, scene: Scene, view: View): void {
  const { width, height } = scene;
  const area = mapArea(scene);
  const x = (ms: number): number => area.left + ((ms - view.begin) * area.width) / (view.end - view.begin);
  const y = (row: number): number => area.top + ((row - view.top) * area.height) / (view.bottom - view.top);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  paintTimeline(pen, scene, x);
  paintPhases(pen, scene, x);
  pen.save();
  pen.beginPath();
  pen.rect(area.left, area.top, area.width, area.height);
  pen.clip();
  paintRegions(pen, scene, x, y);
  paintLooks(pen, scene, x, y);
  paintCells(pen, scene, view, x, y);
  pen.restore();
  paintBands(pen, scene, y);
  paintAxis(pen, scene, view, x);
}
