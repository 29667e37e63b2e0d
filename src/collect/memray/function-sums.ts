/** Sums by the function that allocated: what it gave out, what of it lives, and the most that lived at one moment. */
import { ALLOCATORS } from "./format/allocator.ts";

/** Exact sums, of one function or of all. */
export interface AllocationSums {
  readonly allocations: number;
  readonly allocatedBytes: number;
  readonly liveBytes: number;
  readonly liveAllocations: number;
  /** Most bytes alive at one moment. */
  readonly peakBytes: number;
}

export interface FunctionSums {
  /** Counts an allocation; `kind` is an index of ALLOCATORS. */
  count(kind: number, bytes: number): void;
  /** Bytes that live from now on, in so many allocations more. */
  begin(kind: number, bytes: number, allocations: number): void;
  /** Bytes that live no more, in so many allocations less. */
  end(kind: number, bytes: number, allocations: number): void;
  /** By the index of ALLOCATORS. */
  totals(): AllocationSums[];
}

/** Nothing was given out. */
export function openFunctionSums(): FunctionSums {
  const counted = new Float64Array(ALLOCATORS.length);
  const asked = new Float64Array(ALLOCATORS.length);
  const bytesAlive = new Float64Array(ALLOCATORS.length);
  const alive = new Float64Array(ALLOCATORS.length);
  const most = new Float64Array(ALLOCATORS.length);
  return {
    count(kind, bytes) {
      counted[kind] = (counted[kind] ?? 0) + 1;
      asked[kind] = (asked[kind] ?? 0) + bytes;
    },
    begin(kind, bytes, allocations) {
      const now = (bytesAlive[kind] ?? 0) + bytes;
      bytesAlive[kind] = now;
      alive[kind] = (alive[kind] ?? 0) + allocations;
      if (now > (most[kind] ?? 0)) most[kind] = now;
    },
    end(kind, bytes, allocations) {
      bytesAlive[kind] = (bytesAlive[kind] ?? 0) - bytes;
      alive[kind] = (alive[kind] ?? 0) - allocations;
    },
    totals: () =>
      ALLOCATORS.map((_, i) => ({
        allocations: counted[i] ?? 0,
        allocatedBytes: asked[i] ?? 0,
        liveBytes: bytesAlive[i] ?? 0,
        liveAllocations: alive[i] ?? 0,
        peakBytes: most[i] ?? 0,
      })),
  };
}
