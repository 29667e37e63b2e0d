/** How many bytes each step needs of KV rows, where it is told which steps needed each of them. */
import type { KvRowSample } from "../input/input.ts";

type Needing = readonly number[];
/** By the steps that needed rows: by how many bytes one of them needs more than the one before. */
type Changes = Map<Needing, Float64Array>;

/** The needs of rows that are noted one after the other. */
export interface RowNeeds {
  note(row: KvRowSample): void;
  /** @param add is given the begin of a step and bytes that it needed, several times perhaps */
  eachNeed(add: (begin_ns: number, size_bytes: number) => void): void;
}

function noted(changesOf: Changes, { needs = [], size_bytes }: KvRowSample): void {
  for (const { begins, from, until } of needs) {
    const changes = changesOf.get(begins) ?? new Float64Array(begins.length + 1);
    changesOf.set(begins, changes);
    changes[from] = (changes[from] ?? 0) + size_bytes;
    changes[until] = (changes[until] ?? 0) - size_bytes;
  }
}

function eachOf(changesOf: Changes, add: (begin_ns: number, size_bytes: number) => void): void {
  for (const [begins, changes] of changesOf) {
    let bytes = 0;
    for (const [i, begin_ns] of begins.entries()) {
      bytes += changes[i] ?? 0;
      add(begin_ns, bytes);
    }
  }
}

/** Rows that sequences may share are needed by a step as often as it has any of them: of the sequence that has most of them at least. */
export function rowNeeds(): RowNeeds {
  const certain: Changes = new Map();
  const shared = new Map<string, Map<number, Changes>>();
  return {
    note(row) {
      if (row.may_share === undefined) return noted(certain, row);
      const sequences = shared.get(row.may_share) ?? new Map<number, Changes>();
      shared.set(row.may_share, sequences);
      const changes = sequences.get(row.filling) ?? new Map();
      sequences.set(row.filling, changes);
      noted(changes, row);
    },
    eachNeed(add) {
      eachOf(certain, add);
      for (const sequences of shared.values()) {
        const most = new Map<number, number>();
        for (const changes of sequences.values()) {
          const mine = new Map<number, number>();
          eachOf(changes, (begin_ns, bytes) => mine.set(begin_ns, (mine.get(begin_ns) ?? 0) + bytes));
          for (const [begin_ns, bytes] of mine) most.set(begin_ns, Math.max(bytes, most.get(begin_ns) ?? 0));
        }
        for (const [begin_ns, bytes] of most) add(begin_ns, bytes);
      }
    },
  };
}
