/** Names of mappings from perf's side band: a dummy event per CPU records every executable and file mapping with its path. */
import { type Pointer, read } from "bun:ffi";
import { onlineCpus } from "./cpus.ts";
import { type Fd, PAGE_BYTES } from "./libc.ts";
import { type Mapped, mapFd } from "./mapped.ts";
import { IOC, PERF_TYPE, type PerfAttr, perfEventOpen, perfIoctl, SAMPLE, SOFTWARE } from "./perf-event.ts";

/** 512 KiB for each CPU, about 4,500 names: more than that is refused to a user who may not lock memory. */
const LEAST_DATA_PAGES = 128;
/** What all CPUs share where it may be had, and the most for one: 36,000 names, as of 200 threads that start at once. */
const SHARED_DATA_PAGES = 4096;
const MOST_DATA_PAGES = 1024;
/** A record with the longest path. */
const LONGEST_RECORD = 4096 + 256;
const DATA_HEAD = 1024;
const DATA_TAIL = 1032;
const RECORD = { mmap: 1, lost: 2, mmap2: 10 } as const;
const MISC_KERNEL_MODE = 1;
const MISC_MODE_MASK = 7;
/** Bytes of the trailer that sample_id_all adds for TID | TIME | CPU. */
const TRAILER_BYTES = 24;

/** One mapping with a name, when it was made. */
export interface NamedMapping {
  readonly timestamp_ns: bigint;
  readonly pid: number;
  readonly tid: number;
  readonly addr: bigint;
  readonly size_bytes: bigint;
  readonly file_offset_bytes: bigint;
  readonly dev: number;
  readonly inode: bigint;
  readonly prot: number;
  readonly flags: number;
  readonly path: string;
}

export interface Sideband extends Disposable {
  /** True where something has come since the last drain. */
  pending(): boolean;
  /** What has come since the last call, CPU by CPU. */
  drain(): NamedMapping[];
  /** Records that perf says it lost, and bytes that were no record. */
  readonly lost: number;
  /** True where a buffer was found full: how many were lost it says with the next record that it has room for. */
  readonly isFull: boolean;
  readonly malformed: number;
  readonly seen: number;
}

const ATTR: PerfAttr = {
  type: PERF_TYPE.software,
  config: SOFTWARE.dummy,
  sample_period: 1,
  sample_type: SAMPLE.tid | SAMPLE.time | SAMPLE.cpu,
  flags: ["inherit", "mmap", "mmap_data", "mmap2", "task", "watermark", "sample_id_all", "use_clockid"],
  wakeup: 1 << 20,
  clockid: 1,
};
/** The same of a whole CPU, which inherits nothing and need not be told of births and deaths. */
const CPU_ATTR: PerfAttr = { ...ATTR, flags: ATTR.flags.filter((flag) => flag !== "inherit" && flag !== "task") };

/**
 * A MMAP2 record (include/uapi/linux/perf_event.h): addr at 16, len 24, pgoff 32, maj 40, min 44, ino 48, prot 64,
 * flags 68, path from 72, then the trailer. Null where it cannot be one.
 */
export function decodeMmap2(view: DataView): NamedMapping | null {
  const size = view.byteLength;
  if (size < 72 + TRAILER_BYTES) return null;
  let end = 72;
  const pathEnd = size - TRAILER_BYTES;
  while (end < pathEnd && view.getUint8(end) !== 0) end += 1;
  const path = new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + 72, end - 72));
  return {
    pid: view.getUint32(8, true),
    tid: view.getUint32(12, true),
    addr: view.getBigUint64(16, true),
    size_bytes: view.getBigUint64(24, true),
    file_offset_bytes: view.getBigUint64(32, true),
    dev: ((view.getUint32(40, true) << 20) | (view.getUint32(44, true) & 0xfffff)) >>> 0,
    inode: view.getBigUint64(48, true),
    prot: view.getUint32(64, true),
    flags: view.getUint32(68, true),
    path,
    timestamp_ns: view.getBigUint64(pathEnd + 8, true),
  };
}

