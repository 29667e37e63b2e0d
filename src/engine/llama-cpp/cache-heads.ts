/** Where the next token of each sequence will stand, by context: fed by batches, and by what changes a cache. */
import type { KvHead } from "../engine.ts";
import { periodsBetween } from "../probing/step-periods.ts";
import { covers, endOf, type HeldPositions, moved, together, within, without } from "./calls/held-positions.ts";
import type { BatchRun } from "./decode-step.ts";
import { ENGINE_NAME } from "./probes.ts";

/** A run whose positions are known. */
export interface PlacedRun extends BatchRun {
  readonly position: number;
  /** It is one token that is of the prompt of its sequences: nobody asked for logits by which it could have been sampled. */
  readonly isPrompt?: true;
  /** Its first token was sampled, and those behind are guesses of what will be: all ask for logits, by which the engine judges them. */
  readonly isDraft?: true;
}

/** Positions of one sequence that an operation is about; a negative end is the sequence's. */
export interface Stretch {
  /** Negative for every sequence. */
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
}

interface Head {
  /** The positions that each sequence has: its next token comes behind the last. */
  readonly held: Map<number, HeldPositions>;
  /** Position from which on the last batch of a sequence asked for logits, NONE where it did not; missing where that is not known. */
  readonly asking: Map<number, number>;
  /** Of a sequence whose last batch was a draft: where it stood. */
  readonly drafts: Map<number, { readonly position: number; readonly tokens: number }>;
  /** How prompts of several tokens ask for logits; null before one is known. A program whose prompts ask by all tokens gives no sign of drafts. */
  promptsAsk: "by some" | "by all" | null;
  /** What the other sequences hold: nothing, where the cache was seen to be made or cleared, else what nobody saw. */
  others: "nothing" | "unseen";
  /** Those of the others of which the opposite holds. */
  readonly exceptions: Set<number>;
  /** Null before a batch showed how many. */
  streams: number | null;
  /** One sequence has filled the cache from its start, so that a token's row is its position. */
  isLinear: boolean;
  /** Begins of the last batches of one token per sequence, in ns. */
  begins: bigint[];
  /** Behind which positions other contexts decoded single tokens since its last batch. */
  readonly besides: Map<bigint, Set<number>>;
  /** The context that decoded what its last drafts guess, and how many in a row. */
  drafter: { readonly context: bigint; readonly times: number } | null;
}

export interface CacheHeads {
  /** The one context of the process; null where there are none or several. */
  only(): bigint | null;
  /** A context was made: it holds nothing. */
  begin(context: bigint): void;
  /** The runs with the positions that the batch leaves to the engine: the next ones of their sequences; null where those are not known. */
  place(context: bigint, runs: readonly BatchRun[]): PlacedRun[] | null;
  /** The context of a draft model that made the guesses of a batch; null where it has none, and until it is sure. */
  drafter(context: bigint, runs: readonly PlacedRun[]): bigint | null;
  /** A batch was carried out. @param runs null where they are not known */
  advance(context: bigint, runs: readonly PlacedRun[] | null, begin: bigint): void;
  clear(context: bigint): void;
  /** @returns how many guesses of a draft stay, where what is behind them goes; 0 where there was none, or nothing is known of it */
  trim(context: bigint, stretch: Stretch): number;
  /** @param end of the positions that are copied; negative for all that the other one has. @param first of them; the begin unless told */
  copy(context: bigint, from: number, sequence: number, end: number, first?: number): void;
  /** The cache of a context is divided into as many streams, each of one sequence where there are several. */
  divide(context: bigint, streams: number): void;
  keep(context: bigint, sequence: number): void;
  shift(context: bigint, stretch: Stretch, positions: number): void;
  /** What a sequence holds is not known any more; negative: all of them. */
  forget(context: bigint, sequence: number): void;
  free(context: bigint): void;
  tokenPeriodsNs(): number[];
  kvHeads(pid: number): KvHead[];
}

const PERIODS = 32;
/** So many drafts in a row that another context was seen to guess, and it is taken for that of a draft model. */
const SURE_DRAFTS = 3;
/** Of more tokens between two batches of a context nothing is said. */
const MOST_BESIDES = 4096;
/** Behind every position: no token is behind it. */
const NONE = Number.POSITIVE_INFINITY;

