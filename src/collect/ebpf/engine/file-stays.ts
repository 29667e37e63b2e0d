/** How long processes held a file of weights mapped, and how long they went on without it: who did so has copied it. */
import { formatNs } from "../../../units.ts";

export interface FileStays {
  mapped(pid: number, path: string, time_ns: bigint): void;
  unmapped(pid: number, path: string, time_ns: bigint): void;
  /** The process ended, or began another program. */
  ended(pid: number, time_ns: bigint): void;
  /**
   * A sentence for each file that was held for less time than its process went on without it.
   * @param now_ns CLOCK_MONOTONIC
   * @param areNamed whether an engine told weights by name that no file names
   */
  copies(now_ns: bigint, areNamed?: boolean): string[];
}

interface Stay {
  readonly path: string;
  /** Mappings of it that are there. */
  mappings: number;
  since_ns: bigint;
  held_ns: bigint;
  gone_ns: bigint;
  ended_ns: bigint | null;
}

export function fileStays(): FileStays {
  const stays: Stay[] = [];
  const live = new Map<string, Stay>();
  return {
    mapped(pid, path, time_ns) {
      const key = `${pid}/${path}`;
      const stay = live.get(key) ?? { path, mappings: 0, since_ns: 0n, held_ns: 0n, gone_ns: 0n, ended_ns: null };
      if (!live.has(key)) stays.push(stay);
      live.set(key, stay);
      if (stay.mappings === 0) stay.since_ns = time_ns;
      stay.mappings += 1;
    },
    unmapped(pid, path, time_ns) {
      const stay = live.get(`${pid}/${path}`);
      if (stay === undefined || stay.mappings === 0) return;
      stay.mappings -= 1;
      if (stay.mappings > 0) return;
      stay.held_ns += time_ns - stay.since_ns;
      stay.gone_ns = time_ns;
    },
    ended(pid, time_ns) {
      for (const [key, stay] of live) {
        if (!key.startsWith(`${pid}/`)) continue;
        stay.ended_ns = time_ns;
        live.delete(key);
      }
    },
    copies(now_ns, areNamed = false) {
      return stays.flatMap(({ path, mappings, held_ns, gone_ns, ended_ns }) => {
        const without_ns = (ended_ns ?? now_ns) - gone_ns;
        if (mappings > 0 || without_ns <= held_ns) return [];
        const times = `for ${formatNs(Number(held_ns))}, and its process went on for ${formatNs(Number(without_ns))} without it`;
        const where = areNamed
          ? "those that have names have them from its program"
          : "which of them lies where is not identifiable";
        return [`${path} was mapped ${times}: its tensors were copied, and ${where}`];
      });
    },
  };
}
