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
/** Entries that are read at a time. */
const WINDOW_ENTRIES = 512;
/** High bit of a version index: not the version that a new link would take. */
const HIDDEN_VERSION = 0x8000;

/** An entry that defines a function, an ifunc or an object. */
interface SymbolEntry {
  readonly symbol: Omit<DynamicSymbol, "name">;
  /** Where its name lies in the table of strings. */
  readonly nameOffset: number;
}

/** A u64 as a number: exact up to 2^53, rounded above. */
const wordAt = (view: DataView, place: number): number =>
  view.getUint32(place + 4, true) * 2 ** 32 + view.getUint32(place, true);

/** The entry at a place of a table, all of which is there; null where it defines nothing. */
export function symbolEntry(entries: DataView, place: number, segments: readonly Segment[]): SymbolEntry | null {
  const type = TYPES.get((entries.getUint8(place + 4) & 15) as 1);
  if (type === undefined || entries.getUint16(place + 6, true) === 0) return null;
  const vaddr = wordAt(entries, place + 8);
  const symbol = { type, vaddr, fileOffset: fileOffsetOf(segments, vaddr), sizeBytes: wordAt(entries, place + 16) };
  return { symbol, nameOffset: entries.getUint32(place, true) };
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

  /** Entries from a number on, as a copy, so that names can be read beside; null where they are not all there. */
  function entriesFrom(index: number, n: number): DataView | null {
    const bytes = symbolsAt === null ? null : view.bytes(symbolsAt + index * ENTRY_BYTES, n * ENTRY_BYTES);
    return bytes === null ? null : new DataView(bytes.slice().buffer);
  }
  function isHidden(index: number): boolean {
    const version = dynamic.versions === null ? 0 : (view.u16(dynamic.versions + index * 2) ?? 0);
    return (version & HIDDEN_VERSION) !== 0;
  }
  function countOf(): number {
    const named = section();
    if (named) return Math.floor(named.sizeBytes / ENTRY_BYTES);
    if (dynamic.gnuHash !== null) return gnuHashSymbolCount(view, dynamic.gnuHash);
    return dynamic.hash === null ? 0 : (view.u32(dynamic.hash + 4) ?? 0);
  }
  /** As many as it is told, and no more than the file has room for. */
  const count = (): number => Math.min(countOf(), Math.floor((view.length - (symbolsAt ?? 0)) / ENTRY_BYTES));
  let cache: Map<string, DynamicSymbol> | null = null;
  function readAll(): Map<string, DynamicSymbol> {
    const symbols = new Map<string, DynamicSymbol>();
    const n = count();
    if (n > MOST_SYMBOLS || namesAt === null) return symbols;
    let nameBytes = 0;
    let entries: DataView | null = null;
    for (let index = 1; index < n; index++) {
      const within = (index - 1) % WINDOW_ENTRIES;
      if (within === 0) entries = entriesFrom(index, Math.min(WINDOW_ENTRIES, n - index));
      const found = entries === null ? null : symbolEntry(entries, within * ENTRY_BYTES, segments);
      const name = found === null ? null : view.text(namesAt + found.nameOffset);
      if (found === null || !name || (isHidden(index) && symbols.has(name))) continue;
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
      const entry = entriesFrom(index, 1);
      const found = entry === null ? null : symbolEntry(entry, 0, segments);
      if (found === null || namesAt === null || !view.textEquals(namesAt + found.nameOffset, wanted)) continue;
      if (!isHidden(index)) return { name, ...found.symbol };
      hidden ??= { name, ...found.symbol };
    }
    return hidden;
  }
  return { find, all };
}
