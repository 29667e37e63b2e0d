/** How far apart the addresses of successive accesses lie. */
import { type CurveOf, curveOfFigure, printedRow } from "./curve.ts";
import { streamPoints } from "./stream-points.ts";

export const strideCurve: CurveOf = ({ stream }, rows) =>
  curveOfFigure(
    { curve: "stride", shape: "distribution", x_unit: "bytes", y_unit: "ratio" },
    printedRow(rows, "median_stride_bytes"),
    () => (stream === null ? [] : streamPoints(stream.strides, false)),
  );
