/** KV rows of a labelled run as the metrics read them, one at a time: there may be millions. */
import { uint32List } from "../../columnar/growing-column.ts";
import type { KvRows, KvTensor } from "../../label/kv/kv-lifecycle.ts";
import type { KvRowSample, KvRowSamples } from "./input.ts";

/** Tensors of a room that follow each other and lose a token at the same time. */
interface Part {
  readonly death_ns: number;
  readonly size_bytes: number;
}

/** What batches write of a cache that moves: each copy is data of its own, which the next batch reads once at least, to make another. */
const copySample = (copy: KvRows["copies"][number]): KvRowSample => ({
  ...copy,
  total_reads: Number.isNaN(copy.last_read_ns) ? 0 : 1,
  writes: "once",
  is_copy: true,
});

/** The parts of a room for a token that is evicted at a time, or stays. */
function partsFor(tensors: readonly KvTensor[], evict_ns: number): Part[] {
  const parts: { death_ns: number; size_bytes: number }[] = [];
  let last: (typeof parts)[number] | undefined;
  for (const { death_ns, row_bytes } of tensors) {
    if (last !== undefined && Math.min(evict_ns, last.death_ns) === Math.min(evict_ns, death_ns)) {
      last.size_bytes += row_bytes;
      continue;
    }
    last = { death_ns, size_bytes: row_bytes };
    parts.push(last);
  }
  return parts;
}

/** Numbers of the parts that a room has for each token: nearly all tensors of one are there for the same time. */
function partNumbers({ tensors, rooms }: Pick<KvRows, "tensors" | "rooms">) {
  const parts: Part[] = [];
  const put = (some: readonly Part[]): readonly number[] => some.map((part) => parts.push(part) - 1);
  const members = rooms.map((room) => room.flatMap((k) => tensors[k] ?? []));
  /** By how many different ends of its tensors are before that of the token. */
  const found = rooms.map(() => new Map<number, readonly number[]>());
  const deaths = members.map((some) => [...new Set(some.map(({ death_ns }) => death_ns))]);
  return {
    parts,
    numbersFor(room: number, evict_ns: number): readonly number[] {
      const earlier = (deaths[room] ?? []).reduce((sum, death_ns) => sum + (death_ns < evict_ns ? 1 : 0), 0);
      let numbers = found[room]?.get(earlier);
      if (numbers === undefined) {
        numbers = put(partsFor(members[room] ?? [], evict_ns));
        found[room]?.set(earlier, numbers);
      }
      return numbers;
    },
  };
}

/** KV rows of the run: a token has one in each cache tensor, most of them with one life; of caches that move, their copies. */
export function kvRowSamples(rows: Pick<KvRows, "tokens" | "tensors" | "rooms" | "roomOf" | "copies">): KvRowSamples {
  const { tokens, roomOf, copies } = rows;
  const { parts, numbersFor } = partNumbers(rows);
  const [placeList, partList] = [uint32List(), uint32List()];
  for (let t = 0; t < tokens.length; t++) {
    if (tokens.origin(t).is_moved) continue;
    const evict_ns = tokens.evict_ns(t) ?? Number.POSITIVE_INFINITY;
    for (const part of numbersFor(roomOf[t] as number, evict_ns)) {
      placeList.push(t);
      partList.push(part);
    }
  }
  const [places, partOf] = [placeList.values(), partList.values()];

  /** One that reads what is asked of it, at the place to which it was set. */
  function cursor() {
    let place = 0;
    let part: Part = { death_ns: 0, size_bytes: 0 };
    const row = {
      get write_ns() {
        return tokens.write_ns(place);
      },
      get is_written() {
        return tokens.origin(place).is_written;
      },
      get last_read_ns() {
        return tokens.last_read_ns(place) ?? Number.NaN;
      },
      get evict_ns() {
        const evict_ns = Math.min(tokens.evict_ns(place) ?? Number.POSITIVE_INFINITY, part.death_ns);
        return Number.isFinite(evict_ns) ? evict_ns : Number.NaN;
      },
      get total_reads() {
        return tokens.total_reads(place);
      },
      get needs() {
        return tokens.reads(place);
      },
      get size_bytes() {
        return part.size_bytes;
      },
      get filling() {
        return tokens.origin(place).filling;
      },
      get writes() {
        return tokens.writes(place);
      },
      get may_share() {
        return tokens.origin(place).may_share;
      },
    };
    return (i: number): KvRowSample | undefined => {
      const found = places[i];
      if (found === undefined) {
        const copy = copies[i - places.length];
        return copy === undefined ? undefined : copySample(copy);
      }
      place = found;
      part = parts[partOf[i] as number] as Part;
      return row as KvRowSample;
    };
  }

  const length = places.length + copies.length;
  return {
    length,
    at: cursor(),
    *[Symbol.iterator]() {
      const sample = cursor();
      for (let i = 0; i < length; i++) yield sample(i) as KvRowSample;
    },
  };
}
