/** A 64-bit little-endian ELF file: where its symbols and functions are, each part read when first asked for. */
import { readBuildId } from "./build-id.ts";
import { bytesInMemory, byteView } from "./byte-view.ts";
import { functionsByGo } from "./cgo-functions.ts";
import { readDebugLink } from "./debug-file.ts";
import { debugSections } from "./dwarf/debug-sections.ts";
import { type FoundDefinitions, findDefinitions } from "./dwarf/definitions.ts";
import { readDynamic } from "./dynamic.ts";
import { type DynamicSymbol, dynamicSymbolTable } from "./dynamic-symbols.ts";
import type { ByteSource } from "./file-bytes.ts";
import { type FunctionStarts, readFunctionStarts } from "./function-starts.ts";
import { type GoBuild, readGoBuild } from "./go-build.ts";
import { localFunctions } from "./local-symbols.ts";
import { readSections } from "./sections.ts";
import { fileOffsetOf, readSegments, type Segment, vaddrOf } from "./segments.ts";

export interface ElfFile {
  readonly ok: true;
  /** e_machine: 62 x86-64, 183 arm64. */
  readonly machine: number;
  readonly segments: readonly Segment[];
  /** Lower-case hexadecimal GNU build id. */
  buildId(): string | null;
  /** What a program of Go says of itself; null for others. */
  goBuild(): GoBuild | null;
  soname(): string | null;
  /** One defined dynamic symbol by its exact name, through the loader's hash table. */
  dynamicSymbol(name: string): DynamicSymbol | undefined;
  /** Functions of these names by the whole table of symbols, exported or not; none where the file is stripped. */
  localFunctions(names: readonly string[]): ReadonlyMap<string, DynamicSymbol>;
  /** Functions of these names in a stripped program of Go, its own and those of C that it calls, by what Go keeps of them. */
  functionsByGo(names: readonly string[]): ReadonlyMap<string, DynamicSymbol>;
  /** All defined dynamic functions, ifuncs and objects by name. */
  dynamicSymbols(): ReadonlyMap<string, DynamicSymbol>;
  functionStarts(): FunctionStarts | null;
  /** Structures and enumerations of these names by the debugging data in this file. */
  definitions(names: readonly string[]): FoundDefinitions;
  /** Name of the file that has its debugging data. */
  debugLink(): string | null;
  /** File offset of a virtual address of this file; null where no file bytes are mapped. */
  fileOffset(vaddr: number): number | null;
  /** Virtual address of a file offset; null outside every segment. */
  vaddr(fileOffset: number): number | null;
}

export type ElfResult = ElfFile | { readonly ok: false; readonly reason: string };

const MAGIC = 0x464c457f;
/** e_phnum value that says "look elsewhere"; no library comes near it. */
const COUNT_LIMIT = 0xffff;

function once<T>(compute: () => T): () => T {
  let value: { readonly of: T } | null = null;
  return () => {
    value ??= { of: compute() };
    return value.of;
  };
}

/**
 * Opens the bytes of an ELF file without copying them; hostile bytes give `ok: false` or empty answers, never an error.
 * Addresses and offsets are numbers of bytes; those above 2^53 are rounded and match nothing.
 * Format: System V ABI, chapters 4 and 5; `elf.h` of glibc.
 */
export function readElf(bytes: Uint8Array | ByteSource): ElfResult {
  const view = byteView(bytes instanceof Uint8Array ? bytesInMemory(bytes) : bytes);
  const bad = (reason: string): ElfResult => ({ ok: false, reason });
  if (view.u32(0) !== MAGIC) return bad("no ELF magic");
  if (view.u8(4) !== 2) return bad("not a 64-bit file");
  if (view.u8(5) !== 1) return bad("not little-endian");
  if (view.length < 64) return bad("file header cut short");
  const segmentCount = view.u16(56) ?? 0;
  if (segmentCount === COUNT_LIMIT) return bad("more program headers than a library has");
  const segments = readSegments(view, view.u64(32) ?? 0, view.u16(54) ?? 0, segmentCount);
  if (segments.length < segmentCount) return bad("program headers cut short");

  const sections = once(() =>
    readSections(view, view.u64(40) ?? 0, view.u16(58) ?? 0, view.u16(60) ?? 0, view.u16(62) ?? 0),
  );
  const dynamic = once(() => readDynamic(view, segments));
  const symbols = once(() => dynamicSymbolTable(view, segments, dynamic(), sections));
  const machine = view.u16(18) ?? 0;
  const functionStarts = once(() => readFunctionStarts(view, segments, sections));
  return {
    ok: true,
    machine,
    segments,
    buildId: once(() => readBuildId(view, segments, sections)),
    goBuild: once(() => readGoBuild(view, sections)),
    soname: () => dynamic().soname,
    dynamicSymbol: (name) => symbols().find(name),
    localFunctions: (names) => localFunctions(view, segments, sections(), names),
    dynamicSymbols: () => symbols().all(),
    definitions(names) {
      const found = debugSections(view, sections());
      return found.ok ? findDefinitions(found, names) : found;
    },
    debugLink: () => readDebugLink(view, sections()),
    functionsByGo: (names) =>
      functionsByGo({ view, machine, segments, sections: sections(), starts: functionStarts }, names),
    functionStarts,
    fileOffset: (vaddr) => fileOffsetOf(segments, vaddr),
    vaddr: (offset) => vaddrOf(segments, offset),
  };
}
