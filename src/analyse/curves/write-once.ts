/** The share of blocks that are written once against how large a block is. */
import { printedFigures } from "../metrics/registry.ts";
import { type CurveOf, curveOfFigure, printedRow } from "./curve.ts";

const METRIC = "write_once_ratio";

/** The figures of the ratio at all grains; one that is a bound is an interval without a value. */
export const writeOnceCurve: CurveOf = (_group, rows) =>
  curveOfFigure(
    { curve: "write_once", shape: "line", x_unit: "bytes", y_unit: "ratio" },
    printedRow(rows, METRIC),
    () => {
      const points = printedFigures(rows)
        .filter(
          ({ metric, grain_bytes, lo, hi }) =>
            metric === METRIC && grain_bytes !== null && (lo !== null || hi !== null),
        )
        .map(({ grain_bytes, value, lo, hi, n, why }) => ({
          x: grain_bytes ?? 0,
          y: value,
          lo,
          hi,
          n,
          ...(why === null ? {} : { why }),
        }))
        .sort((a, b) => a.x - b.x);
      return points.length > 0
        ? points
        : "known by whole rows of the cache, pages of a file or addresses: not by grain";
    },
  );
