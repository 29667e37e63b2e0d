/** Reader of a BPF_MAP_TYPE_RINGBUF by polling: for rare records of any length (kernel/bpf/ringbuf.c has the layout). */
import { type Pointer, read } from "bun:ffi";
import type { BpfMap } from "./bpf-map.ts";
import { PAGE_BYTES } from "./libc.ts";
import { mapFd } from "./mapped.ts";

const BUSY = 0x80000000;
const DISCARDED = 0x40000000;
const HEADER_BYTES = 8;

export interface RingBufferReader extends Disposable {
  /** True where something has come since the last drain. */
  pending(): boolean;
  /** Calls `take(view, offset, length)` for every committed record; the bytes are valid during the call only. */
  drain(take: (view: DataView, offset: number, length: number) => void): number;
}

/** Maps a ring buffer. @throws MrmTraceError environment */
export function openRingBuffer(map: BpfMap): RingBufferReader {
  const size = map.maxEntries;
  using opening = new DisposableStack();
  const consumer = opening.use(mapFd(map.fd, PAGE_BYTES, { write: true }));
  // Once, though the kernel would show the data twice in a row: pages that are mapped twice count twice as our memory.
  const producer = opening.use(mapFd(map.fd, PAGE_BYTES + size, { offset_bytes: PAGE_BYTES, write: false }));
  const owned = opening.move();
  const consumed = new BigUint64Array(consumer.buffer, 0, 1);
  const view = new DataView(producer.buffer, PAGE_BYTES, size);
  const data = new Uint8Array(producer.buffer, PAGE_BYTES, size);
  let whole = new Uint8Array(0);
  /** Puts together a record of which the rest lies at the begin of the data. */
  const joined = (from: number, length: number): DataView => {
    if (whole.length < length) whole = new Uint8Array(length);
    whole.set(data.subarray(from, size));
    whole.set(data.subarray(0, from + length - size), size - from);
    return new DataView(whole.buffer);
  };
  let position = Number(consumed[0] ?? 0n);
  // An opaque read: Atomics on a read-only mapping would fault, a plain load would be hoisted.
  const produced = (): number => Number(read.u64(producer.address as Pointer, 0));
  return {
    pending: () => produced() !== position,
    drain(take) {
      const end = produced();
      let records = 0;
      while (position < end) {
        const start = position % size;
        const word = read.u32((producer.address + PAGE_BYTES + start) as Pointer, 0);
        if (word & BUSY) break;
        const length = word & ~(BUSY | DISCARDED);
        if (length > size) break;
        if (!(word & DISCARDED)) {
          // Headers lie at multiples of 8 bytes, as does the end: they are never in two pieces.
          const from = start + HEADER_BYTES;
          if (from + length <= size) take(view, from, length);
          else take(joined(from, length), 0, length);
          records += 1;
        }
        position += Math.ceil((length + HEADER_BYTES) / 8) * 8;
        Atomics.store(consumed, 0, BigInt(position));
      }
      return records;
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
