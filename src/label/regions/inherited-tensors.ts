/** Tensors that a fork copied: the child's live from the fork on, not from the graph in which they were found. */
import type { TensorLifetime } from "../../regions/tensor-map.ts";

/** A process that was made with a copy of the memory of another one. */
export interface Fork {
  readonly parent: number;
  readonly child: number;
  readonly time_ns: bigint;
}

const isSame = (one: TensorLifetime, other: TensorLifetime): boolean =>
  one.addr === other.addr &&
  one.size_bytes === other.size_bytes &&
  one.engine === other.engine &&
  one.name === other.name;

const lived = ({ birth_ns, death_ns }: TensorLifetime, time_ns: bigint): boolean =>
  birth_ns <= time_ns && (death_ns === null || death_ns > time_ns);

const overlaps = (one: TensorLifetime, other: TensorLifetime): boolean =>
  one.pid === other.pid && one.addr < other.addr + other.size_bytes && other.addr < one.addr + one.size_bytes;

/**
 * Moves the birth of a child's tensor, which nobody saw, back to the fork, where its parent had the same one then and no
 * other held the bytes in between.
 * @param forks in order of time
 */
export function sinceFork(lives: readonly TensorLifetime[], forks: readonly Fork[]): TensorLifetime[] {
  const moved = [...lives];
  forks.forEach(({ parent, child, time_ns }, k) => {
    const again_ns = forks.slice(k + 1).find((later) => later.child === child)?.time_ns ?? null;
    const had = moved.filter((life) => life.pid === parent && lived(life, time_ns));
    moved.forEach((life, i) => {
      const { pid, birth_ns, birth_censored } = life;
      if (pid !== child || !birth_censored || birth_ns < time_ns || (again_ns !== null && birth_ns >= again_ns)) return;
      if (!had.some((one) => isSame(one, life))) return;
      // What ended since the fork, or holds the bytes still.
      const isTaken = moved.some(
        (other) =>
          other !== life &&
          overlaps(other, life) &&
          other.birth_ns <= birth_ns &&
          (other.death_ns === null || other.death_ns > time_ns),
      );
      if (!isTaken) moved[i] = { ...life, birth_ns: time_ns };
    });
  });
  return moved;
}
