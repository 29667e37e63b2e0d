/** Where the next token of each sequence will stand, by context: fed by batches, and by what changes a cache. */
import type { KvHead } from "../engine.ts";
import { periodsBetween } from "../probing/step-periods.ts";
import type { BatchRun } from "./decode-step.ts";
import { ENGINE_NAME } from "./probes.ts";

/** A run whose positions are known. */
export interface PlacedRun extends BatchRun {
  readonly position: number;
  /** It is one token that is of the prompt of its sequences: nobody asked for logits by which it could have been sampled. */
  readonly isPrompt?: true;
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
  /** Position from which on the last batch of a sequence asked for logits, NONE where it did not; missing where that is not known. */
  readonly asking: Map<number, number>;
  /** What the other sequences hold: nothing, where the cache was seen to be made or cleared, else what nobody saw. */
  others: "nothing" | "unseen";
  /** Those of the others of which the opposite holds. */
  readonly exceptions: Set<number>;
  /** One sequence has filled the cache from its start, so that a token's row is its position. */
  isLinear: boolean;
  /** Begins of the last batches of one token per sequence, in ns. */
  begins: bigint[];
}

export interface CacheHeads {
  /** The one context of the process; null where there are none or several. */
  only(): bigint | null;
  /** A context was made: it holds nothing. */
  begin(context: bigint): void;
  /** The runs with the positions that the batch leaves to the engine: the next ones of their sequences; null where those are not known. */
  place(context: bigint, runs: readonly BatchRun[]): PlacedRun[] | null;
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
/** Behind every position: no token is behind it. */
const NONE = Number.POSITIVE_INFINITY;

/** The sequences of some runs. */
export function sequencesIn(runs: readonly BatchRun[]): Set<number> {
  return new Set(runs.flatMap(({ sequences }) => sequences));
}

/** No context yet. */
export function cacheHeads(): CacheHeads {
  const heads = new Map<bigint, Head>();
  /** Contexts that were seen to be made; one of which nothing else is seen has no head. */
  const made = new Set<bigint>();
  /** The flags of batches are believed once one of them is set: a program or a build may not use them. */
  let asks = false;

  function headOf(context: bigint): Head {
    let head = heads.get(context);
    if (!head) {
      const others = made.has(context) ? "nothing" : "unseen";
      head = { next: new Map(), asking: new Map(), others, exceptions: new Set(), isLinear: true, begins: [] };
      heads.set(context, head);
    }
    return head;
  }

  /** Says of a sequence, or where negative of all, what it holds. */
  function say(head: Head, sequence: number, holds: Head["others"]): void {
    if (sequence < 0) {
      head.next.clear();
      head.asking.clear();
      head.exceptions.clear();
      head.others = holds;
      return;
    }
    head.next.delete(sequence);
    head.asking.delete(sequence);
    if (head.others === holds) head.exceptions.delete(sequence);
    else head.exceptions.add(sequence);
  }

  /** Position of the next token of a sequence; null where what it holds was not seen. */
  function nextOf({ next, others, exceptions }: Head, sequence: number): number | null {
    const isEmpty = (others === "nothing") !== exceptions.has(sequence);
    return next.get(sequence) ?? (isEmpty ? 0 : null);
  }

  /** True where it is known that no logits were asked for in front of a position, of which a token there would be sampled. */
  function isUnasked(head: Head, sequence: number, position: number): boolean {
    if (position === 0) return true;
    const next = nextOf(head, sequence);
    const asking = head.next.has(sequence) ? head.asking.get(sequence) : NONE;
    // Behind what its sequence holds it comes where a batch was not seen.
    return asking !== undefined && next !== null && position <= Math.min(asking, next);
  }

  /** True for one token of a prompt. Of several contexts one may be handed what another samples, as that of a draft. */
  function isPrompt(head: Head, { sequences, position, tokens }: PlacedRun): boolean {
    return asks && heads.size === 1 && tokens === 1 && sequences.every((id) => isUnasked(head, id, position));
  }

  function named({ next }: Head, sequence: number): number[] {
    return sequence < 0 ? [...next.keys()] : [sequence];
  }

  return {
    only: () => (heads.size === 1 ? ([...heads.keys()][0] ?? null) : null),
    begin(context) {
      heads.delete(context);
      made.add(context);
    },
    place(context, runs) {
      const head = headOf(context);
      const next = new Map(head.next);
      asks ||= runs.some(({ asking }) => (asking ?? 0) > 0);
      const placed: PlacedRun[] = [];
      for (const run of runs) {
        let { position } = run;
        if (position === null) {
          const ends = run.sequences.map((sequence) => nextOf({ ...head, next }, sequence));
          if (!ends.every((end) => end !== null)) return null;
          position = Math.max(0, ...ends);
        }
        for (const sequence of run.sequences) next.set(sequence, position + run.tokens);
        const whole = { ...run, position };
        placed.push(isPrompt(head, whole) ? { ...whole, isPrompt: true } : whole);
      }
      return placed;
    },
    advance(context, runs, begin) {
      const head = headOf(context);
      if (runs === null) {
        head.isLinear = false;
        head.asking.clear();
        return;
      }
      let tokens = 0;
      for (const run of runs) {
        tokens += run.tokens;
        const end = run.position + run.tokens;
        for (const sequence of run.sequences) {
          head.next.set(sequence, end);
          if (run.asking === null) head.asking.delete(sequence);
          else head.asking.set(sequence, run.asking > 0 ? end - run.asking : NONE);
        }
      }
      if (head.next.size > 1 || !head.next.has(0)) head.isLinear = false;
      if (tokens !== sequencesIn(runs).size) return;
      head.begins.push(begin);
      if (head.begins.length > PERIODS + 1) head.begins.shift();
    },
    clear(context) {
      const head = headOf(context);
      say(head, -1, "nothing");
      head.isLinear = true;
    },
    trim(context, { sequence, from, to: end }) {
      const head = headOf(context);
      if (from <= 0 && end < 0) {
        say(head, sequence, "nothing");
        return;
      }
      for (const id of named(head, sequence)) {
        const next = head.next.get(id);
        if (next === undefined || from >= next) continue;
        const asking = head.asking.get(id) ?? NONE;
        if (asking >= from && asking < next && (end < 0 || asking < end))
          head.asking.set(id, end >= 0 && end < next ? end : NONE);
        if (end >= 0 && end < next) head.isLinear = false;
        else if (from <= 0) say(head, id, "nothing");
        else head.next.set(id, from);
      }
    },
    copy(context, from, sequence) {
      const head = headOf(context);
      head.isLinear = false;
      const next = nextOf(head, from);
      if (next === null) say(head, sequence, "unseen");
      else {
        const asking = head.next.has(from) ? head.asking.get(from) : NONE;
        head.next.set(sequence, next);
        if (asking === undefined) head.asking.delete(sequence);
        else head.asking.set(sequence, asking);
      }
    },
    keep(context, sequence) {
      const head = headOf(context);
      const next = nextOf(head, sequence);
      const asking = head.asking.get(sequence);
      say(head, -1, "nothing");
      if (next === null) say(head, sequence, "unseen");
      else if (next > 0) {
        head.next.set(sequence, next);
        if (asking !== undefined) head.asking.set(sequence, asking);
      }
    },
    shift(context, { sequence, from, to: end }, positions) {
      const head = headOf(context);
      head.isLinear = false;
      for (const id of named(head, sequence)) {
        const next = head.next.get(id);
        if (next === undefined || from >= next || (end >= 0 && end < next)) continue;
        head.next.set(id, Math.max(0, next + positions));
        const asking = head.asking.get(id);
        if (asking !== undefined && asking >= from) head.asking.set(id, asking + positions);
      }
    },
    forget(context, sequence) {
      const head = headOf(context);
      head.isLinear = false;
      say(head, sequence, "unseen");
    },
    free(context) {
      heads.delete(context);
      made.delete(context);
    },
    tokenPeriodsNs() {
      return [...heads.values()].flatMap(({ begins }) => periodsBetween(begins));
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
