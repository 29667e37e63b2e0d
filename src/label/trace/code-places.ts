/** Instruction addresses to file and function, through the executable file mappings of the process. */

import { readFileSync, statSync } from "node:fs";
import { type ElfFile, readElf } from "../../elf/elf.ts";
import type { MappingRow } from "../../regions/mapping-row.ts";
import { firstIndex } from "../../statistics/first-index.ts";
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

const PROT_EXEC = 4;
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

/** The functions of a file, if it is still the one that was mapped; null otherwise. */
function openObject(path: string, inode: bigint | null): FunctionTable | null {
  try {
    const facts = statSync(path, { bigint: true });
    const same = inode === null || inode === 0n || facts.ino === inode;
    if (!facts.isFile() || !same || facts.size > BigInt(MAX_OBJECT_BYTES)) return null;
    const elf = readElf(readFileSync(path));
    return elf.ok ? functionTable(elf) : null;
  } catch {
    // The file is gone or not ours to read: addresses keep their file name and have no symbol.
    return null;
  }
}

function symbolAt(table: FunctionTable, fileOffset: number): string {
  const vaddr = table.vaddr(fileOffset);
  if (vaddr === null) return "";
  const index = firstIndex(table.starts.length, (i) => (table.starts[i] as number) <= vaddr) - 1;
  return index >= 0 && vaddr < (table.ends[index] as number) ? (table.names[index] ?? "") : "";
}

/** Names instructions; each file is read once. */
export function codeNamer(mappings: readonly MappingRow[], originNs: bigint): (address: CodeAddress) => CodeName {
  const code = mappings.filter((row) => (row.prot & PROT_EXEC) !== 0 && row.path !== null);
  const index = placeIndex(
    code.map((row) => ({
      pid: row.pid,
      begin: Number(row.addr),
      end: Number(row.addr + row.size_bytes),
      birth_ns: Number(row.since_ns - originNs),
      death_ns: row.death_ns === null ? Number.POSITIVE_INFINITY : Number(row.death_ns - originNs),
    })),
  );
  const objects = new Map<string, FunctionTable | null>();
  return (address) => {
    const row = code[index.find(address.pid, Number(address.ip), address.first_ns)];
    if (row === undefined || row.path === null) return { dso: "", symbol: "" };
    if (row.mapping_kind !== "file" || row.file_offset_bytes === null) return { dso: row.path, symbol: "" };
    const key = `${row.path}\0${row.inode}`;
    let table = objects.get(key);
    if (table === undefined) {
      table = openObject(row.path, row.inode);
      objects.set(key, table);
    }
    const offset = Number(row.file_offset_bytes + (address.ip - row.addr));
    return { dso: row.path, symbol: table === null ? "" : symbolAt(table, offset) };
  };
}
