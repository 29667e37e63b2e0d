/** How many tokens a graph works on, by its first node: the rows of the table of embeddings that it gets. */
import type { GgmlLayout } from "./offsets.ts";

/** Number of the type (ggml.h), which is that of ggml's files. */
const F32 = 0;
const TOKEN_LIMIT = 2n ** 24n;

/** Null for a graph that begins with anything else, such as one that shifts a cache. @param payload a graph, and the head of its first node */
export function tokensOfGraph(payload: DataView, { tensor, operations, copied }: GgmlLayout): number | null {
  if (payload.byteLength < copied.graph + copied.node) return null;
  const node = copied.graph;
  const elements = (dimension: number): bigint => payload.getBigInt64(node + tensor.ne + 8 * dimension, true);
  if (
    payload.getInt32(node + tensor.op, true) !== operations.getRows ||
    payload.getInt32(node + tensor.type, true) !== F32
  )
    return null;
  const tokens = elements(1);
  return elements(2) === 1n && elements(3) === 1n && tokens > 0n && tokens <= TOKEN_LIMIT ? Number(tokens) : null;
}

/**
 * The address space in which the list of a graph's nodes lies: parts of it begin further on in it. The nodes themselves take forty times as
 * much, so that the list of another graph is further away.
 */
const LIST_BYTES = 256n << 10n;

/** True where the nodes of a later part of the same graph are in a list. */
export const isLaterInList = (first: bigint, list: bigint): boolean => list > first && list - first < LIST_BYTES;

/**
 * Tells first parts of graphs from later ones, where another part of ggml computes what is between, or a callback asks to have nodes alone.
 * @returns whether a part that tells of tokens begins a graph, for the first time or again, by the address of the list of its nodes
 */
export function graphBegins(): (list: bigint) => boolean {
  const begun = new Set<bigint>();
  return (list) => {
    if (begun.values().some((first) => isLaterInList(first, list))) return false;
    begun.add(list);
    return true;
  };
}
