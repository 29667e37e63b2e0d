/**
 * Address and time to a place. Each process has stretches of time, each of those slices of addresses, and each slice what
 * was there, latest birth first: binary searches over typed arrays. A stretch is laid out when somebody first asks for it,
 * so memory does not follow from how many places, addresses and moments could meet.
 */
import { collectAfter, collectGrown } from "../../columnar/collect-after.ts";
import { everyRow, numberOrder } from "../../columnar/keys/number-order.ts";
import { countUpTo, firstIndex } from "../../statistics/first-index.ts";
import { goneNs, type Places } from "./places.ts";

export interface PlaceIndex {
  /** Row of the place, or -1 where none holds the address at that time; where two do, the later born. */
  find(pid: number, address: number, time_ns: number): number;
}

interface Slices {
  /** Boundaries between slices of addresses, ascending. */
  readonly cuts: Float64Array;
  /** Slice i holds entries [first[i], first[i + 1]), latest birth first. */
  readonly first: Uint32Array;
  readonly entry: Uint32Array;
  readonly birth: Float64Array;
  readonly death: Float64Array;
  /** The last death among the entries of the slice that come after this one. */
  readonly reach: Float64Array;
}

interface ProcessPlaces {
  /** Begin of each stretch, ascending; the first is -Infinity. */
  readonly begins: Float64Array;
  /** What lived in each, in order of birth. */
  readonly members: readonly Uint32Array[];
  readonly slices: (Slices | null)[];
}

/** Births of a stretch, unless more places live at its begin: then as many as do. */
const STRETCH_BIRTHS = 1024;
/** Entries, members and cuts that are held at a time, of some 20 bytes each. */
const MOST_HELD = 1 << 20;
/** Stretches of a process whose rows are not put into order again. */
const MANY_STRETCHES = 16;
/** Places that are gathered until what that left behind is collected. */
const COLLECT_AFTER = 1 << 17;
/** To lay a stretch out leaves a hundred times as much behind as it holds. */
const COLLECT_AFTER_BYTES = 64 * 2 ** 20;

const NONE: Slices = {
  cuts: new Float64Array(0),
  first: new Uint32Array(1),
  entry: new Uint32Array(0),
  birth: new Float64Array(0),
  death: new Float64Array(0),
  reach: new Float64Array(0),
};

/** Cuts the life of a process; no stretch has more members that began before it than others. @param rows in order of birth */
function stretchesOf(places: Places, rows: Uint32Array): ProcessPlaces {
  const begins = [Number.NEGATIVE_INFINITY];
  const stretches: Uint32Array[] = [];
  let members: number[] = [];
  let carried = 0;
  const gathered = collectAfter(COLLECT_AFTER);
  for (let i = 0; i < rows.length; i++) {
    gathered(1);
    const row = rows[i] as number;
    if (members.length - carried >= Math.max(STRETCH_BIRTHS, carried)) {
      const begin = places.birth_ns[row] as number;
      stretches.push(Uint32Array.from(members));
      members = members.filter((member) => goneNs(places, member) > begin);
      carried = members.length;
      begins.push(begin);
    }
    members.push(row);
  }
  stretches.push(Uint32Array.from(members));
  return { begins: Float64Array.from(begins), members: stretches, slices: stretches.map(() => null) };
}

/** @param members in order of birth, which makes their positions ranks */
function slicesOf(places: Places, members: Uint32Array): Slices {
  const { begin, end } = places;
  const ends = Float64Array.from(members, (row) => end[row] as number);
  const begins = Float64Array.from(members, (row) => begin[row] as number);
  const ranks = everyRow(members.length);
  const byBegin = numberOrder(ranks, begins);
  const byEnd = numberOrder(ranks, ends);
  const cuts = Float64Array.from(new Set([...begins, ...ends])).sort();
  const first = new Uint32Array(cuts.length + 1);
  const entry: number[] = [];
  const birth: number[] = [];
  const death: number[] = [];
  const reach: number[] = [];
  /** Ranks of what the slice has, ascending. */
  const live: number[] = [];
  const placeOf = (rank: number): number => firstIndex(live.length, (i) => (live[i] as number) < rank);
  let begun = 0;
  let ended = 0;
  for (let slice = 0; slice < cuts.length; slice++) {
    const cut = cuts[slice] as number;
    for (; ended < byEnd.length && (ends[byEnd[ended] as number] as number) <= cut; ended++) {
      live.splice(placeOf(byEnd[ended] as number), 1);
    }
    for (; begun < byBegin.length && (begins[byBegin[begun] as number] as number) <= cut; begun++) {
      const rank = byBegin[begun] as number;
      live.splice(placeOf(rank), 0, rank);
    }
    first[slice] = entry.length;
    for (let i = live.length - 1; i >= 0; i--) {
      const row = members[live[i] as number] as number;
      entry.push(row);
      birth.push(places.birth_ns[row] as number);
      death.push(goneNs(places, row));
      reach.push(Number.NEGATIVE_INFINITY);
    }
    for (let i = entry.length - 2; i >= (first[slice] as number); i--) {
      reach[i] = Math.max(reach[i + 1] as number, death[i + 1] as number);
    }
  }
  first[cuts.length] = entry.length;
  return {
    cuts,
    first,
    entry: Uint32Array.from(entry),
    birth: Float64Array.from(birth),
    death: Float64Array.from(death),
    reach: Float64Array.from(reach),
  };
}

