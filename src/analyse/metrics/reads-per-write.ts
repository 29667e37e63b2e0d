/** Reads per write. */

import { resample } from "../../statistics/bootstrap.ts";
import { carryingUnits } from "../../statistics/carrying-units.ts";
import { interval } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import { intervalOf, quotient } from "../../statistics/stratified-ratio.ts";
import { withUnseen } from "../../statistics/unseen-room.ts";
import { FEWEST } from "../figures/figure-row.ts";
import { writtenRows } from "../input/chosen-rows.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums } from "../input/input.ts";
import { isWholeTrace, tooFewOf } from "../sampled/sampled-rates.ts";
import { kindSums } from "../sampled/shadow.ts";
import { FEWEST_SEQUENCES, tooFewSequences } from "../steps/kv-need-figures.ts";
import { sharedReason, sharedRows } from "../steps/shared-rows.ts";
import { HIDDEN_STORES, IMPORT, NO_PERIOD, streamRatio } from "../stream/stream-figures.ts";
import { unknownAccesses, unknownReason, withUnknown } from "../stream/unknown-kinds.ts";
import { CUT, MOST_CUT } from "../watched/counting/count-window.ts";
import { tooFewWatches } from "../watched/few-watches.ts";
import { firstWriteShare, firstWritesReason, MOST_FIRST_WRITES } from "../watched/first-writes.ts";
import { isParted, partedReason } from "../watched/parted-passes.ts";
import { BUSIER, MOST_BUSIER } from "../watched/rate/busier-bytes.ts";
import { fewCarry, isCarriedByFew, MOST_UNKNOWN, passRate } from "../watched/rate/pass-rate.ts";
import { MOST_UNDRAWN, UNDRAWN } from "../watched/rate/undrawn-passes.ts";
import { missedPasses } from "../watched/unwatched.ts";
import { type Figure, type MetricFamily, NEED_IS_LESS, notIdentifiable, noWriteReason } from "./metric.ts";

const METRIC = "reads_per_write";
const NEEDS = "needs_per_write";
const NOT_PASSES = "samples count instructions, which touch some bytes each, not passes over bytes";

function watchFigure(group: Group): Figure {
  const set = group.uniform;
  const read = passRate(set, "read");
  const write = passRate(set, "write");
  const unknown = Math.max(read.unknown, write.unknown);
  const none = write.n_seen === 0;
  const carried = Math.min(read.n_effective, write.n_effective);
  const isOpen = none || write.n_counted === 0 || unknown > MOST_UNKNOWN || write.cut > MOST_CUT;
  const few =
    missedPasses(set) ?? (isCarriedByFew(carried) ? fewCarry(carried) : read.n >= FEWEST ? tooFewWatches(set) : null);
  const isUndrawn = Math.max(read.undrawn, write.undrawn) > MOST_UNDRAWN;
  const { value, lo, hi } = withUnseen(intervalOf(quotient(read.replicated, write.replicated), carried), carried, 0);
  // The few passes that the windows may have missed are in the interval, whichever kind they were, and first writes, that nobody saw.
  const first = firstWriteShare(group);
  const isFirst = first > MOST_FIRST_WRITES;
  const mostParted = Math.max(read.parted, write.parted);
  const isBusier = Math.max(read.busier, write.busier) > MOST_BUSIER;
  const isBound = isFirst || isUndrawn || isBusier || isParted(mostParted);
  const ratio = interval(
    isBound ? null : value,
    // Busier bytes of which none was drawn may all be read alone, or written alone.
    lo === null
      ? null
      : (lo * (1 - write.unseen) * (1 - first) * (1 - read.parted)) / (1 + write.undrawn + write.busier),
    hi === null ? null : ((hi / (1 - read.unseen)) * (1 + read.undrawn + read.busier)) / (1 - write.parted),
  );
  const openReason = (): string | null => {
    if (isFirst) return firstWritesReason(first);
    if (isUndrawn) return UNDRAWN;
    if (isBusier) return BUSIER;
    return isBound ? partedReason(mostParted) : null;
  };
  const why = none
    ? noWriteReason(group)
    : unknown > MOST_UNKNOWN
      ? `${Math.round(100 * unknown)} % of the passes may have read or written`
      : write.cut > MOST_CUT
        ? CUT
        : (few ?? openReason());
  return {
    metric: METRIC,
    source: "watch",
    estimate: isOpen || few !== null ? interval(null, null, null) : ratio,
    n: read.n,
    coverage: 1,
    grain_bytes: 8,
    method: `ratio of Hansen-Hurwitz sums of read and write passes, BCa over addresses (${write.n_counted} with a write)`,
    ...(isBound && !isOpen && few === null ? { bound: true } : {}),
    ...(none ? { not_identifiable: set.exposures.length > 0 } : {}),
    ...(why === null ? {} : { why }),
  };
}

