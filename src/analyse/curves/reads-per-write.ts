/** How often what one write wrote is read: over write passes that were watched, or over rows of the KV cache by steps. */
import { carryingUnitsOf, sharesByEnds } from "../../statistics/inverse-censoring.ts";
import type { UnitTimes } from "../../statistics/survival/recurrent-survival.ts";
import type { Group } from "../input/group.ts";
import type { KvRowSamples } from "../input/input.ts";
import { RETENTION } from "../metrics/retention.ts";
import { neededTogether, rowRoom } from "../steps/shared-rows.ts";
import { unseenWrites } from "../watched/first-writes.ts";
import { bestEpochs } from "../watched/write-times.ts";
import { type CurveOf, type CurvePoint, curveOfFigure, printedRow } from "./curve.ts";
import { sequencePoints } from "./kv-points.ts";
import { pointsByEnds } from "./share-points.ts";

/** Reads of a write whose next write or free was seen are all of its reads; of others there are at least so many. */
function watchPoints(group: Group): CurvePoint[] {
  const set = group.uniform;
  const epochs = bestEpochs(set);
  const undrawn = epochs.undrawn + unseenWrites(group);
  const cases = epochs.cases.map((one) => ({ ...one, value: one.reads }));
  const observations = {
    time: Float64Array.from(cases, ({ value }) => value).sort(),
    cut: Float64Array.from(
      cases.filter(({ isWhole }) => !isWhole),
      ({ value }) => value,
    ).sort(),
  };
  return pointsByEnds(sharesByEnds(cases), observations, set.resamples(), carryingUnitsOf(cases), true, undrawn);
}

/** Steps that needed each row, by sequence and by the bytes of the rows; of a row that is in the cache there may come more. */
function needsOf(rows: KvRowSamples) {
  const units = new Map<
    number,
    { complete: number[]; censored: number[]; weights: [number[], number[]]; bytes: number }
  >();
  for (const { filling, is_written, total_reads, size_bytes, evict_ns } of rows) {
    if (!is_written || !(size_bytes > 0)) continue;
    const unit = units.get(filling) ?? { complete: [], censored: [], weights: [[], []], bytes: 0 };
    units.set(filling, unit);
    const isOpen = Number.isNaN(evict_ns);
    (isOpen ? unit.censored : unit.complete).push(total_reads);
    unit.weights[isOpen ? 1 : 0].push(size_bytes);
    unit.bytes += size_bytes;
  }
  const times: UnitTimes[] = [...units.values()].map(({ complete, censored, weights: [whole, open] }) => ({
    complete,
    censored,
    weights: { complete: whole, censored: open },
  }));
  return {
    times,
    weights: [...units.values()].map(({ bytes }) => bytes),
    open: times.filter(({ censored }) => censored.length > 0).length,
  };
}

const stepPoints = (group: Group): CurvePoint[] =>
  sequencePoints(needsOf(group.kvRows), group.input.seed, RETENTION.stream, true, {
    ...rowRoom(group, RETENTION.earlyShare),
    above: neededTogether(group.kvRows),
  });

/** Of a write that is read by a pass this is read; a step that needs a row reads it once at least. */
export const readsPerWriteCurve: CurveOf = (group, rows) =>
  group.span.step === "all"
    ? curveOfFigure(
        { curve: "reads_per_write", shape: "survival", x_unit: "reads/write", y_unit: "ratio" },
        printedRow(rows, "reads_per_write"),
        (source) => {
          if (source === "step") return stepPoints(group);
          if (source === "watch") return watchPoints(group);
          return "samples do not tell which reads follow which write";
        },
      )
    : null;
