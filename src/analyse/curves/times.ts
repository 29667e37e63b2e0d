/** Curves of times: how long data is needed, how old it is when it is read, how long until a byte is used again. */
import { carryingUnitsOf, sharesByEnds } from "../../statistics/inverse-censoring.ts";
import type { Group } from "../input/group.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { AGES } from "../metrics/age-at-read.ts";
import { intervalsSeen } from "../metrics/inter-access-interval.ts";
import { RETENTION } from "../metrics/retention.ts";
import { armingEcho, timesRoom } from "../watched/counting/arming-echo.ts";
import { unseenWrites } from "../watched/first-writes.ts";
import { movesTimes, type Parted, partedPasses, partedReason } from "../watched/parted-passes.ts";
import { withoutTraps } from "../watched/trap-delay.ts";
import { bestEpochs, readAges } from "../watched/write-times.ts";
import { type CurveOf, type CurvePoint, curveOfFigure, printedRow } from "./curve.ts";
import { kvNeedPoints } from "./kv-points.ts";
import { pointsByEnds, samplePoints, withoutLongest } from "./share-points.ts";
import { streamPoints } from "./stream-points.ts";

const SHARE = { x_unit: "ns", y_unit: "ratio" } as const;

/** The points with room for passes that traps parted, as the quantiles have it. */
function allowingForParted(points: CurvePoint[], set: WatchSet, over: keyof Parted, falling: boolean): CurvePoint[] {
  const parted = partedPasses(set)[over];
  return movesTimes(parted) ? withoutLongest(points, falling, partedReason(parted)) : points;
}

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
  const points = pointsByEnds(
    sharesByEnds(cases),
    observations,
    set.resamples(),
    carryingUnitsOf(cases),
    true,
    undrawn + unseenWrites(group),
    shortest,
  );
  return allowingForParted(points, set, "write", true);
}

function agePoints(set: WatchSet): CurvePoint[] {
  const { sample, undrawn, shortest } = readAges(set);
  const points = samplePoints(sample, set.resamples(), true, undrawn, shortest());
  return allowingForParted(points, set, "read", true);
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
    const { uniform } = group;
    const { sample, undrawn, shortest } = intervalsSeen(group);
    const room = timesRoom(armingEcho(uniform).share);
    const points = samplePoints(sample, uniform.resamples(), false, undrawn, shortest(), room);
    return allowingForParted(points, uniform, "all", false);
  }
  return group.stream === null ? NOTHING : streamPoints(group.stream.intervals, false);
}
