/** A token in a KV cache: when its row was written, which batches read it, and when it left. */
import { firstIndex } from "../../statistics/first-index.ts";
import type { KvEnd } from "./row-ends.ts";
import type { TokenColumns } from "./token-columns.ts";

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

/** What the tokens have in common that a sequence wrote into one cache from one emptying to the next. */
export interface TokenOrigin {
  readonly pid: number;
  /** The engine in whose cache it is; null in captures that know one engine only. */
  readonly engine: string | null;
  /** The context in whose cache it is, as the engine names it; null where it names none. */
  readonly context: string | null;
  /** The sequence that wrote it; null where the engine names none. */
  readonly sequence: number | null;
  /** Number of a filling, which is what a sequence wrote from one emptying to the next: its tokens share their fate. */
  readonly filling: number;
  /** False for a row that was in the cache before the first batch that was seen. */
  readonly is_written: boolean;
  /** The same name for rows that came into one cache at one time, when nobody told whose they are: its sequences may share them. */
  readonly may_share?: string;
  /** Every batch that read it copied it to other memory; never unless told. */
  readonly is_moved?: true;
  /** It is in the layers that look back over a window, not in the others; in all of them unless told. */
  readonly in_window?: boolean;
}

export interface KvToken extends TokenOrigin {
  /** Position in the sequence at its write; null where that is not known. */
  readonly position: number | null;
  /** The row of the cache tensors that it has; null where that is not known. */
  readonly cell: number | null;
  /** Of a row that was there: begin of the first batch that was seen, so that it is older. */
  readonly write_ns: number;
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
  /** JSON list of the requests that had it, as the engine names them, the one that wrote it first; null where not all are known. */
  readonly requests: string | null;
}

/** Of a row that was its sequence's alone. */
export const SHARED_WITH_NONE: readonly number[] = [];

/** Counts over all caches of a run. */
export interface TokenCounters {
  /** A number for the next filling. @param name the same for the same filling in layers that keep it for another time */
  readonly nextFilling: (name?: string) => number;
  /** Told of every token before it is held. @throws MrmTraceError environment where there is no room for it */
  readonly countToken: () => void;
  /** Where they are put. */
  readonly columns: TokenColumns;
}

/** Place of the first of `begins` that is `time` or later, in [from, until]. */
export function placeIn({ begins, from, until }: ReadSpan, time: number): number {
  return from + firstIndex(until - from, (i) => (begins[from + i] ?? 0) < time);
}

/** True where a batch that began at `begin_ns` read the row. */
export function isReadAt({ reads }: KvToken, begin_ns: number): boolean {
  return reads.some((span) => {
    const place = placeIn(span, begin_ns);
    return place < span.until && span.begins[place] === begin_ns;
  });
}
