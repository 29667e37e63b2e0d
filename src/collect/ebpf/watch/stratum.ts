/** Strata: the parts of memory that are drawn from separately, because they are used differently. */

import type { RegionType } from "../../../schema/words.ts";

export interface StratumFacts {
  readonly region_type: RegionType;
  /** Storage type, such as q8_0. */
  readonly tensor_type: string | null;
  /** Layer and K or V for a cache, such as layer3.k. */
  readonly logical_id: string | null;
  /** heap, stack, anon, file, shmem or vdso. */
  readonly mapping_kind: string | null;
}

/**
 * The stratum of a region, such as weight/q8_0, kv_cache/k, activation or runtime/heap; null where no watch
 * is worth a register.
 */
export function stratumOf(facts: StratumFacts): string | null {
  const { region_type, tensor_type, logical_id, mapping_kind } = facts;
  if (mapping_kind === "vdso") return null;
  switch (region_type) {
    case "weight":
      return `weight/${tensor_type ?? "unknown"}`;
    case "kv_cache":
      return `kv_cache/${logical_id?.split(".").at(-1) ?? "unknown"}`;
    case "activation":
      return "activation";
    default:
      return `${region_type}/${mapping_kind ?? "unknown"}`;
  }
}
