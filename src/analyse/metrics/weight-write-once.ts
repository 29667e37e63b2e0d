/** Whether weights are written once, from their birth to their death: loading them is the one write that there must be. */

import { weightedProportion } from "../../statistics/clopper-pearson.ts";
import { interval } from "../../statistics/interval.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import { seesProtection, showsWrite, writeRights } from "../input/write-rights.ts";
import { bornWrittenPerSecond } from "../watched/first-writes.ts";
import { passRate } from "../watched/rate/pass-rate.ts";
import { type Figure, notIdentifiable } from "./metric.ts";

const SOURCE = "region_map";
/** Bytes that no watch could be drawn from leave the rate of writes to all of them open, above this share. */
const MOST_UNDRAWN = 0.01;

/**
 * The most that can have been written again in the span, as a share of the bytes: no more bytes than were written, and than there are windows
 * with a write; null where that is not known.
 */
function mostRewritten(group: Group, bytes: number, rows: readonly MetricRow[]): number | null {
  const rate = rows.find(({ metric, source }) => metric === "write_bytes_per_s" && source === "watch");
  if (rate === undefined || rate.hi === null || 1 - (rate.coverage ?? 0) > MOST_UNDRAWN) return null;
  const { span, stores } = group;
  const { touched_hi } = passRate(stores, "write");
  const touched = touched_hi === null ? rate.hi : touched_hi * stores.weights.total_bytes + bornWrittenPerSecond(group);
  return (Math.min(rate.hi, touched) * (span.window_ns / 1e9)) / bytes;
}

/**
 * The share of the bytes of weights that nothing wrote after they were loaded, by however many stores that was. What lies in a
 * file that the process mapped without the right to write is such; of the rest the watches of the span bound how much was.
 * @param rows of the group, with the rate of its writes
 * @returns no figure of another class, without a region, or where nobody saw what protections became
 */
export function weightWriteOnce(group: Group, metric: string, rows: readonly MetricRow[]): Figure[] {
  if (group.region_type !== "weight" || group.allocations !== null || !seesProtection(group)) return [];
  const { regions, bytes, sealed_bytes } = writeRights(group);
  if (bytes === 0) return [];
  const { exposures, weights } = group.every;
  const written = exposures.map((exposure) => (showsWrite(exposure) ? 1 : 0));
  const isWritten = written.includes(1);
  const base = { metric, source: SOURCE, coverage: 1 };
  if (sealed_bytes === bytes && !isWritten) {
    return [
      {
        ...base,
        estimate: interval(1, 1, 1),
        n: regions,
        census: true,
        method:
          "bytes of files that the process mapped without the right to write, over bytes; the load is the one write; n counts regions",
      },
    ];
  }
  const most = mostRewritten(group, bytes, rows);
  const lo = Math.max(isWritten ? 0 : sealed_bytes / bytes, most === null ? 0 : 1 - most);
  const hi = isWritten ? 1 - (weightedProportion(written, weights.bytes).lo ?? 0) : 1;
  const isCounted = most === null && !isWritten;
  const open = `${Number((100 * (1 - sealed_bytes / bytes)).toPrecision(3))} % of the bytes lie where the process may write`;
  if (lo === 0 && hi === 1) {
    const why = `${open}, and nothing tells how much it wrote after the load`;
    return [notIdentifiable(metric, SOURCE, regions, why)];
  }
  return [
    {
      ...base,
      rests_on: ["watch"],
      estimate: interval(null, lo, hi),
      n: isCounted ? regions : exposures.length,
      census: isCounted,
      bound: true,
      method:
        "one less the most that was written after the load: no byte of files mapped without the right to write, of others no more than the watches' rate of writes lets be",
      why: open,
    },
  ];
}
