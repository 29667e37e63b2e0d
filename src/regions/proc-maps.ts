/** Reads /proc/PID/maps (man 5 proc_pid_maps): text that the traced program can shape, so every line is checked. */
import { emptyMappingEvent, type MappingEvent } from "./mapping-row.ts";

export interface ProcMapping {
  readonly addr: bigint;
  readonly size_bytes: bigint;
  readonly prot: number;
  readonly shared: boolean;
  readonly file_offset_bytes: bigint;
  /** major << 20 | minor. */
  readonly dev: number;
  /** 0 for no file. */
  readonly inode: bigint;
  /** Path as the kernel gives it, " (deleted)" included, with its newlines back; null for none. */
  readonly path: string | null;
}

export interface ProcMaps {
  readonly mappings: readonly ProcMapping[];
  /** Lines that are no mapping, or that lie below the one before. */
  readonly bad_lines: number;
}

const HEX = "([0-9a-f]{1,16})";
const LINE = new RegExp(
  `^${HEX}-${HEX} ([r-])([w-])([x-])([ps]) ${HEX} ([0-9a-f]{1,3}):([0-9a-f]{1,5}) ([0-9]{1,20})(?: +([^ ].*)?)?$`,
  "s",
);
/** The kernel cuts paths at a page; the rest of a line is 73 characters. */
const MAX_LINE = 2 * 4096;
const ADDRESS_END = 1n << 64n;

function parseLine(line: string): ProcMapping | null {
  if (line.length > MAX_LINE) return null;
  const match = LINE.exec(line);
  if (match === null) return null;
  const [, from = "", endText = "", r, w, x, shared, offset = "", major = "", minor = "", inodeText = "", path] = match;
  const addr = BigInt(`0x${from}`);
  const end = BigInt(`0x${endText}`);
  const inode = BigInt(inodeText);
  if (end <= addr || inode >= ADDRESS_END) return null;
  return {
    addr,
    size_bytes: end - addr,
    prot: (r === "r" ? 1 : 0) | (w === "w" ? 2 : 0) | (x === "x" ? 4 : 0),
    shared: shared === "s",
    file_offset_bytes: BigInt(`0x${offset}`),
    dev: ((Number.parseInt(major, 16) << 20) | Number.parseInt(minor, 16)) >>> 0,
    inode,
    path: path === undefined ? null : path.replaceAll("\\012", "\n"),
  };
}

/**
 * What of a mapping lies at or above `end`: one that grew downward, over its neighbour, while the text was being read
 * is printed whole behind the old neighbour (kernels >= 6.17 read without the lock, fs/proc/task_mmu.c). Null for nothing.
 */
function beyond(mapping: ProcMapping, end: bigint): ProcMapping | null {
  const kernelBytes = end - mapping.addr;
  if (kernelBytes <= 0n) return mapping;
  if (kernelBytes >= mapping.size_bytes) return null;
  const file_offset_bytes = mapping.inode === 0n ? mapping.file_offset_bytes : mapping.file_offset_bytes + kernelBytes;
  return { ...mapping, addr: end, size_bytes: mapping.size_bytes - kernelBytes, file_offset_bytes };
}

/** Parses the text; lines that cannot be, or tell nothing new, are counted and left out. */
export function parseProcMaps(text: string): ProcMaps {
  const mappings: ProcMapping[] = [];
  let bad_lines = 0;
  let end = 0n;
  for (let position = 0; position < text.length; ) {
    const newline = text.indexOf("\n", position);
    const stop = newline < 0 ? text.length : newline;
    const mapping = parseLine(text.slice(position, stop));
    position = stop + 1;
    const fresh = mapping === null ? null : beyond(mapping, end);
    if (fresh === null) bad_lines += 1;
    else {
      end = fresh.addr + fresh.size_bytes;
      mappings.push(fresh);
    }
  }
  return { mappings, bad_lines };
}

/** Who was looked at, and when the reading began and ended. */
export interface Look {
  readonly pid: number;
  readonly exec_epoch: number;
  readonly begin_ns: bigint;
  readonly end_ns: bigint;
}

/** The rows of one snapshot: snapshot_begin, one snapshot per mapping, snapshot_end. */
export function snapshotEvents(text: string, look: Look): { rows: MappingEvent[]; bad_lines: number } {
  const { mappings, bad_lines } = parseProcMaps(text);
  const { pid, exec_epoch, begin_ns, end_ns } = look;
  const row = { ...emptyMappingEvent("snapshot_begin", begin_ns, pid), exec_epoch };
  const rows: MappingEvent[] = [
    row,
    ...mappings.map((m): MappingEvent => {
      const { addr, size_bytes, prot, file_offset_bytes, dev, inode, path } = m;
      const flags = m.shared ? 1 : 2;
      return { ...row, kind: "snapshot", addr, size_bytes, prot, flags, file_offset_bytes, dev, inode, path };
    }),
    { ...row, kind: "snapshot_end", timestamp_ns: end_ns },
  ];
  return { rows, bad_lines };
}