/** The rows in order of process; null where they are. */
function byPid({ pid, count }: Places): Uint32Array | null {
  for (let row = 1; row < count; row++) {
    if ((pid[row] as number) < (pid[row - 1] as number)) return numberOrder(everyRow(count), pid);
  }
  return null;
}

/** An index over places, which must not change while it is used. */
export function placeIndex(places: Places): PlaceIndex {
  const order = byPid(places);
  const rowAt = (position: number): number => (order === null ? position : (order[position] as number));
  const processes = new Map<number, ProcessPlaces>();
  let held = 0;
  const laidOut = collectGrown(COLLECT_AFTER_BYTES);
  let lastPid = -1;
  let last: ProcessPlaces | null = null;
  let stretchBegin = Number.POSITIVE_INFINITY;
  let stretchEnd = Number.POSITIVE_INFINITY;
  let slices = NONE;
  let lastSlice = 0;

  function hold(more: number): void {
    held += more;
    laidOut();
    if (held <= MOST_HELD) return;
    for (const [pid, { members, slices: laid }] of processes) {
      // What is put into order in a moment is forgotten; of others only what was laid out.
      if (members.length < MANY_STRETCHES) processes.delete(pid);
      else laid.fill(null);
    }
    last?.slices.fill(null);
    held = more;
  }

  function processOf(pid: number): ProcessPlaces | null {
    const existing = processes.get(pid);
    if (existing !== undefined) return existing;
    const from = firstIndex(places.count, (i) => (places.pid[rowAt(i)] as number) < pid);
    let end = from;
    while (end < places.count && places.pid[rowAt(end)] === pid) end += 1;
    const rows = new Uint32Array(end - from);
    let n = 0;
    for (let i = from; i < end; i++) {
      const row = rowAt(i);
      if ((places.begin[row] as number) < (places.end[row] as number)) rows[n++] = row;
    }
    if (n === 0) return null;
    const found = stretchesOf(places, numberOrder(rows.subarray(0, n), places.birth_ns));
    hold(found.members.reduce((sum, { length }) => sum + length, 0));
    processes.set(pid, found);
    return found;
  }

  function turnTo(time_ns: number): void {
    if (last === null) return;
    const { begins, members } = last;
    const stretch = firstIndex(begins.length, (i) => (begins[i] as number) <= time_ns) - 1;
    stretchBegin = begins[stretch] as number;
    stretchEnd = begins[stretch + 1] ?? Number.POSITIVE_INFINITY;
    slices = last.slices[stretch] ?? slicesOf(places, members[stretch] as Uint32Array);
    if (last.slices[stretch] === null) hold(slices.entry.length + slices.cuts.length);
    last.slices[stretch] = slices;
    lastSlice = 0;
  }

  return {
    find(pid, address, time_ns) {
      if (pid !== lastPid) {
        lastPid = pid;
        last = processOf(pid);
        stretchBegin = Number.POSITIVE_INFINITY;
      }
      if (last === null) return -1;
      if (!(time_ns >= stretchBegin && time_ns < stretchEnd)) turnTo(time_ns);
      const { cuts, first, birth } = slices;
      // Streams of accesses stay in one slice for a while.
      let slice = lastSlice;
      if (!(address >= (cuts[slice] as number) && address < (cuts[slice + 1] ?? Number.NEGATIVE_INFINITY))) {
        slice = countUpTo(cuts, address) - 1;
        if (slice < 0) return -1;
        lastSlice = slice;
      }
      const end = first[slice + 1] as number;
      let i = first[slice] as number;
      for (let high = end; i < high; ) {
        const middle = (i + high) >>> 1;
        if ((birth[middle] as number) > time_ns) i = middle + 1;
        else high = middle;
      }
      for (; i < end; i++) {
        if (time_ns < (slices.death[i] as number)) return slices.entry[i] as number;
        if (time_ns >= (slices.reach[i] as number)) return -1;
      }
      return -1;
    },
  };
}
