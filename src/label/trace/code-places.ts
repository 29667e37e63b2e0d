/** Instruction addresses to file and function, through the executable file mappings of the process. */

import { type ElfFile, readElf } from "../../elf/elf.ts";
import { openFileBytes } from "../../elf/file-bytes.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import type { CodePlaces, MappingFacts } from "../capture/mapping-stays.ts";
import { placeIndex } from "../regions/place-index.ts";

/** One distinct instruction of a process, and when it was first seen (ns since the origin). */
export interface CodeAddress {
  readonly pid: number;
  readonly ip: bigint;
  readonly first_ns: number;
}

export interface CodeName {
  /** Path of the mapped file; empty where the instruction lies in none. */
  readonly dso: string;
  /** Dynamic symbol that holds it; empty where there is none. */
  readonly symbol: string;
}

/** Larger files are no libraries; bytes. */
const MAX_OBJECT_BYTES = 2 ** 30;

interface FunctionTable {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly names: readonly string[];
  vaddr(fileOffset: number): number | null;
}

function functionTable(elf: ElfFile): FunctionTable {
  const functions = [...elf.dynamicSymbols().values()]
    .filter((symbol) => symbol.type !== "object" && symbol.sizeBytes > 0)
    // Several names of one function: the least, so that the answer does not depend on the order in the file.
    .sort((left, right) => left.vaddr - right.vaddr || (left.name < right.name ? 1 : -1));
  return {
    starts: Float64Array.from(functions, (symbol) => symbol.vaddr),
    ends: Float64Array.from(functions, (symbol) => symbol.vaddr + symbol.sizeBytes),
    names: functions.map((symbol) => symbol.name),
    vaddr: (offset) => elf.vaddr(offset),
  };
}

/**
 * The functions of a file, if the one that was opened is still that which was mapped; null otherwise, and where it is gone or not
 * ours to read: addresses keep their file name and have no symbol.
 */
function openObject(path: string, inode: bigint | null): FunctionTable | null {
  using bytes = openFileBytes(path);
  if (bytes === null || bytes.length > MAX_OBJECT_BYTES) return null;
  if (inode !== null && inode !== 0n && bytes.inode !== inode) return null;
  const elf = readElf(bytes);
  return elf.ok ? functionTable(elf) : null;
}

function symbolAt(table: FunctionTable, fileOffset: number): string {
  const vaddr = table.vaddr(fileOffset);
  if (vaddr === null) return "";
  const index = firstIndex(table.starts.length, (i) => (table.starts[i] as number) <= vaddr) - 1;
  return index >= 0 && vaddr < (table.ends[index] as number) ? (table.names[index] ?? "") : "";
}

/** Names instructions; each file is read once. */
export function codeNamer(
  { places, offsets }: CodePlaces,
  facts: readonly MappingFacts[],
): (address: CodeAddress) => CodeName {
  const index = placeIndex(places);
  const objects = new Map<string, FunctionTable | null>();
  return ({ pid, ip, first_ns }) => {
    const row = index.find(pid, Number(ip), first_ns);
    const found = facts[places.what[row] ?? -1];
    if (row < 0 || found === undefined || found.path === null) return { dso: "", symbol: "" };
    const { path, inode, mapping_kind } = found;
    const begin_bytes = offsets[row] as number;
    if (mapping_kind !== "file" || Number.isNaN(begin_bytes)) return { dso: path, symbol: "" };
    const key = `${path}\0${inode}`;
    let table = objects.get(key);
    if (table === undefined) {
      table = openObject(path, inode);
      objects.set(key, table);
    }
    const offset = begin_bytes + Number(ip - BigInt(places.begin[row] as number));
    return { dso: path, symbol: table === null ? "" : symbolAt(table, offset) };
  };
}
