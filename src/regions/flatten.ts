/** One form for a rebuilt map and for /proc/PID/maps, and the difference between two of them. */
import { formatBytes } from "../units.ts";
import { isShared, type MappingRow, mappingKindOf, observedFlags } from "./mapping-row.ts";
import { parseProcMaps } from "./proc-maps.ts";

/** Addresses [from, to) with one protection and one backing; neighbours that continue each other are one range. */
export interface FlatRange {
  readonly from: bigint;
  readonly to: bigint;
  readonly prot: number;
  readonly shared: boolean;
  /** 0 for private anonymous memory. */
  readonly inode: bigint;
  /** Offset of `from` in the file; 0 without one. */
  readonly offset: bigint;
}

function isContinued(left: FlatRange, right: FlatRange): boolean {
  return (
    left.to === right.from &&
    left.prot === right.prot &&
    left.shared === right.shared &&
    left.inode === right.inode &&
    (left.inode === 0n || left.offset + (left.to - left.from) === right.offset)
  );
}

function merged(ranges: readonly FlatRange[]): FlatRange[] {
  const out: FlatRange[] = [];
  for (const range of ranges) {
    const last = out.at(-1);
    if (last !== undefined && isContinued(last, range)) out[out.length - 1] = { ...last, to: range.to };
    else out.push(range);
  }
  return out;
}

/** Canonical ranges of a rebuilt map; what the kernel maps for itself (vdso, vvar, vsyscall, uprobes) is left out. */
export function flattenMaps(maps: readonly MappingRow[]): FlatRange[] {
  const ranges = maps
    .filter((row) => row.mapping_kind !== "vdso")
    .map((row) => ({
      from: row.addr,
      to: row.addr + row.size_bytes,
      prot: row.prot,
      shared: isShared(row.flags),
      inode: row.inode ?? 0n,
      offset: row.inode === null ? 0n : (row.file_offset_bytes ?? 0n),
    }));
  return merged(ranges.sort((a, b) => (a.from < b.from ? -1 : 1)));
}

/** Canonical ranges of /proc/PID/maps. */
export function flattenProcMaps(text: string): FlatRange[] {
  const { mappings } = parseProcMaps(text);
  const own = mappings.filter((m) => mappingKindOf(observedFlags(m.shared, m.inode, m.path), m.path) !== "vdso");
  return merged(
    own.map((m) => ({
      from: m.addr,
      to: m.addr + m.size_bytes,
      prot: m.prot,
      shared: m.shared,
      inode: m.inode,
      offset: m.inode === 0n ? 0n : m.file_offset_bytes,
    })),
  );
}

/** What a range says of [from, to), in the words of /proc/PID/maps. */
function describe(range: FlatRange | undefined, from: bigint): string {
  if (range === undefined) return "unmapped";
  const { prot, shared, inode } = range;
  const bits = `${prot & 1 ? "r" : "-"}${prot & 2 ? "w" : "-"}${prot & 4 ? "x" : "-"}${shared ? "s" : "p"}`;
  if (inode === 0n) return bits;
  return `${bits} inode ${inode} offset 0x${(range.offset + (from - range.from)).toString(16)}`;
}

/** Lines `from-to size: rebuilt ..., kernel ...`, one per run of addresses that differ; none when the maps are equal. */
export function diffRanges(rebuilt: readonly FlatRange[], kernel: readonly FlatRange[]): string[] {
  const edges = new Set<bigint>();
  for (const range of [...rebuilt, ...kernel]) edges.add(range.from).add(range.to);
  const sorted = [...edges].sort((a, b) => (a < b ? -1 : 1));
  const lines: string[] = [];
  let left = 0;
  let right = 0;
  for (let i = 0; i + 1 < sorted.length; i++) {
    const from = sorted[i] as bigint;
    const to = sorted[i + 1] as bigint;
    while (left < rebuilt.length && (rebuilt[left] as FlatRange).to <= from) left += 1;
    while (right < kernel.length && (kernel[right] as FlatRange).to <= from) right += 1;
    const ours = covering(rebuilt[left], from);
    const theirs = covering(kernel[right], from);
    const [a, b] = [describe(ours, from), describe(theirs, from)];
    if (a === b) continue;
    const size = formatBytes(Number(to - from));
    lines.push(`${from.toString(16)}-${to.toString(16)} ${size}: rebuilt ${a}, kernel ${b}`);
  }
  return lines;
}

function covering(range: FlatRange | undefined, from: bigint): FlatRange | undefined {
  return range !== undefined && range.from <= from ? range : undefined;
}

/** Difference between a rebuilt map (`mapsOf`) and the text of /proc/PID/maps of the same moment; empty when equal. */
export function diffAgainstProc(maps: readonly MappingRow[], procMapsText: string): string[] {
  return diffRanges(flattenMaps(maps), flattenProcMaps(procMapsText));
}
