/** Where the next token of each sequence will stand, by context: fed by batches, and by what changes a cache. */
import type { KvHead } from "../engine.ts";
import type { BatchRun } from "./decode-step.ts";
import { ENGINE_NAME } from "./probes.ts";

/** A run whose positions are known. */
export interface PlacedRun extends BatchRun {
  readonly position: number;
}

/** Positions of one sequence that an operation is about; a negative end is the sequence's. */
export interface Stretch {
  /** Negative for every sequence. */
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
}

interface Head {
  /** Position of the next token, by sequence. */
  readonly next: Map<number, number>;
  /** One sequence has filled the cache from its start, so that a token's row is its position. */
  isLinear: boolean;
  /** Begins of the last batches of one token per sequence, in ns. */
  begins: bigint[];
}

export interface CacheHeads {
  /** The one context of the process; null where there are none or several. */
  only(): bigint | null;
  /** The runs with the positions that the batch leaves to the engine: the next ones of their sequences. */
  place(context: bigint, runs: readonly BatchRun[]): PlacedRun[];
  /** A batch was carried out. @param runs null where they are not known */
  advance(context: bigint, runs: readonly PlacedRun[] | null, begin: bigint): void;
  clear(context: bigint): void;
  trim(context: bigint, stretch: Stretch): void;
  copy(context: bigint, from: number, sequence: number): void;
  keep(context: bigint, sequence: number): void;
  shift(context: bigint, stretch: Stretch, positions: number): void;
  /** What a sequence holds is not known any more; negative: all of them. */
  forget(context: bigint, sequence: number): void;
  free(context: bigint): void;
  tokenPeriodsNs(): number[];
  kvHeads(pid: number): KvHead[];
}

const PERIODS = 32;

/** The sequences of some runs. */
export function sequencesIn(runs: readonly BatchRun[]): Set<number> {
  return new Set(runs.flatMap(({ sequences }) => sequences));
}

/** No context yet. */
export function cacheHeads(): CacheHeads {
  const heads = new Map<bigint, Head>();

  function headOf(context: bigint): Head {
    let head = heads.get(context);
    if (!head) {
      head = { next: new Map(), isLinear: true, begins: [] };
      heads.set(context, head);
    }
    return head;
  }

  function named({ next }: Head, sequence: number): number[] {
    return sequence < 0 ? [...next.keys()] : [sequence];
  }

  return {
    only: () => (heads.size === 1 ? ([...heads.keys()][0] ?? null) : null),
    place(context, runs) {
      const next = new Map(headOf(context).next);
      return runs.map((run) => {
        const position = run.position ?? Math.max(0, ...run.sequences.map((sequence) => next.get(sequence) ?? 0));
        for (const sequence of run.sequences) next.set(sequence, position + run.tokens);
        return { ...run, position };
      });
    },
    advance(context, runs, begin) {
      const head = headOf(context);
      if (runs === null) {
        head.isLinear = false;
        return;
      }
      let tokens = 0;
      for (const run of runs) {
        tokens += run.tokens;
        for (const sequence of run.sequences) head.next.set(sequence, run.position + run.tokens);
      }
      if (head.next.size > 1 || !head.next.has(0)) head.isLinear = false;
      if (tokens !== sequencesIn(runs).size) return;
      head.begins.push(begin);
      if (head.begins.length > PERIODS + 1) head.begins.shift();
    },
    clear(context) {
      const head = headOf(context);
      head.next.clear();
      head.isLinear = true;
    },
    trim(context, { sequence, from, to: end }) {
      const head = headOf(context);
      for (const id of named(head, sequence)) {
        const next = head.next.get(id);
        if (next === undefined || from >= next) continue;
        if (end >= 0 && end < next) head.isLinear = false;
        else if (from <= 0) head.next.delete(id);
        else head.next.set(id, from);
      }
    },
    copy(context, from, sequence) {
      const head = headOf(context);
      head.isLinear = false;
      head.next.set(sequence, head.next.get(from) ?? 0);
    },
    keep(context, sequence) {
      const { next } = headOf(context);
      for (const id of [...next.keys()]) if (id !== sequence) next.delete(id);
    },
    shift(context, { sequence, from, to: end }, positions) {
      const head = headOf(context);
      head.isLinear = false;
      for (const id of named(head, sequence)) {
        const next = head.next.get(id);
        if (next === undefined || from >= next || (end >= 0 && end < next)) continue;
        head.next.set(id, Math.max(0, next + positions));
      }
    },
    forget(context, sequence) {
      const head = headOf(context);
      head.isLinear = false;
      for (const id of named(head, sequence)) head.next.delete(id);
    },
    free: (context) => void heads.delete(context),
    tokenPeriodsNs() {
      return [...heads.values()].flatMap(({ begins }) =>
        begins.slice(1).map((time, i) => Number(time - (begins[i] ?? time))),
      );
    },
    kvHeads: (pid) =>
      [...heads]
        .filter(([, { isLinear }]) => isLinear)
        .map(([context, { next }]) => ({
          engine: ENGINE_NAME,
          pid,
          context,
          next_row: next.get(0) ?? 0,
          sequences: next.size,
        })),
  };
}
