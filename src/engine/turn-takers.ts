/** Activations take turns in the memory of their buffer: all of them, of those of one name and address the smallest and the largest. */
import type { LiveTensor } from "./engine.ts";

/** As many as any graph has; more are those of graphs that are gone. */
const MOST = 65_536;

export interface TurnTakers {
  /** @param key name and address */
  place(key: string, tensor: LiveTensor): void;
  all(): LiveTensor[];
}

/** The smallest and the largest of some tensors. */
function extremes(tensors: readonly LiveTensor[]): LiveTensor[] {
  const sorted = tensors.toSorted((a, b) => a.size_bytes - b.size_bytes);
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined) return [];
  return least.size_bytes === most.size_bytes ? [most] : [least, most];
}

/** None yet. */
export function turnTakers(): TurnTakers {
  const byKey = new Map<string, readonly LiveTensor[]>();
  return {
    place(key, tensor) {
      if (byKey.size >= MOST) byKey.clear();
      byKey.set(key, extremes([...(byKey.get(key) ?? []), tensor]));
    },
    all: () => [...byKey.values()].flat(),
  };
}
