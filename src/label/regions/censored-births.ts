/** Tensors that were there when we came: they live from then on, not from the graph in which they were found. */
import type { MappingRow } from "../../regions/mapping-row.ts";
import type { TensorLifetime } from "../../regions/tensor-map.ts";

interface Range {
  readonly pid: number;
  readonly addr: bigint;
  readonly size_bytes: bigint;
}

const overlap = (a: Range, b: Range): boolean =>
  a.pid === b.pid && a.addr < b.addr + b.size_bytes && b.addr < a.addr + a.size_bytes;

/**
 * Moves a birth that nobody saw to the first look at the mapping around it, where that mapping was there before the look
 * too: back, as whatever the engine placed since was told by a probe; or on, where a graph told of it a moment before the
 * first look at its process. Where another tensor held the bytes in between, nothing is moved.
 */
export function sinceFirstLook(lives: readonly TensorLifetime[], mappings: readonly MappingRow[]): TensorLifetime[] {
  const there = mappings.filter((row) => row.birth_censored);
  const looks = new Map<number, bigint>();
  for (const { pid, since_ns } of there) {
    const earlier = looks.get(pid);
    if (earlier === undefined || since_ns < earlier) looks.set(pid, since_ns);
  }
  const ended = lives.filter(({ death_ns }) => death_ns !== null);
  return lives.map((life) => {
    if (!life.birth_censored) return life;
    const look_ns = looks.get(life.pid);
    const found_ns = look_ns !== undefined && look_ns > life.birth_ns ? look_ns : life.birth_ns;
    if (life.death_ns !== null && life.death_ns <= found_ns) return life;
    const around = there.find(
      (row) => overlap(row, life) && row.since_ns <= found_ns && (row.death_ns === null || row.death_ns > found_ns),
    );
    if (around === undefined) return life;
    const before = ended.some((other) => overlap(other, life) && (other.death_ns ?? 0n) <= life.birth_ns);
    return before ? life : { ...life, birth_ns: around.since_ns };
  });
}
