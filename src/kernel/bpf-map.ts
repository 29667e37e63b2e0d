/** A BPF map: element calls for set-up, a shared mapping for everything hot. */
import { MrmTraceError } from "../errors.ts";
import { addressOf } from "./foreign-memory.ts";
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
  /** Keys of four bytes, as numbers, each once; what comes or goes meanwhile may be among them or not. */
  u32Keys(): Set<number>;
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
    u32Keys() {
      const found = new Set<number>();
      const key = u32Bytes(0);
      const next = u32Bytes(0);
      const view = new DataView(next.buffer);
      // A key that goes away while we stand on it takes us back to the first: hence a bound of steps.
      let from: Uint8Array | null = null;
      for (let steps = 0; steps < 2 * maxEntries; steps++) {
        if (lib.bpf_map_get_next_key(fd, from === null ? null : addressOf(from), addressOf(next)) !== 0) break;
        found.add(view.getUint32(0, true));
        key.set(next);
        from = key;
      }
      return found;
    },
  };
}

/** A u32 as the key or value of a map. */
export function u32Bytes(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(new ArrayBuffer(8));
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}
