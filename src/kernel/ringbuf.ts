/** Reader of a BPF_MAP_TYPE_RINGBUF by polling: for rare records of any length (kernel/bpf/ringbuf.c has the layout). */
import { type Pointer, read, toArrayBuffer } from "bun:ffi";
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
  // The data pages are mapped twice in a row, so that no record wraps.
  const producer = opening.use(mapFd(map.fd, PAGE_BYTES + 2 * size, { offset_bytes: PAGE_BYTES, write: false }));
  const owned = opening.move();
  const consumed = new BigUint64Array(consumer.buffer, 0, 1);
  const data = toArrayBuffer((producer.address + PAGE_BYTES) as Pointer, 0, 2 * size);
  const view = new DataView(data);
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
          take(view, start + HEADER_BYTES, length);
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
