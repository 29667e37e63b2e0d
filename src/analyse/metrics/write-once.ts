/** The share of written blocks that are written exactly once. */

import { clopperPearson, weightedProportion } from "../../statistics/clopper-pearson.ts";
import { interval } from "../../statistics/interval.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { Group } from "../input/group.ts";
import { coveredNs } from "../input/span.ts";
import { sampledWriteOnce } from "../sampled/sampled-write-once.ts";
import { cacheClears } from "../steps/cache-clears.ts";
import { kvWriteOnce } from "../steps/kv-write-once.ts";
import { IMPORT, streamShare, sumOf } from "../stream/stream-figures.ts";
import { unknownReasonOf, unknownRows, withUnknown } from "../stream/unknown-kinds.ts";
import { bornPerSecond } from "../watched/first-writes.ts";
import { type Block, lineBlocks, wordBlocks } from "../watched/write-history.ts";
import { type Figure, type MetricFamily, notIdentifiable, noWriteReason } from "./metric.ts";
import { weightWriteOnce } from "./weight-write-once.ts";

const METRIC = "write_once_ratio";

/** Bytes of the class that are there when the span begins; no more than there are in the mean, where address space is kept for later. */
function bytesAtBegin({ regions: { all, rows }, span, uniform }: Group): number {
  const from = span.begin_ns[0] ?? 0;
  let bytes = 0;
  for (const row of rows) {
    if ((all.birth_ns[row] as number) > from || (all.death_ns[row] as number) <= from) continue;
    bytes += (all.end[row] as number) - (all.begin[row] as number);
  }
  return Math.min(bytes, uniform.weights.total_bytes);
}

/** The upper end that the blocks seen rewritten leave, among the blocks given; null where they are too few. */
function rewrittenBound(blocks: readonly Block[]): number | null {
  if (blocks.length < FEWEST) return null;
  const share = weightedProportion(
    blocks.map((block) => (block.epochs >= 2 ? 1 : 0)),
    blocks.map((block) => block.weight),
  );
  return 1 - (share.lo ?? 0);
}

/** Share of the span in which memory of a class is there, in the mean over the bytes of all lives; 1 where no region is known. */
function lifeShare({ regions: { all, rows }, span }: Group): number {
  let bytes = 0;
  let there = 0;
  for (const row of rows) {
    const size = (all.end[row] as number) - (all.begin[row] as number);
    const lived = coveredNs(span, all.birth_ns[row] as number, all.death_ns[row] as number);
    if (lived <= 0) continue;
    bytes += size;
    there += size * lived;
  }
  return bytes > 0 ? there / bytes / span.window_ns : 1;
}

/** Of the bytes of all lives: where more of them come in the span, those that are there at its begin do not tell of all. */
const MOST_BORN = 0.01;

/** Share of the bytes of all lives that come after the begin of the span: no watch is given all of it there. */
function bornShare(group: Group): number {
  const born = (bornPerSecond(group) * group.span.window_ns) / 1e9;
  return born > 0 ? Math.min(1, born / (born + bytesAtBegin(group))) : 0;
}

/**
 * The ratio from blocks whose whole history was seen. Else its upper bound: of all blocks drawn uniformly the share seen
 * rewritten is the least that was rewritten. Those of which a write was seen tell less: what is written often has more
 * of them, and rows ahead of a slow head are drawn more often than others. A block seen written once may have been
 * written before or after, so nothing bounds the ratio from below.
 */
function figure(group: Group, blocks: readonly Block[], grain: number): Figure {
  const written = blocks.filter((block) => block.epochs > 0);
  const whole = written.filter((block) => block.isWhole);
  const isOpen = blocks.some((block) => block.isWhole && block.isOpen);
  const born = bornShare(group);
  const weight = (some: readonly Block[]): number => some.reduce((sum, block) => sum + block.weight, 0);
  const base = { metric: METRIC, source: "watch", grain_bytes: grain };
  if (blocks.length >= FEWEST && written.length === 0) {
    const why = `${noWriteReason(group)}: 0 of ${blocks.length} blocks`;
    return { ...notIdentifiable(METRIC, "watch", blocks.length, why), grain_bytes: grain };
  }
  if (whole.length >= FEWEST && !isOpen && born <= MOST_BORN) {
    const once = whole.map((block) => (block.epochs === 1 ? 1 : 0));
    return {
      ...base,
      estimate: weightedProportion(
        once,
        whole.map((block) => block.weight),
      ),
      n: whole.length,
      n_censored: written.length - whole.length,
      censored: 0,
      coverage: weight(whole) / Math.max(1, weight(blocks)),
      method:
        "binomial: blocks watched from the begin of the span to its end; Clopper-Pearson at the effective sample size",
    };
  }
  // A draw is a block at a moment: of the blocks of all lives as many are rewritten at least as of those that are there at a time.
  const there = lifeShare(group);
  const seen = rewrittenBound(blocks.filter((block) => !block.isAhead));
  const hi = seen === null ? null : 1 - (1 - seen) * there;
  return {
    ...base,
    estimate: interval(null, hi === null ? null : 0, hi),
    n: blocks.length,
    n_censored: written.length - whole.length,
    censored: 0,
    coverage: weight(written) / Math.max(1, weight(blocks)),
    bound: true,
    method:
      "binomial bound: share of the blocks drawn that was seen rewritten, Clopper-Pearson at the effective sample size",
    why: isOpen
      ? "the last trap of a watch leaves open whether its block was written again"
      : whole.length >= FEWEST
        ? `${Math.round(100 * born)} % of the bytes came after the begin, which no watch saw all of`
        : `the whole write history was seen of ${whole.length} written blocks`,
  };
}

