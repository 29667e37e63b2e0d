/** Tensors that were there when we came: they live from then on, not from the graph in which they were found. */
import type { MappingRow } from "../regions/mapping-row.ts";
import type { TensorLifetime } from "../regions/tensor-map.ts";

interface Range {
  readonly pid: number;
  readonly addr: bigint;
  readonly size_bytes: bigint;
}

const overlap = (a: Range, b: Range): boolean =>
  a.pid === b.pid && a.addr < b.addr + b.size_bytes && b.addr < a.addr + a.size_bytes;

/**
 * Moves a birth that nobody saw back to the first look at the mapping around it, where that mapping was there before the
 * look too: whatever the engine placed since was told by a probe. Where another tensor held the bytes in between, nothing
 * is moved.
 */
export function sinceFirstLook(lives: readonly TensorLifetime[], mappings: readonly MappingRow[]): TensorLifetime[] {
  const there = mappings.filter((row) => row.birth_censored);
  const ended = lives.filter(({ death_ns }) => death_ns !== null);
  return lives.map((life) => {
    if (!life.birth_censored) return life;
    const around = there.find(
      (row) =>
        overlap(row, life) && row.since_ns <= life.birth_ns && (row.death_ns === null || row.death_ns > life.birth_ns),
    );
    if (around === undefined) return life;
    const before = ended.some((other) => overlap(other, life) && (other.death_ns ?? 0n) <= life.birth_ns);
    return before ? life : { ...life, birth_ns: around.since_ns };
  });
}
