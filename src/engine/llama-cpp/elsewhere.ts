/** What another backend of ggml keeps in memory of its own, such as that of a graphics card: it is named, and nobody looks at it. */
import type { DataClass, TensorUsage } from "../../schema/words.ts";
import { formatBytes, formatCounted } from "../../units.ts";
import type { LiveTensor } from "../engine.ts";

/** A tensor at an address of the backend's own. */
type Noted = Pick<LiveTensor, "addr" | "size_bytes"> & { readonly region_type: DataClass | null };

export interface Elsewhere {
  /** A buffer of which it is known that `backend` keeps it. */
  keep(handle: bigint, backend: string, sizeBytes: number, usage: TensorUsage): void;
  has(handle: bigint): boolean;
  /** A tensor in one of its buffers; of others nothing is noted. @returns whether it is news */
  note(handle: bigint, tensor: Noted): boolean;
  use(handle: bigint, usage: TensorUsage): void;
  /** False for a buffer that it does not have. */
  free(handle: bigint): boolean;
  /** What lies there, and that no figure has it; empty where nothing does. */
  untold(): string[];
}

interface Buffer {
  readonly backend: string;
  readonly sizeBytes: number;
  usage: TensorUsage;
  /** By address; those of graphs take each other's places. */
  readonly tensors: Map<bigint, Noted>;
}

interface Held {
  bytes: number;
  tensors: number;
}

const NAMES = [
  ["weight", "weights"],
  ["kv_cache", "KV caches"],
  ["activation", "activations"],
] as const;
type Named = (typeof NAMES)[number][0];

/** Bytes and tensors of a class in a buffer; of what graphs compute, the whole buffer is meant. */
function heldIn({ usage, sizeBytes, tensors }: Buffer, region_type: Named): Held {
  if (region_type === "activation") return { bytes: usage === "compute" ? sizeBytes : 0, tensors: 0 };
  const some = [...tensors.values()].filter((tensor) => tensor.region_type === region_type);
  return { bytes: some.reduce((sum, tensor) => sum + tensor.size_bytes, 0), tensors: some.length };
}

/** Nothing yet. */
export function elsewhere(): Elsewhere {
  const buffers = new Map<bigint, Buffer>();
  /** The most that was there at once, by backend and class. */
  const most = new Map<string, Map<Named, Held>>();

  /** What is there now; looked at before something goes, and at the end. */
  function settle(): void {
    for (const backend of new Set([...buffers.values()].map((buffer) => buffer.backend))) {
      const classes = most.get(backend) ?? new Map<Named, Held>();
      most.set(backend, classes);
      for (const [region_type] of NAMES) {
        const now = { bytes: 0, tensors: 0 };
        for (const buffer of buffers.values()) {
          if (buffer.backend !== backend) continue;
          const held = heldIn(buffer, region_type);
          now.bytes += held.bytes;
          now.tensors += held.tensors;
        }
        if (now.bytes > (classes.get(region_type)?.bytes ?? 0)) classes.set(region_type, now);
      }
    }
  }

  return {
    keep(handle, backend, sizeBytes, usage) {
      buffers.set(handle, { backend, sizeBytes, usage, tensors: new Map() });
    },
    has: (handle) => buffers.has(handle),
    note(handle, tensor) {
      const buffer = buffers.get(handle);
      if (tensor.region_type !== "weight" && tensor.region_type !== "kv_cache") return false;
      if (buffer === undefined || buffer.tensors.has(tensor.addr)) return false;
      buffer.tensors.set(tensor.addr, tensor);
      return true;
    },
    use(handle, usage) {
      const buffer = buffers.get(handle);
      if (buffer !== undefined) buffer.usage = usage;
    },
    free(handle) {
      if (!buffers.has(handle)) return false;
      settle();
      return buffers.delete(handle);
    },
    untold() {
      settle();
      return [...most].flatMap(([backend, classes]) => {
        const parts = NAMES.flatMap(([region_type, name]) => {
          const held = classes.get(region_type);
          if (held === undefined) return [];
          const count = held.tensors === 0 ? "" : ` (${formatCounted(held.tensors, "tensor")})`;
          return [`${name} of ${formatBytes(held.bytes)}${count}`];
        });
        if (parts.length === 0) return [];
        return [`not watched, in memory of the ${backend} backend: ${parts.join(", ")}`];
      });
    },
  };
}
