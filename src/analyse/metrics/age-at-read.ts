/** How old data is when it is read: from its last write to the read. */
import { type EpochTimes, epochFigures } from "../watched/epoch-quantiles.ts";
import { FEWEST_CARRYING } from "../watched/rate/pass-rate.ts";
import { agesSeen } from "../watched/write-times.ts";
import type { MetricFamily } from "./metric.ts";

export const AGES: EpochTimes = {
  quantiles: [
    ["age_at_read_p50_ns", 0.5, 0],
    ["age_at_read_p99_ns", 0.99, 299],
  ],
  ofRows: ({ ages: times, readBytes, there }) => ({ times, weights: readBytes, open: there }),
  ofWatch: agesSeen,
  ofStream: (stream) => stream.ages,
  stepMethod:
    "age of KV rows when the engine's steps needed them, per byte needed; percentile bootstrap over sequences, tails of Student's t for as many as tell most, n counts them",
  notOfCopies:
    "each step reads what it has just written itself, and the copy before it: how old the one is by then is not told",
  earlyShare: "needed_share",
  stepOpen: "rows that were in the cache before the first step seen",
  watchMethod:
    "KM of the time back to the last write, over read passes in a common window, censored at the start of the exposure; interval by the share up to each time, addresses resampled",
  streamMethod: "KM of the time from each read back to the last store, n counts reads",
  streamOpen: "written before the trace begins, or never",
  stream: 1004,
  needsEveryWrite: false,
  over: "read",
  fewestCarrying: FEWEST_CARRYING,
};

export const ageAtRead: MetricFamily = {
  metrics: [
    ["p50", "Median"],
    ["p99", "99th percentile"],
  ].map(([p = "", words]) => ({
    name: `age_at_read_${p}_ns`,
    unit: "ns",
    definition: `${words} of the time from the last write of a byte to a read pass over it.`,
    formula: `Q_${p.slice(1)} of t(read in p) - t(last write of b before it), over read passes p of every b`,
    averaged_over: "read passes",
  })),
  estimator: [
    "The read passes in a window after the arming are reads picked at random.",
    "Looking back from each: the age is known where the write lies inside the exposure, else it is longer than the exposure so far and censored there.",
    "The program stands still in traps, from the write's on: the lower end allows for those in each age, as long as they are in the mean and twice the root of their number more; where these may be more than half of it, there is no value.",
    "Product-limit curve, each read by the bytes that it stands for; of windows of about one length by itself, as they look back as far as they are long: what long ones tell of ages is not true of strata with short ones.",
    "Strata of which no watch saw a read are allowed for as `iai` does.",
    "Where addresses are very unlike and the quantile has no upper end, its lower end allows for passes over busier bytes, of which none was drawn, as that of `iai` does.",
    "Watches with a high trap limit stand in for all only where what the others saw has no median; reads that they lack of those that all count may be of any age.",
    "KV rows by steps: the age of each row at each step that needs it, weighted by bytes needed, resampled by sequence as retention is, and the interval holds what it does; a row that was in the cache before the first step is older than the time since that step, and censored there; what batches may have needed before it was known what their context held is allowed for, as younger or older than all of it.",
    "KV rows that were there, and which sequences may share, may be counted too often: the interval has room for that.",
    "Of traces that hold every access each read counts alike. What no store of the trace wrote is as old as the trace by then at the lower end, and older than any at the upper one.",
  ],
  sources: [
    ["step", "KV rows: each step needs those of the sequences in its batch"],
    ["watch", "writes and reads of the watched bytes"],
    ["import", "traces that hold every access"],
  ],
  not_by_sampling: "the last write before a sampled read is not seen",
  suppressed:
    "No write seen: not identifiable; nor by steps where a cache moves for every step, which reads what it has just written. n < 30 addresses (without the tensors of an engine some 91, as of the rates), or 6 sequences. More than half of the weight censored, or the quantile not reached, or more than 5 % of the passes so near the one before that traps may have parted them: a bound from below. p99 with fewer than 299 addresses: a bound from below.",
  needs_every_access: true,
  spans: "whole",
  figures: (group) => epochFigures(group, AGES),
};
