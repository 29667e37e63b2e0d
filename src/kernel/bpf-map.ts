/** A BPF map: element calls for set-up, a shared mapping for everything hot. */
import { MrmTraceError } from "../errors.ts";
import { addressOf, stableBytes } from "./foreign-memory.ts";
import { type Handle, libbpf } from "./libbpf.ts";
import { errno, errnoName } from "./libc.ts";
import { type Mapped, mapFd } from "./mapped.ts";

const ENOENT = 2;

export interface BpfMap {
  readonly fd: number;
  readonly name: string;
  readonly keyBytes: number;
  readonly valueBytes: number;
  readonly maxEntries: number;
  /** Maps an array map (BPF_F_MMAPABLE) read-write: element i at i * valueBytes rounded up to 8. */
  mmap(): Mapped;
  /** @throws MrmTraceError environment */
  update(key: Uint8Array, value: Uint8Array): void;
  /** Fills `value`; false where the key is absent. */
  lookup(key: Uint8Array, value: Uint8Array): boolean;
  /** False where the key was absent. */
  delete(key: Uint8Array): boolean;
  /**
   * All elements of a hash map by one call: element i has its key at i * keyBytes and its value at i * valueBytes. What
   * comes or goes meanwhile may be among them or not. @throws MrmTraceError environment
   */
  elements(): { readonly count: number; readonly keys: DataView; readonly values: DataView };
}

/** Wraps a map of a loaded object. */
export function openMap(map: Handle, name: string): BpfMap {
  const lib = libbpf();
  const fd = lib.bpf_map__fd(map);
  const keyBytes = lib.bpf_map__key_size(map);
  const valueBytes = lib.bpf_map__value_size(map);
  const maxEntries = lib.bpf_map__max_entries(map);
  return {
    fd,
    name,
    keyBytes,
    valueBytes,
    maxEntries,
    mmap: () => mapFd(fd, Math.ceil(valueBytes / 8) * 8 * maxEntries, { write: true }),
    update(key, value) {
      if (lib.bpf_map_update_elem(fd, addressOf(key), addressOf(value), 0) === 0) return;
      const words = errnoName(errno());
      throw new MrmTraceError(
        "environment",
        `writing the BPF map ${name} failed: ${words}`,
        "trace fewer processes where it says E2BIG: the map is full",
      );
    },
    lookup: (key, value) => lib.bpf_map_lookup_elem(fd, addressOf(key), addressOf(value)) === 0,
    delete: (key) => lib.bpf_map_delete_elem(fd, addressOf(key)) === 0 || errno() !== ENOENT,
    elements() {
      const keys = stableBytes(keyBytes * maxEntries);
      const values = stableBytes(valueBytes * maxEntries);
      const count = stableBytes(4);
      const cursor = stableBytes(8);
      const counted = new DataView(count.buffer);
      counted.setUint32(0, maxEntries, true);
      const result = lib.bpf_map_lookup_batch(
        fd,
        null,
        addressOf(cursor),
        addressOf(keys),
        addressOf(values),
        addressOf(count),
        null,
      );
      // ENOENT says that there are no more.
      if (result !== 0 && result !== -ENOENT) {
        throw new MrmTraceError(
          "environment",
          `reading the BPF map ${name} failed: ${errnoName(-result)}`,
          "boot a kernel of Linux 5.8 or later",
        );
      }
      return {
        count: counted.getUint32(0, true),
        keys: new DataView(keys.buffer),
        values: new DataView(values.buffer),
      };
    },
  };
}

/** A u32 as the key or value of a map. */
export function u32Bytes(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(new ArrayBuffer(8));
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}
