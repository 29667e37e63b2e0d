/** Tensors that nobody saw placed, and that the graph of a step told of: they were there when that step began. */
import { type Slot, slotAt } from "../timeline/phase.ts";
import type { EngineRegion } from "./engine-regions.ts";

type Found = Pick<EngineRegion, "evidence" | "birth_censored" | "begin" | "end" | "birth_ns" | "death_ns">;

/**
 * Since when a tensor is known to be there, ns: since its step began, but not before its mapping, nor before what held its bytes was gone.
 * @param others the tensors of its process
 * @param slots of its process, empty where none are known
 * @param mapped_ns when its mapping came
 */
export function sinceItsStep(
  tensor: Found,
  others: readonly Found[],
  slots: readonly Slot[],
  mapped_ns: number,
): number {
  const { begin, end, birth_ns } = tensor;
  if (!tensor.birth_censored || tensor.evidence !== "engine_graph") return birth_ns;
  const slot = slots[slotAt(slots, birth_ns)];
  if (slot === undefined || slot.step === null) return birth_ns;
  let since = Math.max(slot.begin_ns, mapped_ns);
  for (const other of others) {
    const isBefore = other.birth_ns < birth_ns && other.begin < end && begin < other.end;
    if (isBefore && other.death_ns > since) since = other.death_ns;
  }
  return Math.min(since, birth_ns);
}