/** The sequences of some runs. */
export function sequencesIn(runs: readonly BatchRun[]): Set<number> {
  return new Set(runs.flatMap(({ sequences }) => sequences));
}

/** No context yet. @param hasOlderNames true of a build that may count the positions that are left to it over all sequences */
export function cacheHeads(hasOlderNames: () => boolean = () => false): CacheHeads {
  const heads = new Map<bigint, Head>();
  /** Contexts that were seen to be made; one of which nothing else is seen has no head. */
  const made = new Set<bigint>();
  /** The flags of batches are believed once one of them is set: a program or a build may not use them. */
  let asks = false;

  function headOf(context: bigint): Head {
    let head = heads.get(context);
    if (!head) {
      const others = made.has(context) ? "nothing" : "unseen";
      head = {
        ...{ held: new Map(), asking: new Map(), drafts: new Map(), promptsAsk: null },
        ...{ others, exceptions: new Set(), streams: null, isLinear: true },
        ...{ begins: [], besides: new Map(), drafter: null },
      };
      heads.set(context, head);
    }
    return head;
  }

  /** Says of a sequence, or where negative of all, what it holds. */
  function say(head: Head, sequence: number, holds: Head["others"]): void {
    if (sequence < 0) {
      head.held.clear();
      head.asking.clear();
      head.drafts.clear();
      head.exceptions.clear();
      head.others = holds;
      return;
    }
    head.held.delete(sequence);
    head.asking.delete(sequence);
    head.drafts.delete(sequence);
    if (head.others === holds) head.exceptions.delete(sequence);
    else head.exceptions.add(sequence);
  }

  /** The positions that a sequence has; null where they were not seen. */
  function heldBy({ held, others, exceptions }: Head, sequence: number): HeldPositions | null {
    const isEmpty = (others === "nothing") !== exceptions.has(sequence);
    return held.get(sequence) ?? (isEmpty ? [] : null);
  }

  /** Position of the next token of a sequence; null where what it holds was not seen. */
  function nextOf(head: Head, sequence: number): number | null {
    const held = heldBy(head, sequence);
    return held && endOf(held);
  }

  /** True where nothing but sequence 0 is in a cache and a run. */
  function isOfFirst({ held, others, exceptions }: Head, { sequences }: BatchRun): boolean {
    const isAlone = others === "nothing" && exceptions.size === 0;
    return isAlone && [...held.keys(), ...sequences].every((id) => id === 0);
  }

  /** Says which positions a sequence has. */
  function hold(head: Head, sequence: number, held: HeldPositions): void {
    if (held.length === 0) say(head, sequence, "nothing");
    else head.held.set(sequence, held);
  }

  /** True where it is known that no logits were asked for in front of a position, of which a token there would be sampled. */
  function isUnasked(head: Head, sequence: number, position: number): boolean {
    if (position === 0) return true;
    const next = nextOf(head, sequence);
    const asking = head.held.has(sequence) ? head.asking.get(sequence) : NONE;
    // Behind what its sequence holds it comes where a batch was not seen.
    return asking !== undefined && next !== null && position <= Math.min(asking, next);
  }

  /** True where every draft model is known by those for which it guesses. */
  function isOnly(head: Head): boolean {
    return heads.size === 1 || (isSure(head) && heads.size === 2);
  }

  /** True for one token of a prompt. Of several contexts one may be handed what another samples, as that of a draft. */
  function isPrompt(head: Head, { sequences, position, tokens }: PlacedRun): boolean {
    return asks && tokens === 1 && isOnly(head) && sequences.every((id) => isUnasked(head, id, position));
  }

  /** True where the last batch of a sequence asked for logits of its last token, behind which a position is. */
  function isAsked({ held, asking }: Head, sequence: number, position: number): boolean {
    return position === endOf(held.get(sequence) ?? []) && (asking.get(sequence) ?? NONE) < position;
  }

  /** True for a token that was sampled with guesses behind it, in a context whose prompts are seen to ask otherwise. */
  function isDraft(head: Head, { sequences: [id = -1, ...others], position, tokens, asking }: PlacedRun): boolean {
    return (
      head.promptsAsk === "by some" &&
      tokens > 1 &&
      asking === tokens &&
      others.length === 0 &&
      isAsked(head, id, position)
    );
  }

  /** Notes how a prompt asks, where a run of several tokens is one. */
  function notePrompt(head: Head, { sequences: [id = -1], position, tokens, asking }: PlacedRun): void {
    if (tokens < 2 || asking === null) return;
    if (asking < tokens) head.promptsAsk ??= "by some";
    else if (isUnasked(head, id, position)) head.promptsAsk = "by all";
  }

  /** What is known of a run beside where it stands. */
  function marked(head: Head, run: PlacedRun): PlacedRun {
    notePrompt(head, run);
    if (isPrompt(head, run)) return { ...run, isPrompt: true };
    return isDraft(head, run) ? { ...run, isDraft: true } : run;
  }

  /** How many guesses stay where all from a position on is removed: what was sampled before them stays too. */
  function keptOf({ drafts }: Head, { sequence, from, to: end }: Stretch): number {
    const draft = drafts.get(sequence);
    if (draft === undefined || end >= 0) return 0;
    const kept = from - draft.position - 1;
    return kept >= 0 && kept < draft.tokens ? kept : 0;
  }

  function isSure({ drafter }: Head): boolean {
    return drafter !== null && drafter.times >= SURE_DRAFTS;
  }

  /** Notes for the other contexts behind which positions one decoded single tokens. */
  function noteBeside(context: bigint, runs: readonly PlacedRun[]): void {
    if (heads.size < 2) return;
    const ends = runs.filter(({ tokens }) => tokens === 1).map(({ position }) => position + 1);
    for (const [other, { besides }] of heads) {
      if (other === context) continue;
      const all = besides.get(context) ?? new Set();
      besides.set(context, all);
      for (const end of ends) if (all.size < MOST_BESIDES) all.add(end);
    }
  }

  function drop(context: bigint): void {
    heads.delete(context);
    for (const head of heads.values()) {
      head.besides.delete(context);
      if (head.drafter?.context === context) head.drafter = null;
    }
  }

  function named({ held }: Head, sequence: number): number[] {
    return sequence < 0 ? [...held.keys()] : [sequence];
  }

  return {
    only: () => (heads.size === 1 ? ([...heads.keys()][0] ?? null) : null),
    begin(context) {
      drop(context);
      made.add(context);
    },
    place(context, runs) {
      const head = headOf(context);
      const next = new Map<number, number>();
      asks ||= runs.some(({ asking }) => (asking ?? 0) > 0);
      const placed: PlacedRun[] = [];
      for (const run of runs) {
        let { position } = run;
        if (position === null) {
          const ends = run.sequences.map((sequence) => next.get(sequence) ?? nextOf(head, sequence));
          if (!ends.every((end) => end !== null) || (hasOlderNames() && !isOfFirst(head, run))) return null;
          position = Math.max(0, ...ends);
        }
        for (const sequence of run.sequences) next.set(sequence, position + run.tokens);
        placed.push(marked(head, { ...run, position }));
      }
      return placed;
    },
    drafter(context, runs) {
      const head = headOf(context);
      const ends = runs.flatMap(({ isDraft, position, tokens }) => (isDraft ? [position + tokens - 1] : []));
      if (ends.length === 0) return null;
      if (isSure(head)) return head.drafter?.context ?? null;
      // Who guesses decodes the token that was sampled and all guesses but the last, one by one.
      const found = [...head.besides].find(([, all]) => ends.every((end) => all.has(end)))?.[0];
      const times = found === head.drafter?.context ? (head.drafter?.times ?? 0) : 0;
      head.drafter = found === undefined ? null : { context: found, times: times + 1 };
      return isSure(head) ? (found ?? null) : null;
    },
    advance(context, runs, begin) {
      const head = headOf(context);
      head.besides.clear();
      noteBeside(context, runs ?? []);
      if (runs === null) {
        head.isLinear = false;
        return say(head, -1, "unseen");
      }
      let tokens = 0;
      for (const run of runs) {
        tokens += run.tokens;
        const end = run.position + run.tokens;
        for (const sequence of run.sequences) {
          const before = heldBy(head, sequence);
          // Of an image all tokens may stand at one position, and the next one further on than there are rows.
          if (before !== null && run.position !== endOf(before)) head.isLinear = false;
          const held = before ?? [];
          // What is between was in a batch that nobody saw.
          const first = Math.min(run.position, endOf(held));
          head.held.set(sequence, together(within(held, 0, first), [[first, end]]));
          if (run.isDraft) head.drafts.set(sequence, run);
          else head.drafts.delete(sequence);
          if (run.asking === null) head.asking.delete(sequence);
          else head.asking.set(sequence, run.asking > 0 ? end - run.asking : NONE);
        }
      }
      if (head.held.size > 1 || !head.held.has(0)) head.isLinear = false;
      if (tokens !== sequencesIn(runs).size) return;
      head.begins.push(begin);
      if (head.begins.length > PERIODS + 1) head.begins.shift();
    },
    clear(context) {
      const head = headOf(context);
      say(head, -1, "nothing");
      head.isLinear = true;
    },
    trim(context, stretch) {
      const { sequence, from, to: end } = stretch;
      const head = headOf(context);
      const kept = keptOf(head, stretch);
      if (from <= 0 && end < 0) {
        say(head, sequence, "nothing");
        return kept;
      }
      for (const id of named(head, sequence)) {
        head.drafts.delete(id);
        const held = head.held.get(id);
        const next = endOf(held ?? []);
        if (held === undefined || from >= next) continue;
        const asking = head.asking.get(id) ?? NONE;
        if (asking >= from && asking < next && (end < 0 || asking < end))
          head.asking.set(id, end >= 0 && end < next ? end : NONE);
        if (end >= 0 && end < next) head.isLinear = false;
        hold(head, id, without(held, from, end < 0 ? next : end));
      }
      return kept;
    },
    copy(context, from, sequence, end, first = 0) {
      const head = headOf(context);
      head.isLinear = false;
      if (from === sequence) return;
      head.drafts.delete(sequence);
      const held = heldBy(head, from);
      const before = heldBy(head, sequence);
      const given = held && within(held, first, end < 0 ? endOf(held) : end);
      // What it had besides stays where both share the cells, and goes where each has its own.
      const isSure = head.streams !== null || (given !== null && before !== null && covers(given, before));
      if (given === null || before === null || !isSure) return say(head, sequence, "unseen");
      const isLonger = endOf(given) >= endOf(before);
      const asking = head.held.has(from) ? head.asking.get(from) : NONE;
      hold(head, sequence, head.streams === 1 ? together(before, given) : given);
      if (head.streams === 1 && !isLonger) return;
      if (asking === undefined) head.asking.delete(sequence);
      else head.asking.set(sequence, asking < endOf(given) ? asking : NONE);
    },
    divide(context, streams) {
      headOf(context).streams = streams;
    },
    keep(context, sequence) {
      const head = headOf(context);
      // The cells of the others are not looked at where it has its own.
      if ((head.streams ?? 1) > 1) return;
      const held = heldBy(head, sequence);
      const asking = head.asking.get(sequence);
      say(head, -1, head.streams === null && head.others === "unseen" ? "unseen" : "nothing");
      if (held === null) say(head, sequence, "unseen");
      else if (held.length > 0) {
        head.held.set(sequence, held);
        if (asking !== undefined) head.asking.set(sequence, asking);
      }
    },
    shift(context, { sequence, from, to: end }, positions) {
      const head = headOf(context);
      head.isLinear = false;
      for (const id of named(head, sequence)) {
        head.drafts.delete(id);
        const held = head.held.get(id);
        if (held === undefined || from >= endOf(held)) continue;
        const last = end < 0 ? endOf(held) : end;
        const asking = head.asking.get(id);
        hold(head, id, moved(held, from, last, positions));
        if (asking !== undefined && asking >= from && asking < last && head.held.has(id))
          head.asking.set(id, asking + positions);
      }
    },
    forget(context, sequence) {
      const head = headOf(context);
      head.isLinear = false;
      say(head, sequence, "unseen");
    },
    free(context) {
      drop(context);
      made.delete(context);
    },
    tokenPeriodsNs() {
      return [...heads.values()].flatMap(({ begins }) => periodsBetween(begins));
    },
    kvHeads: (pid) =>
      [...heads]
        .filter(([, { isLinear }]) => isLinear)
        .map(([context, { held }]) => ({
          engine: ENGINE_NAME,
          pid,
          context,
          next_row: endOf(held.get(0) ?? []),
          sequences: held.size,
        })),
  };
}
