/** What is counted for each of several sequences, though it may be the same rows. */
import type { Group } from "../input/group.ts";
import type { KvRowSample, KvRowSamples } from "../input/input.ts";

/** Shares of all bytes written, and of all bytes needed, that may be of rows which are counted already. */
export interface SharedRows {
  readonly written_share: number;
  readonly needed_share: number;
  /** Sequences that may share rows with another one. */
  readonly sequences: number;
}

const ofNone: SharedRows = { written_share: 0, needed_share: 0, sequences: 0 };
/** By the rows: several figures and curves ask for it. */
const found = new WeakMap<Iterable<KvRowSample>, SharedRows>();

/** The most that rows of `may_share` are counted too often: all of them but those of the sequence with the most, where each has the same. */
export function sharedRows(rows: Iterable<KvRowSample>): SharedRows {
  const shared = found.get(rows) ?? ofRows(rows);
  found.set(rows, shared);
  return shared;
}

function ofRows(rows: Iterable<KvRowSample>): SharedRows {
  const groups = new Map<string, Map<number, [written: number, needed: number]>>();
  for (const { may_share, filling, is_written, size_bytes, total_reads } of rows) {
    if (may_share === undefined) continue;
    const sequences = groups.get(may_share) ?? new Map<number, [number, number]>();
    groups.set(may_share, sequences);
    const [written, needed] = sequences.get(filling) ?? [0, 0];
    sequences.set(filling, [written + (is_written ? size_bytes : 0), needed + size_bytes * total_reads]);
  }
  const several = [...groups.values()].filter(({ size }) => size > 1);
  if (several.length === 0) return ofNone;
  let [written, needed] = [0, 0];
  for (const { is_written, size_bytes, total_reads } of rows) {
    if (is_written) written += size_bytes;
    needed += size_bytes * total_reads;
  }
  const again = (k: 0 | 1): number =>
    several.reduce((sum, sequences) => {
      const bytes = [...sequences.values()].map((both) => both[k]);
      return sum + bytes.reduce((all, one) => all + one, 0) - Math.max(...bytes);
    }, 0);
  return {
    written_share: written > 0 ? again(0) / written : 0,
    needed_share: needed > 0 ? again(1) / needed : 0,
    sequences: several.reduce((sum, { size }) => sum + size, 0),
  };
}

/**
 * Rows that are one are needed by the steps of all their sequences.
 * @returns the share of the bytes written whose rows may be needed more often than so many times for this
 */
export function neededTogether(rows: KvRowSamples): (needs: number) => number {
  const groups = new Map<string, { bytes: number; readonly most: Map<number, number> }>();
  let written = 0;
  for (const { may_share, filling, is_written, size_bytes, total_reads } of rows) {
    if (!is_written) continue;
    written += size_bytes;
    if (may_share === undefined) continue;
    const group = groups.get(may_share) ?? { bytes: 0, most: new Map<number, number>() };
    groups.set(may_share, group);
    group.bytes += size_bytes;
    group.most.set(filling, Math.max(total_reads, group.most.get(filling) ?? 0));
  }
  const several = [...groups.values()].flatMap(({ bytes, most }) =>
    most.size > 1 ? [{ bytes, together: [...most.values()].reduce((sum, one) => sum + one, 0) }] : [],
  );
  return (needs) => several.reduce((sum, { bytes, together }) => sum + (together > needs ? bytes / written : 0), 0);
}

/** Why more is open of rows than their steps leave: none where it is not. */
export function sharedReason({ sequences }: SharedRows): readonly string[] {
  return sequences === 0
    ? []
    : [`${sequences} sequences had rows that nobody told of: which of these they share is not known`];
}

/** What figures over rows have room for, as shares of what these are weighed by. */
export interface RowRoom {
  /** Of early batches, of which nothing is known. */
  readonly early: number;
  /** Of rows that are perhaps counted too often. */
  readonly again: number;
  /** Of rows that may be above a value, though they are counted up to it; none unless told. */
  readonly above?: (value: number) => number;
  readonly reasons: readonly string[];
}

/**
 * @param weighedBy bytes written, or bytes needed
 * @param again 0 where it makes no difference how often a row counts
 */
export function rowRoom(
  { kvRows, input }: Group,
  weighedBy: "written_share" | "needed_share",
  again = sharedRows(kvRows)[weighedBy],
): RowRoom {
  const { kvEarly = null } = input;
  const reasons = [...(kvEarly === null ? [] : [kvEarly.why]), ...(again > 0 ? sharedReason(sharedRows(kvRows)) : [])];
  return { early: kvEarly?.[weighedBy] ?? 0, again, reasons };
}

/** The least that a share of the rows that are counted may be of all: what is counted too often has it, and what is early has not. */
export function leastShare(share: number, { early, again }: Pick<RowRoom, "early" | "again">): number {
  return Math.max(0, (share - again) / (1 - again)) * (1 - early);
}

/** The most: what is counted too often has it not, and what is early has it. */
export function mostShare(share: number, { early, again }: Pick<RowRoom, "early" | "again">): number {
  return Math.min(1, share / (1 - again)) * (1 - early) + early;
}
