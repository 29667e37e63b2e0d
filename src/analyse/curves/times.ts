/** Curves of times: how long data is needed, how old it is when it is read, how long until a byte is used again. */
import { carryingUnitsOf, sharesByEnds } from "../../statistics/inverse-censoring.ts";
import type { Group, WatchSet } from "../input/group.ts";
import { AGES } from "../metrics/age-at-read.ts";
import { intervalsSeen } from "../metrics/inter-access-interval.ts";
import { RETENTION } from "../metrics/retention.ts";
import { unseenWrites } from "../watched/first-writes.ts";
import { withoutTraps } from "../watched/trap-delay.ts";
import { bestEpochs, readAges } from "../watched/write-times.ts";
import { type CurveOf, type CurvePoint, curveOfFigure, printedRow } from "./curve.ts";
import { kvNeedPoints } from "./kv-points.ts";
import { pointsByEnds, samplePoints } from "./share-points.ts";
import { streamPoints } from "./stream-points.ts";

const SHARE = { x_unit: "ns", y_unit: "ratio" } as const;

/** Of the write passes that the figure is told from; what was cut short ticks where its need was seen last. */
function retentionPoints(group: Group): CurvePoint[] {
  const set = group.uniform;
  const { cases, undrawn } = bestEpochs(set);
  const observations = {
    time: Float64Array.from(cases, ({ value }) => value).sort(),
    cut: Float64Array.from(
      cases.filter(({ isWhole }) => !isWhole),
      ({ value }) => value,
    ).sort(),
  };
  const without = cases.map((one) => ({ ...one, value: withoutTraps(one.value, one.traps, set.trap_ns) }));
  const { early: shortest } = sharesByEnds(without);
  return pointsByEnds(
    sharesByEnds(cases),
    observations,
    set.resamples(),
    carryingUnitsOf(cases),
    true,
    undrawn + unseenWrites(group),
    shortest,
  );
}

function agePoints(set: WatchSet): CurvePoint[] {
  const { sample, undrawn, shortest } = readAges(set);
  return samplePoints(sample, set.resamples(), true, undrawn, shortest());
}

const NOTHING: readonly CurvePoint[] = [];

export const retentionCurve: CurveOf = (group, rows) =>
  curveOfFigure({ curve: "retention", shape: "survival", ...SHARE }, printedRow(rows, "retention_p50_ns"), (source) => {
    if (source === "step") return kvNeedPoints(group, RETENTION, true);
    if (source === "watch") return retentionPoints(group);
    return group.stream === null ? NOTHING : streamPoints(group.stream.retention, true);
  });

export const ageCurve: CurveOf = (group, rows) =>
  curveOfFigure(
    { curve: "age_at_read", shape: "survival", ...SHARE },
    printedRow(rows, "age_at_read_p50_ns"),
    (source) => {
      if (source === "step") return kvNeedPoints(group, AGES, true);
      if (source === "watch") return agePoints(group.uniform);
      return group.stream === null ? NOTHING : streamPoints(group.stream.ages, true);
    },
  );

export const intervalCurve: CurveOf = (group, rows) =>
  curveOfFigure(
    { curve: "inter_access_interval", shape: "distribution", ...SHARE },
    printedRow(rows, "iai_p50_ns"),
    (source) => intervalPoints(group, source),
  );

function intervalPoints(group: Group, source: string): readonly CurvePoint[] {
  if (source === "watch") {
    const { sample, undrawn, shortest } = intervalsSeen(group);
    return samplePoints(sample, group.uniform.resamples(), false, undrawn, shortest());
  }
  return group.stream === null ? NOTHING : streamPoints(group.stream.intervals, false);
}
