/** What a cache tensor has room for: of more rows than it has cells, the oldest were written over. */
import { endedBy, type KvToken } from "./kv-token.ts";
import { ROW_ENDS } from "./row-ends.ts";

export interface Room {
  /** Rows of one stream. */
  readonly cells: number;
  /** 1 where all sequences share the rows, else one for each. */
  readonly streams: number;
  readonly birth_ns: number;
  readonly death_ns: number;
}

const endOf = (token: KvToken): number => token.evict_ns ?? Number.POSITIVE_INFINITY;

/** Ends the oldest of the live rows wherever a write finds none of `cells` rows free. @param tokens in order of their write */
function wrapped(tokens: readonly KvToken[], cells: number): readonly KvToken[] {
  if (tokens.length <= cells) return tokens;
  const out = [...tokens];
  const ends = tokens
    .map((_, i) => i)
    .sort((one, other) => endOf(tokens[one] as KvToken) - endOf(tokens[other] as KvToken));
  const isOut = new Uint8Array(tokens.length);
  let alive = 0;
  let nextEnd = 0;
  let oldest = 0;
  for (const [i, token] of tokens.entries()) {
    for (; nextEnd < ends.length; nextEnd++) {
      const ended = ends[nextEnd] as number;
      if (ended >= i || endOf(tokens[ended] as KvToken) > token.write_ns) break;
      if (isOut[ended] === 0) alive -= 1;
      isOut[ended] = 1;
    }
    if (alive >= cells) {
      while (isOut[oldest] === 1) oldest += 1;
      isOut[oldest] = 1;
      out[oldest] = { ...endedBy(out[oldest] as KvToken, token.write_ns, ROW_ENDS.written_over), writes: "more" };
      out[i] = { ...token, writes: "more" };
      alive -= 1;
    }
    alive += 1;
  }
  return out;
}

/**
 * True where sequences that share the cells are said to have had more rows at once than there are cells, before the first batch too: each of
 * these rows was counted for one of them, and some are of several.
 */
export function isOvercounted(
  tokens: readonly KvToken[],
  { cells, streams }: Pick<Room, "cells" | "streams">,
): boolean {
  const unseen = new Set(tokens.flatMap(({ is_written, sequence }) => (is_written ? [] : [sequence])));
  if (streams > 1 || unseen.size < 2) return false;
  const ends = tokens.map(endOf).sort((one, other) => one - other);
  let ended = 0;
  return tokens.some(({ write_ns }, i) => {
    while ((ends[ended] ?? Number.POSITIVE_INFINITY) <= write_ns) ended += 1;
    return i + 1 - ended > cells;
  });
}

/**
 * The tokens as a tensor holds them, null for one that it never held; a token that it lost before its sequence did ends there.
 * @param tokens of the tensor's context, in order of their write
 */
export function tokensIn(tokens: readonly KvToken[], { cells, streams, birth_ns, death_ns }: Room): (KvToken | null)[] {
  const out: (KvToken | null)[] = tokens.map(() => null);
  const streamOf = ({ sequence }: KvToken): number => (streams > 1 ? (sequence ?? 0) : 0);
  const held = tokens
    .map((_, i) => i)
    .filter((i) => {
      const { write_ns, written_by_ns } = tokens[i] as KvToken;
      // A cache may first be seen while a batch fills it, which has begun before.
      const seen_ns = Number.isFinite(written_by_ns) ? written_by_ns : write_ns;
      return birth_ns <= seen_ns && write_ns < death_ns;
    });
  for (const members of Map.groupBy(held, (i) => streamOf(tokens[i] as KvToken)).values()) {
    const kept = wrapped(
      members.map((i) => tokens[i] as KvToken),
      cells,
    );
    for (const [k, i] of members.entries()) out[i] = endedBy(kept[k] as KvToken, death_ns);
  }
  return out;
}
