/** Records beside the samples: mappings and processes become rows of the mapping stream. */
import { emptyMappingEvent, type MappingEvent, observedFlags } from "../../../regions/mapping-row.ts";
import { MISC, RECORD, SAMPLE } from "./abi.ts";
import type { Bytes } from "./bytes.ts";

/** Fields at the end of a record, where `sample_id_all` asks for them. */
export interface Trailer {
  /** Length in bytes; 0 where there is none. */
  readonly size: number;
  /** Bytes from the trailer's start to the time; -1 where it has none. */
  readonly time: number;
}

/** The order is that of perf_event__output_id_sample in kernel/events/core.c. */
export function trailerOf(sampleType: number, sampleIdAll: boolean): Trailer {
  if (!sampleIdAll) return { size: 0, time: -1 };
  let size = 0;
  let time = -1;
  for (const bit of [SAMPLE.TID, SAMPLE.TIME, SAMPLE.ID, SAMPLE.STREAM_ID, SAMPLE.CPU, SAMPLE.IDENTIFIER]) {
    if (!(sampleType & bit)) continue;
    if (bit === SAMPLE.TIME) time = size;
    size += 8;
  }
  return { size, time };
}

/** Rows of one record, null where it is too short for its type, empty where it says nothing to us. */
export type SidebandReader = (record: Bytes, type: number, misc: number) => readonly MappingEvent[] | null;

const HEADER_BYTES = 8;
const PROT_EXEC = 4;
const PROT_READ = 1;
/** PATH_MAX: the kernel writes no longer name. */
const LONGEST_NAME = 4096;

interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Anonymous ranges that were seen of each process. The kernel reports a mapping that grew as a whole: only what is new
 * of it is born, and what perf cannot see, that a range was unmapped, is not invented.
 */
function createGrowth() {
  const rangesOf = new Map<number, Range[]>();
  let total = 0;
  return {
    forget(pid: number): void {
      total -= rangesOf.get(pid)?.length ?? 0;
      rangesOf.delete(pid);
    },
    /** The parts of a range that were not there. */
    fresh(pid: number, from: bigint, until: bigint): Range[] {
      const ranges = rangesOf.get(pid) ?? [];
      let rest: Range[] = [{ from, to: until }];
      for (const old of ranges) {
        rest = rest.flatMap((piece) => {
          if (old.to <= piece.from || old.from >= piece.to) return [piece];
          const left = { from: piece.from, to: old.from };
          const right = { from: old.to, to: piece.to };
          return [left, right].filter((part) => part.to > part.from);
        });
      }
      const merged = ranges.filter((old) => old.to < from || old.from > until);
      const touching = ranges.filter((old) => old.to >= from && old.from <= until);
      let low = from;
      let high = until;
      for (const old of touching) {
        if (old.from < low) low = old.from;
        if (old.to > high) high = old.to;
      }
      const kept = [...merged, { from: low, to: high }].slice(-MOST_RANGES);
      rangesOf.set(pid, kept);
      total += kept.length - ranges.length;
      if (total > MOST_RANGES_OF_ALL) {
        rangesOf.clear();
        total = 0;
      }
      return rest;
    },
  };
}
/** Ranges remembered of one process, and of all: beyond it, old ones are taken for new again. */
const MOST_RANGES = 4096;
const MOST_RANGES_OF_ALL = 1 << 16;

/** `now` gives the time of a record without one: that of the last record that had one. */
export function createSideband(trailer: () => Trailer, now: () => bigint): SidebandReader {
  const growth = createGrowth();

  function mapping(record: Bytes, type: number, misc: number, time_ns: bigint, end: number): MappingEvent[] | null {
    const isNew = type === RECORD.MMAP2;
    const nameAt = isNew ? 72 : 40;
    if (end <= nameAt) return null;
    const pid = record.u32(8);
    const addr = record.u64(16);
    const size_bytes = record.u64(24);
    if (pid === 0xffffffff || addr >> 63n !== 0n || size_bytes === 0n || addr + size_bytes > 1n << 63n) return [];
    const hasInode = isNew && (misc & MISC.MMAP_BUILD_ID) === 0;
    const inode = hasInode ? record.u64(48) : 0n;
    const name = record.text(nameAt, end);
    if (name.length > LONGEST_NAME) return null;
    const anonymous = name === "//anon" || name === "";
    const prot = isNew ? record.u32(64) : (misc & MISC.MMAP_DATA) !== 0 ? PROT_READ : PROT_READ | PROT_EXEC;
    const path = anonymous ? null : name;
    // A build id takes the place of the inode: the name alone says that there is a file.
    const isFile = path !== null && !path.startsWith("[");
    const shared = isNew && (record.u32(68) & 1) !== 0;
    const flags = observedFlags(shared, isFile && inode === 0n ? 1n : inode, path);
    const row: MappingEvent = {
      ...emptyMappingEvent("mmap", time_ns, pid),
      tid: record.u32(12),
      addr,
      size_bytes,
      prot: prot & 7,
      flags,
      file_offset_bytes: isFile ? record.u64(32) : null,
      dev: hasInode && inode !== 0n ? (record.u32(40) << 20) | record.u32(44) : null,
      inode: inode === 0n ? null : inode,
      path,
      result: addr,
      begin_ns: time_ns,
      end_ns: time_ns,
    };
    if (isFile) return [row];
    return growth.fresh(pid, addr, addr + size_bytes).map(({ from, to: until }) => ({
      ...row,
      addr: from,
      size_bytes: until - from,
      result: from,
    }));
  }

  return (record, type, misc) => {
    const { size, time } = trailer();
    const end = record.length - size;
    const stamped = time >= 0 && end >= HEADER_BYTES ? record.u64(end + time) : 0n;
    const time_ns = stamped === 0n ? now() : stamped;
    switch (type) {
      case RECORD.MMAP:
      case RECORD.MMAP2:
        return mapping(record, type, misc, time_ns, end);
      case RECORD.COMM: {
        if (end < 16) return null;
        const pid = record.u32(8);
        if ((misc & MISC.COMM_EXEC) === 0 || pid !== record.u32(12)) return [];
        const path = record.text(16, end);
        if (path.length > LONGEST_NAME) return null;
        growth.forget(pid);
        return [{ ...emptyMappingEvent("exec", time_ns, pid), path }];
      }
      case RECORD.FORK:
      case RECORD.EXIT: {
        if (record.length < 32) return null;
        const [pid, ppid, tid] = [record.u32(8), record.u32(12), record.u32(16)];
        const at_ns = record.u64(24) || time_ns;
        if (type === RECORD.EXIT) return pid === tid ? [emptyMappingEvent("exit", at_ns, pid)] : [];
        return pid === ppid ? [] : [{ ...emptyMappingEvent("fork", at_ns, ppid), child_pid: pid, flags: 0 }];
      }
      default:
        return [];
    }
  };
}
