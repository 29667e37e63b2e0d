/** The share of written blocks that are written once, by samples of stores, where these are dense enough to tell. */

import { lostCount } from "../../schema/loss.ts";
import { clopperPearson } from "../../statistics/clopper-pearson.ts";
import { CI_LEVEL, interval } from "../../statistics/interval.ts";
import type { Group } from "../input/group.ts";
import type { AccessSums, WrittenBlocks } from "../input/input.ts";
import { type Figure, notIdentifiable } from "../metrics/metric.ts";
import { cacheClears } from "../steps/cache-clears.ts";
import { IMPORT, whyNoPeriod } from "../stream/stream-figures.ts";
import { mostBlocks } from "../watched/block-lives.ts";
import { missedShare, onceOfWritten } from "./missed-epochs.ts";
import { isShadowed } from "./shadow.ts";
import { FALSE_CHANCE } from "./write-runs.ts";

const METRIC = "write_once_ratio";
/** More epochs that may be missed, and no value is given. */
const MOST_MISSED = 0.05;
/** More blocks of which it is open, and the figure is a bound; and none. */
const MOST_OPEN = { value: 0.05, bound: 0.5 };

/** Neither how many epochs have no sample nor that a pause between samples is one between stores can then be told. */
const HIDDEN =
  "a PEBS sample may be of a store some cycles after the one that it counts: those of a whole write may all have fallen elsewhere";

/** A pause that would part one epoch in two has no fewer samples in it (n (1 + k / n)^(1 - n) <= 1e-4 for no k below it): to be seen so they were all lost. */
const FEWEST_LOST_OF_A_PAUSE = 9;

/** Blocks that loss may have made look rewritten are open: as many as there were samples lost for. */
function withLost(written: WrittenBlocks, lost: number): WrittenBlocks {
  const { rewritten, open } = written;
  const blocks = Math.min(rewritten.blocks, Math.floor(lost / FEWEST_LOST_OF_A_PAUSE));
  return {
    ...written,
    rewritten: { ...rewritten, blocks: rewritten.blocks - blocks },
    open: { ...open, blocks: open.blocks + blocks },
  };
}

const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`;

/** The upper 97.5 % quantile of the blocks falsely taken for rewritten. */
function mostFalse(blocks: number): number {
  const mean = blocks * FALSE_CHANCE;
  let term = Math.exp(-mean);
  let sum = term;
  let k = 0;
  while (sum < (1 + CI_LEVEL) / 2 && k < blocks) {
    k += 1;
    term *= mean / k;
    sum += term;
  }
  return k;
}

/** Of all blocks that can have been written, at least those seen rewritten were. */
function upperEnd(group: Group, blocksWritten: WrittenBlocks, blocks: number): number | null {
  const sure = blocksWritten.rewritten.blocks - mostFalse(blocks);
  const clears = cacheClears(group.kvRows, group.input.kvEarly?.held).length;
  const most = Math.max(mostBlocks(group.regions, blocksWritten.grain_bytes, clears), blocks);
  return sure > 0 ? (most - sure) / most : null;
}

function figure(group: Group, sum: AccessSums, seenWritten: WrittenBlocks): Figure {
  const lost = lostCount(group.input.ledger, sum.source);
  const written = withLost(seenWritten, lost);
  const { once, rewritten, open } = written;
  const n = once.blocks + rewritten.blocks + open.blocks;
  const base = {
    metric: METRIC,
    source: sum.source,
    grain_bytes: written.grain_bytes,
    n,
    n_censored: open.blocks,
    censored: 0,
  };
  const more = {
    blocks: rewritten.blocks + open.blocks,
    runs: rewritten.runs + open.runs,
    samples: rewritten.samples + open.samples,
    runs_of_1: rewritten.runs_of_1 + open.runs_of_1,
    runs_of_2: rewritten.runs_of_2 + open.runs_of_2,
  };
  // Apart, so that blocks of many epochs do not speak for those of one.
  const unlike = Math.max(missedShare(once), missedShare(more));
  // Whole epochs may be among what was lost, no more of them than those seen in as many samples.
  const missed = lost > 0 ? Math.min(1, unlike + lost / (lost + sum.store_rows)) : unlike;
  const density = (once.samples + more.samples) / Math.max(1, once.runs + more.runs);
  const seen = `${density.toPrecision(2)} store samples in a write epoch: at most ${percent(missed)} of the epochs missed`;
  if (missed <= MOST_MISSED && open.blocks <= MOST_OPEN.bound * n) {
    const level = (1 + CI_LEVEL) / 2;
    const least = clopperPearson(once.blocks, n, level).lo ?? 0;
    const most = clopperPearson(once.blocks + open.blocks, n, level).hi ?? 1;
    const { lo, hi } = onceOfWritten(least, most, missed);
    const isOpen = open.blocks > MOST_OPEN.value * n;
    const pauses = `in ${open.blocks} of ${n} blocks a pause between samples may lie within one epoch`;
    return {
      ...base,
      estimate: interval(isOpen ? null : once.blocks / (once.blocks + rewritten.blocks), lo, hi),
      coverage: 1 - missed,
      method:
        "blocks in whose samples of stores there is one write epoch, over blocks with such samples; Clopper-Pearson and missed epochs at 97.5 % each",
      bound: isOpen,
      why: isOpen ? `${pauses}; ${seen}` : seen,
    };
  }
  const thin =
    missed > MOST_MISSED
      ? `${seen}, more than ${percent(MOST_MISSED)}`
      : `pauses between samples of a block may lie within one epoch; ${seen}`;
  const hi = upperEnd(group, written, n);
  return {
    ...base,
    estimate: interval(null, hi === null ? null : 0, hi),
    coverage: 1 - missed,
    method: hi !== null ? "blocks seen rewritten, over all blocks that the class's regions have" : "none",
    ...(hi !== null ? { bound: true } : { not_identifiable: true }),
    why: thin,
  };
}

function refusal(sum: AccessSums, why: string): Figure {
  return notIdentifiable(METRIC, sum.source, sum.rows, why);
}

/** One figure per grain of a page or more and sampled source. */
export function sampledWriteOnce(group: Group): Figure[] {
  return group.sums.flatMap((sum) => {
    if (sum.source === "clock") return [refusal(sum, "a timer sees loads that stall, and stores hide behind them")];
    if (sum.source === IMPORT) {
      return [
        refusal(sum, "sparse samples almost never see a block twice: the ratio would be 1 whatever the program does"),
      ];
    }
    if (!sum.period_known) return [refusal(sum, whyNoPeriod(sum))];
    if (isShadowed(sum, "stores", group.input)) return [refusal(sum, HIDDEN)];
    if (sum.written.length === 0) return [refusal(sum, `no store among ${sum.rows} samples`)];
    return sum.written.map((written) => figure(group, sum, written));
  });
}
