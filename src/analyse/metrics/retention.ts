/** How long written data must be kept: from its write to its last read. */
import { type EpochTimes, epochFigures } from "../watched/epoch-quantiles.ts";
import { retentionSeen } from "../watched/write-times.ts";
import type { MetricFamily } from "./metric.ts";

export const RETENTION: EpochTimes = {
  quantiles: [
    ["retention_p50_ns", 0.5, 0],
    ["retention_p90_ns", 0.9, 0],
    ["retention_p99_ns", 0.99, 299],
  ],
  ofRows: ({ retention: times, bytes, open }) => ({ times, weights: bytes, open }),
  ofWatch: retentionSeen,
  ofStream: (stream) => stream.retention,
  stepMethod:
    "KM of how long the engine's steps needed KV rows, per byte written; percentile bootstrap over sequences, tails of Student's t for as many as tell most, n counts them",
  earlyShare: "written_share",
  stepOpen: "rows still in the cache at the end",
  watchMethod:
    "write to last read before the next write or the free, over write passes in a common window (inverse probability of censoring), interval by the share up to each time, addresses resampled",
  streamMethod: "KM of the time from each store to the last read before the next one to its address, n counts stores",
  streamOpen: "not overwritten by the end of the trace",
  stream: 1003,
  needsEveryWrite: true,
  over: "write",
  // The windows are those that no busy word cut: where few addresses tell of them, those in which none was drawn.
  fewestCarrying: 16,
};

export const retention: MetricFamily = {
  metrics: [
    ["p50", "Median"],
    ["p90", "90th percentile"],
    ["p99", "99th percentile"],
  ].map(([p = "", words]) => ({
    name: `retention_${p}_ns`,
    unit: "ns",
    definition: `${words}, over bytes written, of the time from a write to the last read of what it wrote; 0 for data that is overwritten or freed unread.`,
    formula: `Q_${p.slice(1)} of max(0, t(last read in e) - t(e)), over write epochs e of every b`,
    averaged_over: "bytes written",
  })),
  estimator: [
    "The write passes in a window after the arming are writes picked at random.",
    "Of one whose bytes are written again or freed while they are watched the need is known: from the write to the last read before that; the lower end allows for the traps in it, as that of `age_at_read` does, and where these may be more than half of it there is no value.",
    "Each stands also for those like it of which the watch ended first, by the chance that a watch lasts so long, and for fewer than five.",
    "Of those of which fewer tell, the lower end takes that they are needed no longer than was seen, the upper one that they are needed longer than any, and the value lies where the mean of both curves is.",
    "Watches with a high trap limit stand in for all only where the others end too early in any window.",
    "Where the k-th trap ends the watch before the next write in more than 1 % of them, nothing is told: the words that are written most are missing, and theirs may be the shortest.",
    "Where it ends fewer, as many as chance allows (Clopper-Pearson) may be shorter than any, or longer: the interval holds both.",
    "Strata of which no watch saw a write in the time that counts may have some all the same (Clopper-Pearson), and theirs may be shorter or longer than any: the interval holds both.",
    "Without an upper end the lower one allows for write passes over busier bytes of which none was drawn, where addresses are very unlike.",
    "Where the program stands still at armings, windows have too few needs with one in them, as `iai` has it: the upper end allows for these.",
    "Memory that comes in the span is written before a watch can be drawn from it: each of its bytes once at most, for any time.",
    "KV rows by steps: where a cache moves for every step, each copy is an epoch, written by one step and read by the next, which copies it; else write, last need and eviction of every row, rows in the cache at the end censored; rows that were there before the first step are left out, as their write is not known.",
    "So are those of batches before it was known what their context held: the interval allows for all of them being needed for a shorter time than the others, or for a longer one.",
    "Rows that come back from what the engine had saved are written then, those left out that it gives up before a step had them.",
    "Every row of the run is seen, so that the run's own time is known but for rows that are open: the interval holds it whatever becomes of these.",
    "It also holds what the rows of ever so many runs like this one have: of the same length, from the same start, with other requests of the same kind. So what is resampled is what a sequence writes from one emptying to the next, such as a request or a chat: its length decides how long all of its rows are needed.",
    "What takes longer than the run, or is written once in many runs, is no part of that: longer runs may tell longer times.",
    "With fewer than 6 of them what was seen is a bound from below for this run alone; an upper end needs 12, 300 and 3000 of them for p50, p90 and p99, and 5 beyond the quantile by their effective number (Kish).",
    "The lower end takes open rows as needed no more, the upper one as others went on, or, where that is later, as the last of all; there is none where open rows may be all that lie beyond the quantile.",
    "Of traces that hold every access each store counts alike. Those that no other follows are open: the lower end takes what they wrote as needed no longer than was seen, the upper one as longer than any.",
  ],
  sources: [
    ["step", "KV rows: the engine's batches, clears and trims"],
    ["watch", "writes, reads and the free of the watched bytes"],
    ["import", "traces that hold every access"],
  ],
  not_by_sampling: "a sampled last read is earlier than the last read, and the write is not seen",
  suppressed:
    "No write seen: not identifiable. n < 30 addresses (without the tensors of an engine some 91, as of the rates), or 6 sequences. Steps that do not tell the sequences of a batch: not identifiable. More than half of the weight censored, or the quantile not reached, or more than 5 % of the passes so near the one before that traps may have parted them: a bound from below. p99 with fewer than 299 addresses: a bound from below.",
  needs_every_access: true,
  spans: "whole",
  figures: (group) => epochFigures(group, RETENTION),
};