/** By the engine's steps: how many of them need a row, which is the least that they read of it. */
function stepFigures({ kvRows, kvUntold, input }: Group): Figure[] {
  if (kvUntold !== null) return [NEEDS, METRIC].map((metric) => notIdentifiable(metric, "step", 0, kvUntold));
  const sums = new Map<number, [needs: number, bytes: number]>();
  for (const row of kvRows) {
    if (!row.is_written) continue;
    const sum = sums.get(row.filling) ?? [0, 0];
    sums.set(row.filling, [sum[0] + row.total_reads * row.size_bytes, sum[1] + row.size_bytes]);
  }
  const units = [...sums.values()];
  const n = units.length;
  if (n === 0) return [];
  const needs = Float64Array.from(units, ([sum]) => sum);
  const bytes = Float64Array.from(units, ([, sum]) => sum);
  // Rows that are kept from request to request have most of the needs, and are of few sequences.
  const carrying = Math.min(carryingUnits(bytes), carryingUnits(needs));
  const estimate = ratioInterval(needs, bytes, resample(new Uint8Array(n), input.seed, 1001), carrying);
  const base = { source: "step", n, coverage: 1 };
  const { kvEarly = null } = input;
  // Of rows that are one the needs may be the same ones.
  const shared = sharedRows(kvRows).written_share > 0 ? sharedRows(writtenRows(kvRows)) : null;
  const again = shared?.needed_share ?? 0;
  const reasons = [...(kvEarly === null ? [] : [kvEarly.why]), ...(shared === null ? [] : sharedReason(shared))];
  // Rows of early batches may be needed by none.
  const least = (end: number | null): number | null =>
    end === null ? end : end * (1 - (kvEarly?.written_share ?? 0)) * (1 - again);
  const needed = least(estimate.value);
  return [
    {
      ...base,
      metric: NEEDS,
      estimate: reasons.length === 0 ? interval(needed, needed, needed) : interval(null, needed, null),
      census: true,
      ...(reasons.length === 0 ? {} : { bound: true, why: reasons.join("; ") }),
      method: "count of the steps of this run that needed its rows, over the rows; n counts sequences",
    },
    {
      ...base,
      metric: METRIC,
      estimate: interval(null, least(estimate.lo), null),
      bound: true,
      fewest: FEWEST_SEQUENCES,
      method: "steps that needed a KV row, up to the end of the run; BCa over sequences, n counts them",
      why: [n < FEWEST_SEQUENCES ? tooFewSequences(n) : NEED_IS_LESS, ...reasons].join("; "),
    },
  ];
}

/** A trace of every access has reads and writes; samples count instructions, as loads_per_store does. */
function sampledFigure(group: Group, sum: AccessSums): Figure {
  const base = { metric: METRIC, source: sum.source, n: sum.rows };
  if (sum.source !== IMPORT) {
    return notIdentifiable(METRIC, sum.source, sum.rows, sum.source === "clock" ? HIDDEN_STORES : NOT_PASSES);
  }
  const stores = sum.stores.reduce((a, b) => a + b, 0);
  const isWhole = isWholeTrace(group, sum);
  const unknown = unknownAccesses(sum);
  const counted = withUnknown(streamRatio(sum.loads, sum.stores), stores / (stores + unknown), unknown / stores);
  const hidden = unknownReason(sum);
  const few =
    tooFewOf(kindSums(sum, "loads"), sum.source, isWhole) ?? tooFewOf(kindSums(sum, "stores"), sum.source, isWhole);
  return {
    ...base,
    estimate: stores > 0 && few === null ? counted : interval(null, null, null),
    method: "ratio of sums weighted by period, jackknife over blocks of time; n counts samples",
    ...(hidden === null ? {} : { bound: true, why: hidden }),
    ...(few === null ? {} : { why: few }),
    ...(stores > 0 ? {} : { not_identifiable: true, why: "no store sampled" }),
    ...(sum.period_known ? {} : { not_identifiable: true, why: NO_PERIOD }),
  };
}

export const readsPerWrite: MetricFamily = {
  metrics: [
    {
      name: METRIC,
      unit: "reads/write",
      definition:
        "Read passes over write passes of the same bytes in the same time. Without a write it has no value, never 0.",
      formula: "sum over b of R(b) / sum over b of W(b)",
      averaged_over: "write passes",
    },
    {
      name: NEEDS,
      unit: "steps/write",
      definition:
        "Later steps of this run that needed a KV row, per row written: those with the row's sequence in their batch. A count of what the engine did, up to the end of the run, without an interval. What a step needs it reads once at least.",
      formula: "sum over KV rows written of size x later steps with its sequence / sum of their sizes",
      averaged_over: "bytes written in rows",
    },
  ],
  estimator: [
    "Ratio of two sums, each weighted by the design, with BCa over addresses, and room for a share of the writes that is read once more or once less than where all were alike; strata of which no watch saw a read, or a write, are allowed for as the rates do, and so are busier bytes of which none was drawn where addresses are very unlike.",
    "KV rows by steps: steps that needed them after the write, over rows (each copy of one that moves), with BCa over sequences; bounds from below where batches came before it was known what their context held.",
    "KV rows that came back for several sequences, and which these may share: if they are one, the steps of all of them need it. The curve has room for that above, and below for rows that are counted too often.",
    "Traces of every access: ratio of loads and stores, weighted by period.",
  ],
  sources: [
    ["watch", "loads and stores of the same addresses"],
    ["step", "KV rows: one write, then a need of each step with their sequence, which bounds the reads from below"],
    [IMPORT, "loads and stores of a trace, where its period is known"],
  ],
  not_by_sampling: null,
  suppressed:
    "No write: not identifiable. Memory that comes into being in the span is written before it can be drawn: above 5 % of such first writes bounds. More than 20 % of the passes so near the one before that traps may have parted them: bounds. n < 30 addresses, fewer than some 91, as of the rates, or 6 sequences. Samples (pebs, ibs, clock) count instructions, not passes over bytes: loads_per_store tells what they know.",
  needs_every_access: true,
  spans: "every",
  figures: (group) => [
    watchFigure(group),
    ...(group.span.step === "all" ? stepFigures(group) : []),
    ...group.sums
      .filter((sum) => sum.source === "clock" || sum.loads.length > 0)
      .map((sum) => sampledFigure(group, sum)),
  ],
};
