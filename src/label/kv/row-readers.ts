/** Batches that need the rows of some sequences: those with one of them, where a layer looks back over a window those near enough. */
import type { ReadSpan } from "./kv-token.ts";

/** The sequences that have the same rows, and the batches with one of them. */
export interface Readers {
  /** From 1 on; another may have it when they are gone. */
  readonly number: number;
  readonly owners: readonly number[];
  readonly begins: number[];
  /** The first position that each of these batches has of them. */
  readonly firsts: number[];
  /** The least of each BLOCK of `firsts`. */
  readonly leasts: number[];
  /** Rows that they have. */
  rows: number;
  /** They have none any more: no batch is noted for them. */
  isGone: boolean;
}

export interface ReadersBySequence {
  /** Those of the sequences, which are in order. */
  of(owners: readonly number[]): Readers;
  /** Those of some sequences, and of one more that is none of them. */
  together(readers: Readers, sequence: number): Readers;
  /** Those without one; null where that was the only one. */
  without(readers: Readers, sequence: number): Readers | null;
  /** Those with a number; nobody for 0. */
  numbered(number: number): Readers;
  /** They have one more row. */
  hold(readers: Readers): void;
  /** They have one row less. */
  release(readers: Readers): void;
  /** A batch has tokens of a sequence, the first of them at a position. */
  note(sequence: number, position: number, begin_ns: number): void;
}

/** Of a row that is there no more. */
const NOBODY: Readers = { number: 0, owners: [], begins: [], firsts: [], leasts: [], rows: 0, isGone: true };

/** Batches that are passed over at once. */
const BLOCK = 256;

/** Makes another one of some readers and a sequence: once for rows that follow each other, of which there are many where a prefix is shared. */
function onceEach<T extends Readers | null>(make: (readers: Readers, sequence: number) => T) {
  let last: { readonly readers: Readers; readonly sequence: number; readonly made: T } | null = null;
  return (readers: Readers, sequence: number): T => {
    if (last?.readers !== readers || last.sequence !== sequence || last.made?.isGone === true)
      last = { readers, sequence, made: make(readers, sequence) };
    return last.made;
  };
}

/** None yet. */
export function readersBySequence(): ReadersBySequence {
  const byOwners = new Map<string, Readers>();
  const byOwner = new Map<number, Readers[]>();
  const byNumber: Readers[] = [];
  const free: number[] = [];

  function readersOf(owners: readonly number[]): Readers {
    const key = owners.join();
    const found = byOwners.get(key);
    if (found !== undefined) return found;
    const number = free.pop() ?? byNumber.length + 1;
    const made: Readers = { number, owners, begins: [], firsts: [], leasts: [], rows: 0, isGone: false };
    byNumber[number - 1] = made;
    byOwners.set(key, made);
    for (const owner of owners) {
      const mine = byOwner.get(owner);
      if (mine === undefined) byOwner.set(owner, [made]);
      else mine.push(made);
    }
    return made;
  }

  return {
    of: readersOf,
    together: onceEach(({ owners }, sequence) => readersOf([...owners, sequence].sort((one, other) => one - other))),
    without: onceEach(({ owners }, sequence) => {
      const rest = owners.filter((owner) => owner !== sequence);
      return rest.length === 0 ? null : readersOf(rest);
    }),
    numbered: (number) => byNumber[number - 1] ?? NOBODY,
    hold(readers) {
      readers.rows += 1;
    },
    release(readers) {
      readers.rows -= 1;
      if (readers.rows > 0) return;
      readers.isGone = true;
      free.push(readers.number);
      byOwners.delete(readers.owners.join());
      for (const owner of readers.owners) {
        const mine = byOwner.get(owner) ?? [];
        mine.splice(mine.indexOf(readers), 1);
        if (mine.length === 0) byOwner.delete(owner);
      }
    },
    note(sequence, position, begin_ns) {
      for (const { begins, firsts, leasts } of byOwner.get(sequence) ?? []) {
        if (begins.at(-1) !== begin_ns) firsts[begins.push(begin_ns) - 1] = position;
        const last = begins.length - 1;
        const block = Math.floor(last / BLOCK);
        firsts[last] = Math.min(firsts[last] ?? position, position);
        leasts[block] = Math.min(leasts[block] ?? position, position);
      }
    },
  };
}

export interface Needed {
  readonly spans: readonly ReadSpan[];
  /** Begin of the first batch behind the last that needs the row; null where the last of all needs it. */
  readonly passed_ns: number | null;
}

/**
 * Which batches need a row, of those from one place on.
 * @param last position whose token needs it last; those of a batch that begins behind it need it no more
 */
export function neededFrom({ begins, firsts, leasts }: Readers, from: number, last: number): Needed {
  const end = begins.length;
  if (last === Number.POSITIVE_INFINITY) return { spans: [{ begins, from, until: end }], passed_ns: null };
  const spans: { begins: readonly number[]; from: number; until: number }[] = [];
  for (let i = from; i < end; ) {
    const isWholeBlock = i % BLOCK === 0 && i + BLOCK <= end;
    if (isWholeBlock && (leasts[i / BLOCK] ?? 0) > last) {
      i += BLOCK;
      continue;
    }
    if ((firsts[i] ?? 0) <= last) {
      const span = spans.at(-1);
      if (span?.until === i) span.until = i + 1;
      else spans.push({ begins, from: i, until: i + 1 });
    }
    i += 1;
  }
  return { spans, passed_ns: begins[spans.at(-1)?.until ?? from] ?? null };
}
