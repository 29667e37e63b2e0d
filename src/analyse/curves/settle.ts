/** How long after the write before a write comes: what is still written to bytes that had settled. */
import { carryingUnits } from "../../statistics/carrying-units.ts";
import { boundedQuantiles } from "../../statistics/survival/recurrent-survival.ts";
import { FEWEST, rowOf } from "../figures/figure-row.ts";
import { unseenByOthers } from "../metrics/shared-memory.ts";
import { CUT, MOST_CUT } from "../watched/counting/count-window.ts";
import type { Exposure } from "../watched/exposure.ts";
import { FEWEST_CARRYING, fewCarry, isCarriedByFew } from "../watched/rate/pass-rate.ts";
import type { AgedRead } from "../watched/write-epoch.ts";
import { writeHistory } from "../watched/write-epoch.ts";
import { passAges } from "../watched/write-times.ts";
import { type CurveOf, curveOfFigure, printedRow } from "./curve.ts";
import { samplePoints } from "./share-points.ts";

const NAME = "stores_after_settle";

/** Each write pass with the time since the write before; of the first that was seen, how long it had not been written at least. */
function settledWrites(exposure: Exposure): AgedRead[] {
  const { epochs } = writeHistory(exposure);
  return epochs.map(({ pass, write_ns }, i) => ({
    pass,
    age_ns: epochs[i - 1]?.seen_ns ?? write_ns - exposure.begin_ns,
    // Of the times as they were seen: nobody asks how much shorter they may be.
    traps: 0,
    isKnown: i > 0,
  }));
}

/** Over write passes in windows as those of the age at read, and judged as its median would be. */
export const settleCurve: CurveOf = (group, rows) => {
  const written = printedRow(
    rows.filter(({ source }) => source === "watch"),
    "write_bytes_per_s",
  );
  if (group.span.step !== "all" || written === null) return null;
  const frame = { curve: NAME, shape: "survival", x_unit: "ns", y_unit: "ratio" } as const;
  if (written.status === "not_identifiable") return curveOfFigure(frame, written, () => []);
  const set = group.stores;
  const { sample, cut, undrawn } = passAges(set, settledWrites);
  const carrying = carryingUnits(sample.unit_weight);
  const isFew = sample.n >= FEWEST && isCarriedByFew(carrying, FEWEST_CARRYING);
  const [median] = boundedQuantiles(sample, [0.5], set.resamples(), undrawn);
  const unseen = unseenByOthers(group.every);
  const why =
    unseen ??
    (sample.n === 0 ? (written.why ?? "no write seen") : isFew ? fewCarry(carrying) : cut > MOST_CUT ? CUT : null);
  const judged = rowOf(
    group,
    {
      metric: NAME,
      source: "watch",
      estimate: isFew || cut > MOST_CUT || median === undefined ? { value: null, lo: null, hi: null } : median,
      n: sample.n,
      n_censored: sample.n_censored,
      censored: 0,
      grain_bytes: 8,
      method:
        "KM of the time back to the write before, over write passes to 8 bytes in a common window, censored at the start of the exposure; interval by the share up to each time, addresses resampled",
      not_identifiable: unseen !== null,
      ...(why === null ? {} : { why }),
    },
    "ns",
  );
  return curveOfFigure(frame, judged, () => samplePoints(sample, set.resamples(), true, undrawn));
};
