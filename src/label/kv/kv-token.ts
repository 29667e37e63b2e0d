/** A token in a KV cache: when its row was written, which batches read it, and when it left. */
import { firstIndex } from "../../statistics/first-index.ts";
import { type KvEnd, ROW_ENDS } from "./row-ends.ts";

/** Batches that read a row: those of `begins` from one place to another, ascending. */
export interface ReadSpan {
  readonly begins: readonly number[];
  readonly from: number;
  readonly until: number;
}

/**
 * How often the row of a token was written while it was in the cache: more than once where another token was written over
 * it, or it over another, before the engine gave the first one up; perhaps more where positions were moved meanwhile, for
 * which an engine may write keys again.
 */
export type RowWrites = "once" | "more" | "perhaps_more";

export interface KvToken {
  readonly pid: number;
  /** The engine in whose cache it is; null in captures that know one engine only. */
  readonly engine: string | null;
  /** The context in whose cache it is, as the engine names it; null where it names none. */
  readonly context: string | null;
  /** The sequence that wrote it; null where the engine names none. */
  readonly sequence: number | null;
  /** Number of a filling, which is what a sequence wrote from one emptying to the next: its tokens share their fate. */
  readonly filling: number;
  /** Position in the sequence at its write; null where that is not known. */
  readonly position: number | null;
  /** The row of the cache tensors that it has; null where that is not known. */
  readonly cell: number | null;
  /** Of a row that was there: begin of the first batch that was seen, so that it is older. */
  readonly write_ns: number;
  /** False for a row that was in the cache before the first batch that was seen. */
  readonly is_written: boolean;
  /** End of the batch that wrote it. */
  readonly written_by_ns: number;
  readonly writes: RowWrites;
  /** Later batches that read it. */
  readonly reads: readonly ReadSpan[];
  /** How many they are, and the begin of the last; null for none. */
  readonly total_reads: number;
  readonly last_read_ns: number | null;
  /** Null while it is in the cache. */
  readonly evict_ns: number | null;
  /** Null while it is in the cache, and where the engine's steps do not say. */
  readonly end: KvEnd | null;
  /** Other sequences that had the row too, in order. */
  readonly shared_with: readonly number[];
  /** The same name for rows that came into one cache at one time, when nobody told whose they are: its sequences may share them. */
  readonly may_share?: string;
  /** JSON list of the requests that had it, as the engine names them, the one that wrote it first; null where not all are known. */
  readonly requests: string | null;
  /** Every batch that read it copied it to other memory; never unless told. */
  readonly is_moved?: true;
  /** It is in the layers that look back over a window, not in the others; in all of them unless told. */
  readonly in_window?: boolean;
}

/** Of a row that was its sequence's alone. */
export const SHARED_WITH_NONE: readonly number[] = [];

/** Counts over all caches of a run. */
export interface TokenCounters {
  /** A number for the next filling. @param name the same for the same filling in layers that keep it for another time */
  readonly nextFilling: (name?: string) => number;
  /** Told of every token before it is held. @throws MrmTraceError environment where there is no room for it */
  readonly countToken: () => void;
}

/** How many batches read a row, and when the last of them began. */
export function readsIn(spans: readonly ReadSpan[]): Pick<KvToken, "total_reads" | "last_read_ns"> {
  let total_reads = 0;
  let last_read_ns: number | null = null;
  for (const { begins, from, until } of spans) {
    total_reads += until - from;
    if (until > from) last_read_ns = begins[until - 1] ?? null;
  }
  return { total_reads, last_read_ns };
}

/** Place of the first of `begins` that is `time` or later, in [from, until]. */
function placeOf({ begins, from, until }: ReadSpan, time: number): number {
  return from + firstIndex(until - from, (i) => (begins[from + i] ?? 0) < time);
}

/** True where a batch that began at `begin_ns` read the row. */
export function isReadAt({ reads }: KvToken, begin_ns: number): boolean {
  return reads.some((span) => {
    const place = placeOf(span, begin_ns);
    return place < span.until && span.begins[place] === begin_ns;
  });
}

/** The token as it is where its row ends at `end_ns` at the latest: itself, or with fewer reads. */
export function endedBy(token: KvToken, end_ns: number, end: KvEnd = ROW_ENDS.memory_gone): KvToken {
  if ((token.evict_ns ?? Number.POSITIVE_INFINITY) <= end_ns || !Number.isFinite(end_ns)) return token;
  const reads = token.reads.map((span) => ({ ...span, until: placeOf(span, end_ns) }));
  return { ...token, reads, ...readsIn(reads), evict_ns: end_ns, end };
}
