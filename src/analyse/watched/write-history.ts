/** Which watched blocks were written, which were written again, and of which the whole history was seen. */

import type { Group } from "../input/group.ts";
import type { Span } from "../input/span.ts";
import type { WatchSet } from "../input/watch-set.ts";
import type { Exposure } from "./exposure.ts";
import { writeHistory } from "./write-epoch.ts";

/** One block of the grain; a write epoch is a run of writes closer than the pass gap. */
export interface Block {
  readonly epochs: number;
  /** True where the watch was given all of the span, whatever it saw, and so every write to the block in it. */
  readonly isWhole: boolean;
  /** True where the last trap came before it was seen whether the block is written again. */
  readonly isOpen: boolean;
  /** Bytes that it stands for. */
  readonly weight: number;
  /** Drawn ahead of the token axis: the more often, the longer its rows are the next ones. */
  readonly isAhead: boolean;
}

/** This share of the span may be missing at either end of a whole history. */
const SLACK = 0.01;

const lastOf = ({ end_ns }: Span): number => end_ns[end_ns.length - 1] ?? 0;

/**
 * Whether the time that a watch was given spans all of the span. That its block was freed or written often is part of the history: were those
 * left out whose last trap came early, blocks that are written often would be.
 */
function isGivenAll({ watch, begin_ns, end_ns, byTrap, freed_ns }: Exposure, span: Span): boolean {
  const slack = SLACK * span.window_ns;
  const last = lastOf(span) - slack;
  if (watch.design === "ahead" || begin_ns > (span.begin_ns[0] ?? 0) + slack) return false;
  if (watch.begin_ns + watch.dwell_limit_ns < last) return false;
  return byTrap || !Number.isNaN(freed_ns) || end_ns >= last;
}

/**
 * 8-byte words: every watch is one block for each life of its bytes that it saw a part of.
 * @param clears times at which lives end, ascending
 */
export function wordBlocks(set: WatchSet, span: Span, clears: Float64Array): Block[] {
  return set.exposures.flatMap((exposure, i) => {
    const inside = [...clears].filter((time) => time > exposure.begin_ns && time < exposure.end_ns);
    const writes = writeHistory(exposure).epochs.map(({ write_ns }) => write_ns);
    const weight = set.weights.bytes[i] ?? 0;
    const bounds = [Number.NEGATIVE_INFINITY, ...inside, Number.POSITIVE_INFINITY];
    const isWhole = isGivenAll(exposure, span);
    const isCut = exposure.byTrap && isWhole;
    const goesOn = clears.some((time) => time >= exposure.end_ns && time < lastOf(span));
    return bounds.slice(1).map((end, life) => {
      const begin = bounds[life] ?? 0;
      const epochs = writes.filter((time) => time >= begin && time < end).length;
      return {
        epochs,
        isWhole,
        isOpen: isCut && life === inside.length && (epochs < 2 || goesOn),
        weight,
        isAhead: exposure.watch.design === "ahead",
      };
    });
  });
}

/**
 * 64-byte lines of the cohort design: the watches of one line together. A line is whole only when all of its bytes were
 * watched; with fewer, a second write elsewhere in the line may have been missed, so that it can only disprove.
 */
export function lineBlocks(group: Group): Block[] {
  const set = group.every;
  const lines = new Map<string, number[]>();
  set.exposures.forEach((exposure, i) => {
    if (exposure.watch.design !== "cohort") return;
    const key = `${exposure.watch.pid}/${exposure.watch.addr >> 6n}`;
    const list = lines.get(key);
    if (list) list.push(i);
    else lines.set(key, [i]);
  });
  return [...lines.values()].map((members) => {
    const times: number[] = [];
    const words = new Map<bigint, number>();
    let isWhole = true;
    let isCut = false;
    let weight = 0;
    for (const i of members) {
      const exposure = set.exposures[i];
      if (!exposure) continue;
      times.push(...writeHistory(exposure).epochs.map(({ write_ns }) => write_ns));
      words.set(exposure.watch.addr, exposure.watch.size_bytes);
      isWhole &&= isGivenAll(exposure, group.span);
      isCut ||= exposure.byTrap;
      weight += set.weights.bytes[i] ?? 0;
    }
    let bytes = 0;
    for (const size of words.values()) bytes += size;
    times.sort((a, b) => a - b);
    let epochs = 0;
    times.forEach((time, k) => {
      if (k === 0 || time - (times[k - 1] ?? 0) >= group.gap_ns) epochs += 1;
    });
    return { epochs, isWhole: isWhole && bytes >= 64, isOpen: isCut && epochs < 2, weight, isAhead: false };
  });
}