interface Buffer {
  readonly map: Mapped;
  /** Bytes of its data. */
  readonly size: number;
  tail: number;
  isFull: boolean;
}

/** Pages for each CPU, a power of two. */
export function dataPages(cpus: number): number {
  const share = 2 ** Math.floor(Math.log2(SHARED_DATA_PAGES / cpus));
  return Math.max(LEAST_DATA_PAGES, Math.min(MOST_DATA_PAGES, share));
}

/** Maps the buffer of an event, with as many pages as the kernel allows. @throws MrmTraceError environment */
function mapBuffer(event: Fd, pages: number): Pick<Buffer, "map" | "size"> {
  const mapPages = (n: number) => ({
    map: mapFd(event.fd, PAGE_BYTES * (1 + n), { write: true }),
    size: PAGE_BYTES * n,
  });
  if (pages === LEAST_DATA_PAGES) return mapPages(pages);
  try {
    return mapPages(pages);
  } catch {
    // Beyond what may be locked, or more than there is in one piece: the least is always allowed.
    return mapPages(LEAST_DATA_PAGES);
  }
}

/**
 * Opens the side band of a process and all that it will fork; null for every process of the machine: an event that is
 * opened on a process follows only the thread whose number it is given, and what that one makes later.
 * @throws MrmTraceError environment
 */
export function openSideband(pid: number | null): Sideband {
  using opening = new DisposableStack();
  const buffers: Buffer[] = [];
  const cpus = onlineCpus();
  for (const cpu of cpus) {
    const event = opening.use(perfEventOpen(pid === null ? CPU_ATTR : ATTR, pid ?? -1, cpu, "names of mappings"));
    const { map, size } = mapBuffer(event, dataPages(cpus.length));
    opening.use(map);
    perfIoctl(event, IOC.enable);
    buffers.push({ map, size, tail: 0, isFull: false });
  }
  const owned = opening.move();
  let lost = 0;
  let malformed = 0;
  let seen = 0;

  const headOf = (map: Mapped): number => Number(read.u64(map.address as Pointer, DATA_HEAD));

  const drainOne = (reader: Buffer, out: NamedMapping[]): void => {
    const { size } = reader;
    const head = headOf(reader.map);
    if (reader.tail === head) return;
    reader.isFull = head - reader.tail > size - LONGEST_RECORD;
    const bytes = new Uint8Array(reader.map.buffer, PAGE_BYTES, size);
    while (reader.tail < head) {
      const start = reader.tail % size;
      const word = (i: number): number => bytes[(start + i) % size] ?? 0;
      const type = word(0) | (word(1) << 8) | (word(2) << 16) | (word(3) << 24);
      const misc = word(4) | (word(5) << 8);
      const length = word(6) | (word(7) << 8);
      if (length < 8 || reader.tail + length > head) {
        malformed += 1;
        reader.tail = head;
        break;
      }
      const record = new Uint8Array(length);
      const first = Math.min(length, size - start);
      record.set(bytes.subarray(start, start + first));
      record.set(bytes.subarray(0, length - first), first);
      reader.tail += length;
      const view = new DataView(record.buffer);
      if (type === RECORD.mmap2 && (misc & MISC_MODE_MASK) !== MISC_KERNEL_MODE) {
        seen += 1;
        const mapping = decodeMmap2(view);
        if (mapping) out.push(mapping);
        else malformed += 1;
      } else if (type === RECORD.lost && length >= 24) {
        lost += Number(view.getBigUint64(16, true));
      }
    }
    Atomics.store(new BigUint64Array(reader.map.buffer, DATA_TAIL, 1), 0, BigInt(reader.tail));
  };

  return {
    pending: () => buffers.some(({ map, tail }) => headOf(map) !== tail),
    drain() {
      const out: NamedMapping[] = [];
      for (const buffer of buffers) drainOne(buffer, out);
      return out;
    },
    get lost() {
      return lost;
    },
    get isFull() {
      return buffers.some(({ isFull }) => isFull);
    },
    get malformed() {
      return malformed;
    },
    get seen() {
      return seen;
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