function everyFigures(group: Group): Figure[] {
  if (group.stream === null) return [];
  const { written, written_once } = group.stream;
  const [n, once] = [sumOf(written), sumOf(written_once)];
  const none = n === 0;
  // Where all are alike no resample differs: the addresses are then the units.
  const alike = once === 0 || once === n;
  const estimate = alike ? clopperPearson(once, n) : streamShare(written_once, written);
  // One that may have written makes of a word written once one that was written twice, or is the only one to its word.
  const unknown = unknownRows(group);
  const least = once > 0 ? Math.max(0, 1 - unknown / once) : 1;
  const hidden = unknownReasonOf(group);
  return [
    {
      metric: METRIC,
      source: IMPORT,
      estimate: none ? interval(null, null, null) : withUnknown(estimate, least, unknown / n),
      n,
      coverage: 1,
      method: alike
        ? "addresses with one store over addresses with a store; Clopper-Pearson"
        : "addresses with one store over addresses with a store; jackknife over 64 groups of 64 B lines",
      ...(hidden === null ? {} : { bound: true, why: hidden }),
      ...(none ? { not_identifiable: true, why: "no store in the trace" } : {}),
    },
  ];
}

export const writeOnce: MetricFamily = {
  metrics: [
    {
      name: METRIC,
      unit: "ratio",
      definition:
        "Blocks of the grain with exactly one write epoch over blocks written, after the zero-fill: with an engine only writes in generation count, without one every write that was seen. The life of a cache cell ends when the engine empties the cache. Of weights every byte is a block, from its birth to its death: the load is one write, by however many stores, and what the process writes from the first step to the last comes on top; pages that the kernel takes away and reads again are not counted.",
      formula:
        "blocks with one write epoch / blocks with one or more; KV rows by steps: bytes of rows written once / of rows written",
      averaged_over: "blocks; KV rows by their bytes",
    },
  ],
  estimator: [
    "KV rows by steps: the block is the row of a token, by its bytes.",
    "Its life ends where the engine gives it up; where a cache moves each copy is a block of its own; a row that another one is written over before that, or that is written over such a one, is not written once.",
    "The count of the rows of this run, without an interval where every sequence is alike; else with BCa over sequences.",
    "Where positions were moved while rows were there the engine may have written their keys again: bounds; so where batches came before it was known what their context held, as all of their rows may be written once, or none.",
    "Where a watch saw a row written again of which the steps do not tell, or the cache holds a state of each sequence in place of rows, the steps do not identify it.",
    "Weights by the map of regions: what lies in a file that was mapped before our eyes, without the right to write from then on, the process cannot have written after the load; that is a count.",
    "Of other bytes, such as those that were repacked into a buffer, no more were written again than the upper end of the watches' rate of writes over the span: a bound.",
    "8 bytes: every watch is a block. 64 bytes: the watches of one line in the cohort design.",
    "Value: blocks whose watch was given all of the phase, from its begin to its end, whatever it saw; none where a last trap leaves open whether one was written again, or more than 1 % of the bytes of all lives came later. Rows drawn ahead of the token axis do not count: a row is drawn the more often, the longer it is one of the next.",
    "Otherwise an upper bound: one less the lower end of the share of uniformly drawn blocks that were seen written twice.",
    "Samples of stores, at 4 KiB, 64 KiB and 2 MiB: a run of samples closer than the pass gap is one epoch; two runs are two where the pause between them is too long for stores that go on as they do in either run (chance 1e-4).",
    "How many epochs have no sample follows from how many samples the others have.",
    "The interval takes in the sampling of blocks and the missed epochs, and holds for epochs as large as those seen: a few stores that no sample ever meets stay unknown.",
  ],
  sources: [
    ["step", "KV rows: the engine's batches say which row they write, clears and trims when it gives one up"],
    ["region_map", "weights in files that the process maps without the right to write"],
    ["watch", "every store to the watched bytes is seen"],
    ["pebs", "samples of stores without a shadow, at grains of a page or more, where a write epoch has many"],
    ["ibs", "samples of stores, at grains of a page or more, where a write epoch has many"],
    ["import", "traces that hold every access, by address in place of block, from first access to last"],
  ],
  not_by_sampling: null,
  suppressed:
    "No write in 30 blocks or more: not identifiable. Fewer than 30 written blocks with their whole history, one of which a last trap leaves it open, or more than 1 % of the bytes came after the begin: an upper bound. n < 30 blocks. Samples: where more than 5 % of the write epochs may have none, the blocks seen rewritten give an upper bound, and without them the ratio is not identifiable; so it is where pauses between samples may lie within an epoch in more than half of the blocks (more than 5 %: bounds), and where PEBS samples of stores may be of neighbours of those that they count.",
  needs_every_access: true,
  spans: "whole",
  figures: (group, rows) => {
    const out = [...kvWriteOnce(group, METRIC), ...weightWriteOnce(group, METRIC, rows)];
    out.push(
      figure(group, wordBlocks(group.every, group.span, cacheClears(group.kvRows, group.input.kvEarly?.held)), 8),
    );
    const lines = lineBlocks(group);
    if (lines.length > 0) out.push(figure(group, lines, 64));
    return [...out, ...(group.stream === null ? sampledWriteOnce(group) : everyFigures(group))];
  },
};
