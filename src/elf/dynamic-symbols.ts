/** Defined dynamic symbols: exact names to addresses and file offsets. */
import type { ByteView } from "./byte-view.ts";
import type { Dynamic } from "./dynamic.ts";
import { gnuHashCandidates, gnuHashSymbolCount } from "./gnu-hash.ts";
import { SECTION, type Section } from "./sections.ts";
import { fileOffsetOf, type Segment } from "./segments.ts";

const TYPES = new Map([
  [1, "object"],
  [2, "function"],
  [10, "ifunc"],
] as const);
export type SymbolType = "object" | "function" | "ifunc";

export interface DynamicSymbol {
  readonly name: string;
  readonly type: SymbolType;
  readonly vaddr: number;
  /** Where its first byte lies in the file; null for zero-initialised data, which has no bytes there. */
  readonly fileOffset: number | null;
  readonly sizeBytes: number;
  /** True where no symbol says it: it was found by what a program of Go keeps of its functions. */
  readonly isByGo?: true;
}

export interface DynamicSymbolTable {
  /** The symbol of exactly this name, the default version where there are several; undefined when not defined here. */
  find(name: string): DynamicSymbol | undefined;
  /** Every defined function, ifunc and object; none of a table that is larger than any library's. */
  all(): ReadonlyMap<string, DynamicSymbol>;
}

/** One entry of a table of symbols (Elf64_Sym). */
export const ENTRY_BYTES = 24;
/** A table beyond these is left alone: the largest libraries have some 100,000 symbols, whose names take some 10 MiB. */
const MOST_SYMBOLS = 1 << 22;
const MOST_NAME_BYTES = 1 << 26;
/** High bit of a version index: not the version that a new link would take. */
const HIDDEN_VERSION = 0x8000;

/** The defined function, ifunc or object of an entry, and where its name lies in the table of strings; null for anything else. */
export function symbolEntry(
  view: ByteView,
  segments: readonly Segment[],
  entry: number,
): { readonly symbol: Omit<DynamicSymbol, "name">; readonly nameOffset: number } | null {
  const nameOffset = view.u32(entry);
  const type = TYPES.get(((view.u8(entry + 4) ?? 0) & 15) as 1);
  const vaddr = view.u64(entry + 8);
  const sizeBytes = view.u64(entry + 16);
  if (nameOffset === null || vaddr === null || sizeBytes === null || type === undefined) return null;
  if (view.u16(entry + 6) === 0) return null;
  return { symbol: { type, vaddr, fileOffset: fileOffsetOf(segments, vaddr), sizeBytes }, nameOffset };
}

/** Opens the tables named by PT_DYNAMIC, else by the .dynsym section header. */
export function dynamicSymbolTable(
  view: ByteView,
  segments: readonly Segment[],
  dynamic: Dynamic,
  sections: () => readonly Section[],
): DynamicSymbolTable {
  const section = () => sections().find((s) => s.type === SECTION.dynsym);
  const symbolsAt = dynamic.symbols ?? section()?.offset ?? null;
  const namesAt = dynamic.names ?? sections()[section()?.link ?? -1]?.offset ?? null;

  function symbolAt(index: number): { symbol: Omit<DynamicSymbol, "name">; nameAt: number; hidden: boolean } | null {
    if (symbolsAt === null || namesAt === null) return null;
    const entry = symbolEntry(view, segments, symbolsAt + index * ENTRY_BYTES);
    if (entry === null) return null;
    const version = dynamic.versions === null ? 0 : (view.u16(dynamic.versions + index * 2) ?? 0);
    return { symbol: entry.symbol, nameAt: namesAt + entry.nameOffset, hidden: (version & HIDDEN_VERSION) !== 0 };
  }
  function countOf(): number {
    const named = section();
    if (named) return Math.floor(named.sizeBytes / ENTRY_BYTES);
    if (dynamic.gnuHash !== null) return gnuHashSymbolCount(view, dynamic.gnuHash);
    return dynamic.hash === null ? 0 : (view.u32(dynamic.hash + 4) ?? 0);
  }
  /** As many as it is told, and no more than the file has room for. */
  const count = (): number => Math.min(countOf(), Math.floor(view.length / ENTRY_BYTES));
  let cache: Map<string, DynamicSymbol> | null = null;
  function readAll(): Map<string, DynamicSymbol> {
    const symbols = new Map<string, DynamicSymbol>();
    const n = count();
    if (n > MOST_SYMBOLS) return symbols;
    let nameBytes = 0;
    for (let index = 1; index < n; index++) {
      const found = symbolAt(index);
      const name = found && view.text(found.nameAt);
      if (!found || !name || (found.hidden && symbols.has(name))) continue;
      // Names may lie over each other, and take many times the bytes of the file.
      nameBytes += name.length;
      if (nameBytes > MOST_NAME_BYTES) return new Map();
      symbols.set(name, { name, ...found.symbol });
    }
    return symbols;
  }
  function all(): ReadonlyMap<string, DynamicSymbol> {
    cache ??= readAll();
    return cache;
  }
  function find(name: string): DynamicSymbol | undefined {
    if (cache || dynamic.gnuHash === null) return all().get(name);
    const wanted = new TextEncoder().encode(name);
    let hidden: DynamicSymbol | undefined;
    for (const index of gnuHashCandidates(view, dynamic.gnuHash, wanted)) {
      const found = symbolAt(index);
      if (!found || !view.textEquals(found.nameAt, wanted)) continue;
      if (!found.hidden) return { name, ...found.symbol };
      hidden ??= { name, ...found.symbol };
    }
    return hidden;
  }
  return { find, all };
}
