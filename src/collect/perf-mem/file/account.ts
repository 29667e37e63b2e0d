/** What became of every sample of a file; every one is in exactly one of kept, filtered and dropped. */

import type { FigureSource, LedgerRow } from "../../../schema/ledger.ts";
import { wordsOf } from "../../../schema/row.ts";
import { createStops, type Stops, type StreamRoom, streamRoom } from "./stops.ts";

const SOURCES = wordsOf("access", "source");

export interface EventAccount {
  source: FigureSource | null;
  samples: number;
  readonly stops: Stops;
}

export interface Account {
  /** Samples that the file holds. */
  samples: number;
  keptAccesses: number;
  /** The same by source, in the order of SOURCES. */
  readonly keptBySource: Float64Array;
  keptFaults: number;
  /** Samples left out on purpose, by reason. */
  readonly filtered: Map<string, number>;
  /** First and last time of those, as long as none was kept; 0 where they have none. */
  left_first_ns: bigint;
  left_last_ns: bigint;
  /** Samples that were lost or cannot be read, by cause. */
  readonly dropped: Map<string, number>;
  /** Times that the kernel slowed sampling down. */
  throttles: number;
  /** Events by their place in the file's list: whose figures their samples are for, how many came, and when none could. */
  readonly events: EventAccount[];
  readonly streams: StreamRoom;
  /** First and last time of the samples that were kept, as far as they were handed over; 0 before any. */
  first_ns: bigint;
  last_ns: bigint;
  /** Records of other types that cannot be read. */
  badRecords: number;
  records: number;
}

export function newAccount(): Account {
  return {
    samples: 0,
    keptAccesses: 0,
    keptBySource: new Float64Array(SOURCES.length),
    keptFaults: 0,
    filtered: new Map(),
    left_first_ns: 0n,
    left_last_ns: 0n,
    dropped: new Map(),
    throttles: 0,
    events: [],
    streams: streamRoom(),
    first_ns: 0n,
    last_ns: 0n,
    badRecords: 0,
    records: 0,
  };
}

/** The account of the event at a place of the file's list. */
export function eventAccount({ events, streams }: Account, place: number): EventAccount {
  const found = events[place] ?? { source: null, samples: 0, stops: createStops(streams) };
  events[place] = found;
  return found;
}

/** Samples of a source that were not taken while the kernel had stopped its events for their rate. */
function unseenOf({ events, first_ns, last_ns }: Account, source: FigureSource): number | null {
  const mine = events.filter((event) => event.source === source);
  const unseen = mine.reduce((sum, { samples, stops }) => sum + stops.unseen(samples, first_ns, last_ns), 0);
  return unseen > 0 ? Math.ceil(unseen) : null;
}

export function count(counters: Map<string, number>, name: string, by = 1): void {
  counters.set(name, (counters.get(name) ?? 0) + by);
}

const sum = (counters: ReadonlyMap<string, number>): number => [...counters.values()].reduce((all, n) => all + n, 0);

/** Causes by which a sample never came into the file. */
const NEVER_CAME: ReadonlySet<string> = new Set(["lost", "lost_samples"]);

/** A whole number of things in parts that are as `weights` to each other, and the whole together. */
function apportion(whole: number, weights: readonly number[]): number[] {
  const all = weights.reduce((total, weight) => total + weight, 0);
  let before = 0;
  let given = 0;
  return weights.map((weight) => {
    before += weight;
    const upTo = Math.round((whole * before) / all);
    const part = upTo - given;
    given = upTo;
    return part;
  });
}

/**
 * Ledger rows of the samples, by source, and of the records that tell of mappings.
 *
 * Who was left out or lost is known by reason and not by source: both are shared out as the samples that were kept, so
 * that every source of the file has lost the same share.
 *
 * @param named sources of the file's events, for a file of which nothing was kept
 */
export function ledgerOf(account: Account, way: string, named: readonly string[]): LedgerRow[] {
  const accesses = SOURCES.map((source, i) => ({ source, kept: account.keptBySource[i] ?? 0 }));
  const kept = accesses.filter((one) => one.kept > 0);
  const fault = { source: "fault" as const, kept: account.keptFaults };
  const sources: { readonly source: FigureSource; readonly kept: number }[] = [...kept];
  if (fault.kept > 0) sources.push(fault);
  if (sources.length === 0) sources.push(...accesses.filter(({ source }) => named.includes(source)));
  if (sources.length === 0) sources.push(fault);
  const weights = sources.map((one) => Math.max(1, one.kept));
  const shared = (counters: ReadonlyMap<string, number>, wanted: (cause: string) => boolean) =>
    [...counters].filter(([cause]) => wanted(cause)).map(([cause, n]) => [cause, apportion(n, weights)] as const);
  const lost = shared(account.dropped, (cause) => NEVER_CAME.has(cause));
  const unread = shared(account.dropped, (cause) => !NEVER_CAME.has(cause));
  const filtered = apportion(sum(account.filtered), weights);
  const rows = sources.flatMap(({ source, kept }, i): LedgerRow[] => {
    const place = { stream: source === "fault" ? "fault" : "access", source, way, pid: null } as const;
    const part = (counts: typeof lost): Record<string, number> =>
      Object.fromEntries(
        counts.map(([cause, parts]): [string, number] => [cause, parts[i] ?? 0]).filter(([, n]) => n > 0),
      );
    const [lost_by, dropped_by] = [part(lost), part(unread)];
    const [missing, dropped] = [total(lost_by), total(dropped_by)];
    const seen = kept + (filtered[i] ?? 0) + dropped;
    const none = { filtered: 0, unseen_estimate: null };
    return [
      {
        ...place,
        ...none,
        stage: "ring",
        seen: seen + missing,
        kept: seen,
        dropped: missing,
        dropped_by: lost_by,
        unseen_estimate: unseenOf(account, source),
      },
      { ...place, ...none, stage: "decode", seen, kept, filtered: filtered[i] ?? 0, dropped, dropped_by },
    ];
  });
  const { badRecords, records, samples } = account;
  if (badRecords === 0) return rows;
  const good = Math.max(0, records - samples - badRecords);
  rows.push({
    stream: "mapping",
    source: "region_map",
    stage: "decode",
    way,
    pid: null,
    seen: good + badRecords,
    kept: good,
    filtered: 0,
    dropped: badRecords,
    dropped_by: { unreadable: badRecords },
    unseen_estimate: null,
  });
  return rows;
}

function total(by: Readonly<Record<string, number>>): number {
  return Object.values(by).reduce((all, n) => all + n, 0);
}
