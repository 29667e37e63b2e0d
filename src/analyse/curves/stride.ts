/** How far apart the addresses of successive accesses lie, and how many follow each other closely. */
import { type CurveOf, curveOfFigure, printedRow } from "./curve.ts";
import { streamPoints } from "./stream-points.ts";

export const strideCurve: CurveOf = ({ stream }, rows) =>
  curveOfFigure(
    { curve: "stride", shape: "distribution", x_unit: "bytes", y_unit: "ratio" },
    printedRow(rows, "median_stride_bytes"),
    () => (stream === null ? [] : streamPoints(stream.strides, false)),
  );

export const runLengthCurve: CurveOf = ({ stream }, rows) =>
  curveOfFigure(
    { curve: "run_length", shape: "distribution", x_unit: "accesses", y_unit: "ratio" },
    printedRow(rows, "same_page_fraction"),
    () => (stream === null ? [] : streamPoints(stream.runs, false)),
  );
