import { dlopen, FFIType, ptr } from "bun:ffi";
import { afterAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { BpfMap } from "../../../src/kernel/bpf-map.ts";
import { onlineCpus } from "../../../src/kernel/cpus.ts";
import { PAGE_BYTES } from "../../../src/kernel/libc.ts";
import { openSideband } from "../../../src/kernel/mapping-names.ts";
import { openRingBuffer } from "../../../src/kernel/ringbuf.ts";

const SIZE = PAGE_BYTES;
const BUSY = 0x80000000;
const DISCARDED = 0x40000000;
/** A file of memory stands for the map: the consumer's page, the producer's page, the data twice. */
const folder = mkdtempSync("/dev/shm/mrm-ringbuf-");
afterAll(() => rmSync(folder, { recursive: true }));

function fakeRing() {
  const fd = openSync(join(folder, "ring"), "w+");
  ftruncateSync(fd, 2 * PAGE_BYTES + 2 * SIZE);
  let position = 0;
  const u64 = (value: number): Uint8Array => new Uint8Array(new BigUint64Array([BigInt(value)]).buffer);
  const map = { fd, name: "events", keyBytes: 0, valueBytes: 0, maxEntries: SIZE } as BpfMap;
  return {
    map,
    /** Appends a record; its header says `bits` beside the length. */
    push(bytes: readonly number[], bits = 0): number {
      const header = new Uint8Array(8);
      new DataView(header.buffer).setUint32(0, (bytes.length | bits) >>> 0, true);
      const record = new Uint8Array([...header, ...bytes]);
      const at = position % SIZE;
      writeSync(fd, record, 0, record.length, 2 * PAGE_BYTES + at);
      // The kernel maps the data a second time behind itself, so that what wraps is whole there.
      const beyond = at + record.length - SIZE;
      if (beyond > 0) writeSync(fd, record, record.length - beyond, beyond, 2 * PAGE_BYTES);
      position += Math.ceil(record.length / 8) * 8;
      writeSync(fd, u64(position), 0, 8, PAGE_BYTES);
      return 2 * PAGE_BYTES + at;
    },
    commit(at: number, length: number) {
      writeSync(fd, new Uint8Array(new Uint32Array([length]).buffer), 0, 4, at);
    },
    consumed(): number {
      return Number(new BigUint64Array(readFileSync(join(folder, "ring")).buffer.slice(0, 8))[0] ?? -1n);
    },
    get produced() {
      return position;
    },
    [Symbol.dispose]() {
      closeSync(fd);
    },
  };
}

function drained(reader: ReturnType<typeof openRingBuffer>): number[][] {
  const records: number[][] = [];
  reader.drain((view, offset, length) => {
    records.push(Array.from({ length }, (_, i) => view.getUint8(offset + i)));
  });
  return records;
}

describe("the reader of a ring buffer", () => {
  test("gives every committed record once, in order, and releases it", () => {
    using ring = fakeRing();
    using reader = openRingBuffer(ring.map);
    expect(drained(reader)).toEqual([]);
    ring.push([1, 2, 3]);
    ring.push([4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(drained(reader)).toEqual([
      [1, 2, 3],
      [4, 5, 6, 7, 8, 9, 10, 11, 12],
    ]);
    expect(ring.consumed()).toBe(ring.produced);
    expect(drained(reader)).toEqual([]);
  });

  test("skips a record that was given up, and waits at one that is being written", () => {
    using ring = fakeRing();
    using reader = openRingBuffer(ring.map);
    ring.push([1], DISCARDED);
    const at = ring.push([2], BUSY);
    ring.push([3]);
    expect(drained(reader)).toEqual([]);
    ring.commit(at, 1);
    expect(drained(reader)).toEqual([[2], [3]]);
  });

  test("says whether a drain would find something, whatever that is", () => {
    using ring = fakeRing();
    using reader = openRingBuffer(ring.map);
    expect(reader.pending()).toBe(false);
    ring.push([1]);
    expect(reader.pending()).toBe(true);
    drained(reader);
    expect(reader.pending()).toBe(false);
    ring.push([2], DISCARDED);
    const at = ring.push([3], BUSY);
    drained(reader);
    expect(reader.pending()).toBe(true);
    ring.commit(at, 1);
    expect(drained(reader)).toEqual([[3]]);
    expect(reader.pending()).toBe(false);
  });

  test("reads records that go over the end of the buffer, time after time", () => {
    using ring = fakeRing();
    using reader = openRingBuffer(ring.map);
    for (let i = 0; i < 500; i++) {
      const record = Array.from({ length: 100 }, (_, j) => (i + j) & 0xff);
      ring.push(record);
      expect(drained(reader)).toEqual([record]);
    }
    expect(ring.produced).toBeGreaterThan(10 * SIZE);
  });

  test("maps every page once, as each mapping counts as memory of the reader", () => {
    using ring = fakeRing();
    using reader = openRingBuffer(ring.map);
    const mapped = readFileSync("/proc/self/maps", "utf8")
      .split("\n")
      .filter((line) => /mrm-ringbuf/.test(line));
    const bytes = mapped.map((line) => {
      const [from, to] = (line.split(" ")[0] ?? "").split("-").map((word) => Number.parseInt(word, 16));
      return (to ?? 0) - (from ?? 0);
    });
    expect(bytes.reduce((sum, n) => sum + n, 0)).toBe(2 * PAGE_BYTES + SIZE);
    expect(reader.pending()).toBe(false);
  });

  test("stops at a record longer than the buffer, which no kernel writes", () => {
    using ring = fakeRing();
    using reader = openRingBuffer(ring.map);
    const at = ring.push([1]);
    ring.commit(at, SIZE + 1);
    expect(drained(reader)).toEqual([]);
  });
});

const { setrlimit, getrlimit } = dlopen("libc.so.6", {
  setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
  getrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
}).symbols;

/** False for the fd by which the folder itself was read. */
function isOpen(fd: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`) !== "";
  } catch {
    return false;
  }
}

/** Runs `act` while this process may open `free` more files. */
function withFreeFds<T>(free: number, act: () => T): T {
  const RLIMIT_NOFILE = 7;
  const before = new BigUint64Array(new ArrayBuffer(16));
  getrlimit(RLIMIT_NOFILE, ptr(before));
  const used = new Set(readdirSync("/proc/self/fd").filter(isOpen).map(Number));
  let limit = 0;
  for (let left = free; left > 0 || used.has(limit); limit++) if (!used.has(limit)) left -= 1;
  const lowered = new BigUint64Array(new ArrayBuffer(16));
  lowered.set([BigInt(limit), before[1] ?? 0n]);
  try {
    setrlimit(RLIMIT_NOFILE, ptr(lowered));
    return act();
  } finally {
    setrlimit(RLIMIT_NOFILE, ptr(before));
  }
}

const openFds = (): number => readdirSync("/proc/self/fd").length;
const kernelMappings = (): number =>
  readFileSync("/proc/self/maps", "utf8")
    .split("\n")
    .filter((line) => /perf_event|mrm-ringbuf/.test(line)).length;

describe("what could not be opened wholly", () => {
  test("leaves no event and no mapping of the side band behind", () => {
    const before = [openFds(), kernelMappings()];
    // One event too few: that of the last CPU is refused.
    const free = onlineCpus().length - 1;
    expect(() => withFreeFds(free, () => openSideband(process.pid)[Symbol.dispose]())).toThrow();
    expect([openFds(), kernelMappings()]).toEqual(before);
  });

  test("leaves no mapping of a ring buffer behind", () => {
    using ring = fakeRing();
    const before = kernelMappings();
    // The data cannot be mapped: it is said to be larger than any address space.
    expect(() => openRingBuffer({ ...ring.map, maxEntries: 2 ** 50 })).toThrow(/mapping/);
    expect(kernelMappings()).toBe(before);
  });
});
