/** Bytes touched within a window against its length: Denning's working set. */
import type { Group } from "../input/group.ts";
import { figureWindow, touchedWithin } from "../metrics/working-set.ts";
import { type CurveOf, type CurvePoint, curveOfFigure, printedRow } from "./curve.ts";

/** Windows to an octave. */
const PER_OCTAVE = 2;
/** More octaves than this lie between no two windows of use. */
const MOST_POINTS = 48;

/** From the pass gap to the longest window that enough watches are as long as; that of the figure is one of them. */
function watchPoints(group: Group): CurvePoint[] {
  const { uniform } = group;
  const base = figureWindow(group);
  const step = 2 ** (1 / PER_OCTAVE);
  const first = Math.max(-MOST_POINTS / 2, Math.ceil(Math.log(uniform.gap_ns / base) / Math.log(step)));
  const points: CurvePoint[] = [];
  for (let k = Math.min(first, 0); points.length < MOST_POINTS; k++) {
    const window = base * step ** k;
    const { estimate, n, whole, why } = touchedWithin(group, window);
    if (!whole) break;
    const { value, lo, hi } = estimate;
    points.push({ x: window, y: value, lo, hi, n, ...(why === null ? {} : { why }) });
  }
  return points;
}

export const workingSetCurve: CurveOf = (group, rows) =>
  curveOfFigure(
    { curve: "working_set", shape: "line", x_unit: "ns", y_unit: "bytes" },
    printedRow(rows, "working_set_bytes"),
    (source) => {
      if (source !== "watch") return "samples and traces tell what is touched in the whole span, not in a window of it";
      return watchPoints(group);
    },
  );
