/** Tensors that were there when we came: they live from then on, not from the graph in which they were found. */
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import { CENSORED, goneNs, type Places } from "./places.ts";

interface Range {
  readonly pid: number;
  readonly addr: bigint;
  readonly size_bytes: bigint;
}

/** A mapping that was there before we looked: since when, and until when, it was seen at its address. */
export interface OldMapping extends Range {
  readonly since_ns: bigint;
  readonly death_ns: bigint | null;
}

const overlap = (a: Range, b: Range): boolean =>
  a.pid === b.pid && a.addr < b.addr + b.size_bytes && b.addr < a.addr + a.size_bytes;

/**
 * The mappings that were there before we looked.
 * @param pids processes of which they are wanted
 */
export function oldMappings(places: Places, pids: ReadonlySet<number>, originNs: bigint): OldMapping[] {
  const found: OldMapping[] = [];
  for (let row = 0; row < places.count; row++) {
    const pid = places.pid[row] as number;
    if (((places.censored[row] as number) & CENSORED.birth) === 0 || !pids.has(pid)) continue;
    const begin = places.begin[row] as number;
    const gone = goneNs(places, row);
    found.push({
      pid,
      addr: BigInt(begin),
      size_bytes: BigInt((places.end[row] as number) - begin),
      since_ns: originNs + BigInt(places.birth_ns[row] as number),
      death_ns: Number.isFinite(gone) ? originNs + BigInt(gone) : null,
    });
  }
  return found;
}

/**
 * Moves a birth that nobody saw to the first look at the mapping around it, where that mapping was there before the look
 * too: back, as whatever the engine placed since was told by a probe; or on, where a graph told of it a moment before the
 * first look at its process. Where another tensor held the bytes in between, nothing is moved.
 */
export function sinceFirstLook(lives: readonly TensorLifetime[], there: readonly OldMapping[]): TensorLifetime[] {
  const looks = new Map<number, bigint>();
  for (const { pid, since_ns } of there) {
    const earlier = looks.get(pid);
    if (earlier === undefined || since_ns < earlier) looks.set(pid, since_ns);
  }
  const ended = lives.filter(({ death_ns }) => death_ns !== null);
  return lives.map((life) => {
    // Who was seen to use it has not told of its placing: it may be younger than the look.
    if (!life.birth_censored || life.evidence === "operand") return life;
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
