/** Address x state for one address space: sorted, disjoint segments where the last writer by effective time wins. */

/** What a segment holds; `since_ns` decides which of two events about the same addresses stays. */
export interface Stamped {
  /** When the state took effect, ns of CLOCK_MONOTONIC. */
  readonly since_ns: bigint;
  /** True for a state that was looked at (a snapshot) and not brought about by an event at `since_ns`. */
  readonly observed: boolean;
}

/** Gives the state of a piece from its present one; `undefined` is a piece that nothing was ever said about. */
export type Change<S> = (old: S | undefined, from: number, stop: number) => S | undefined;

export interface IntervalMap<S extends Stamped> {
  /** Segments held, tombstones included. */
  readonly size: number;
  /** Time of the last `clear`; whatever has no segment is a hole of that age. */
  readonly baseline_ns: bigint;
  /** State at one key, `undefined` where nothing was said. */
  find(position: number): S | undefined;
  /** The segment that holds one key. */
  segment(point: number): { readonly state: S; readonly from: number; readonly to: number } | undefined;
  /**
   * Applies an event of time `time_ns` to [from, to): only pieces whose state is not newer change.
   * An observed state is also replaced by a call that ended (`until_ns`) after it was observed.
   * `late` gives the state of pieces that were newer than the event; they stay as they are without it.
   */
  assign(time_ns: bigint, from: number, until: number, next: Change<S>, until_ns?: bigint, late?: Late<S>): void;
  /** Changes pieces of [from, to) whatever their age, for attributes that carry their own time. */
  amend(from: number, end: number, next: Change<S>): void;
  /** Visits the segments that meet [from, to), clipped to it, by address. */
  each(from: number, end_page: number, visit: Visit<S>): void;
  /** Everything older than `time_ns` becomes a hole of that age. `ended` sees what went. */
  clear(time_ns: bigint, ended: Visit<S>): void;
  /** Drops segments that `keep` refuses and joins neighbours for which `join` gives one state. */
  compact(keep: (state: S) => boolean, join: (left: S, right: S) => S | undefined): void;
}

export type Visit<S> = (state: S, from: number, end: number) => void;
export type Late<S> = (newer: S, from: number, end: number) => S;

/**
 * A map over integer keys below 2^53 (page numbers: exact for every 64-bit address, also with five-level paging).
 * Lookup is a binary search; an event costs a search plus one move of the arrays behind it.
 */
export function createIntervalMap<S extends Stamped>(): IntervalMap<S> {
  let starts: number[] = [];
  let ends: number[] = [];
  let states: S[] = [];
  let baseline = -1n;

  /** Index of the first segment that ends after `position`. */
  function firstAfter(position: number): number {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle] ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function replace(place: number, removed: number, outStarts: number[], outEnds: number[], outStates: S[]): void {
    if (removed === outStarts.length) {
      for (let i = 0; i < removed; i++) {
        starts[place + i] = outStarts[i] as number;
        ends[place + i] = outEnds[i] as number;
        states[place + i] = outStates[i] as S;
      }
    } else if (outStarts.length < 1024) {
      starts.splice(place, removed, ...outStarts);
      ends.splice(place, removed, ...outEnds);
      states.splice(place, removed, ...outStates);
    } else {
      // An argument list of that length would overflow the stack.
      starts = starts.slice(0, place).concat(outStarts, starts.slice(place + removed));
      ends = ends.slice(0, place).concat(outEnds, ends.slice(place + removed));
      states = states.slice(0, place).concat(outStates, states.slice(place + removed));
    }
  }

  function amend(from: number, stop: number, next: Change<S>): void {
    if (!(from < stop)) return;
    const outStarts: number[] = [];
    const outEnds: number[] = [];
    const outStates: S[] = [];
    const push = (start: number, end: number, state: S | undefined): void => {
      if (state === undefined) return;
      const last = outStates.length - 1;
      if (last >= 0 && outStates[last] === state && outEnds[last] === start) outEnds[last] = end;
      else {
        outStarts.push(start);
        outEnds.push(end);
        outStates.push(state);
      }
    };
    const index = firstAfter(from);
    let i = index;
    let done = from;
    for (; i < starts.length; i++) {
      const start = starts[i] as number;
      const end = ends[i] as number;
      const state = states[i] as S;
      if (start >= stop) break;
      if (start < from) push(start, from, state);
      if (start > done) push(done, start, next(undefined, done, start));
      const pieceStart = Math.max(start, from);
      const pieceEnd = Math.min(end, stop);
      push(pieceStart, pieceEnd, next(state, pieceStart, pieceEnd));
      if (end > stop) push(stop, end, state);
      done = pieceEnd;
    }
    if (done < stop) push(done, stop, next(undefined, done, stop));
    replace(index, i - index, outStarts, outEnds, outStates);
  }

  function each(from: number, until: number, visit: Visit<S>): void {
    for (let i = firstAfter(from); i < starts.length; i++) {
      const start = starts[i] as number;
      if (start >= until) return;
      visit(states[i] as S, Math.max(start, from), Math.min(ends[i] as number, until));
    }
  }

  function filter(
    next: (state: S, from: number, end_page: number) => boolean,
    join: (a: S, b: S) => S | undefined,
  ): void {
    let kept = 0;
    for (let i = 0; i < starts.length; i++) {
      const start = starts[i] as number;
      const end = ends[i] as number;
      const state = states[i] as S;
      if (!next(state, start, end)) continue;
      const joined = kept > 0 && ends[kept - 1] === start ? join(states[kept - 1] as S, state) : undefined;
      if (joined !== undefined) {
        ends[kept - 1] = end;
        states[kept - 1] = joined;
        continue;
      }
      starts[kept] = start;
      ends[kept] = end;
      states[kept] = state;
      kept++;
    }
    starts.length = ends.length = states.length = kept;
  }

  return {
    get size() {
      return starts.length;
    },
    get baseline_ns() {
      return baseline;
    },
    find(position) {
      const i = firstAfter(position);
      return i < starts.length && (starts[i] as number) <= position ? states[i] : undefined;
    },
    segment(point) {
      const i = firstAfter(point);
      const from = starts[i];
      if (from === undefined || from > point) return undefined;
      return { state: states[i] as S, from, to: ends[i] as number };
    },
    assign(time_ns, from, until, next, until_ns = time_ns, late = (newer) => newer) {
      amend(from, until, (old, start, end) => {
        if (old === undefined) return baseline <= time_ns ? next(old, start, end) : old;
        if (old.since_ns <= time_ns || (old.observed && old.since_ns <= until_ns)) return next(old, start, end);
        return late(old, start, end);
      });
    },
    amend,
    each,
    clear(time_ns, ended) {
      if (time_ns > baseline) baseline = time_ns;
      filter(
        (state, from, stop) => {
          if (state.since_ns > time_ns) return true;
          ended(state, from, stop);
          return false;
        },
        () => undefined,
      );
    },
    compact: (keep, join) => filter(keep, join),
  };
}
