/** The loader's hash table of dynamic symbols (DT_GNU_HASH): one lookup without reading the others. */
import type { ByteView } from "./byte-view.ts";

/** What a chain may hold at most before the file is taken for hostile. */
const CHAIN_LIMIT = 1 << 16;
/** Buckets beyond which it is none: there are fewer than symbols. */
const MOST_BUCKETS = 1 << 22;

interface Header {
  readonly buckets: number;
  readonly firstSymbol: number;
  readonly bucketsAt: number;
  readonly chainsAt: number;
}

function header(view: ByteView, offset: number): Header | null {
  const buckets = view.u32(offset);
  const firstSymbol = view.u32(offset + 4);
  const bloomWords = view.u32(offset + 8);
  if (buckets === null || firstSymbol === null || bloomWords === null) return null;
  if (buckets === 0 || buckets > MOST_BUCKETS) return null;
  const bucketsAt = offset + 16 + bloomWords * 8;
  return { buckets, firstSymbol, bucketsAt, chainsAt: bucketsAt + buckets * 4 };
}

function hashOf(name: Uint8Array): number {
  let hash = 5381;
  for (const byte of name) hash = (Math.imul(hash, 33) + byte) >>> 0;
  return hash;
}

/** Indices of the symbols whose hash is that of `name`; a superset of those called `name`. */
export function gnuHashCandidates(view: ByteView, start: number, name: Uint8Array): number[] {
  const h = header(view, start);
  if (h === null) return [];
  const hash = hashOf(name);
  const first = view.u32(h.bucketsAt + (hash % h.buckets) * 4);
  if (first === null || first < h.firstSymbol) return [];
  const candidates: number[] = [];
  for (let index = first; index - first < CHAIN_LIMIT; index++) {
    const entry = view.u32(h.chainsAt + (index - h.firstSymbol) * 4);
    if (entry === null) break;
    if ((entry | 1) >>> 0 === (hash | 1) >>> 0) candidates.push(index);
    if (entry & 1) break;
  }
  return candidates;
}

/** How many symbols the table of symbols holds, as the chains tell; 0 where they are broken. */
export function gnuHashSymbolCount(view: ByteView, offset: number): number {
  const h = header(view, offset);
  if (h === null) return 0;
  let last = 0;
  for (let bucket = 0; bucket < h.buckets; bucket++) {
    const first = view.u32(h.bucketsAt + bucket * 4);
    if (first === null) return 0;
    if (first > last) last = first;
  }
  if (last < h.firstSymbol) return h.firstSymbol;
  for (let index = last; index - last < CHAIN_LIMIT; index++) {
    const entry = view.u32(h.chainsAt + (index - h.firstSymbol) * 4);
    if (entry === null) return 0;
    if (entry & 1) return index + 1;
  }
  return 0;
}
