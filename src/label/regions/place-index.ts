/** Address and time to a region: a binary search over typed arrays, one set per process. */

/** One region as the index sees it; addresses and times are exact below 2^53. */
export interface Place {
  readonly pid: number;
  readonly begin: number;
  readonly end: number;
  readonly birth_ns: number;
  readonly death_ns: number;
}

interface ProcessPlaces {
  /** Boundaries between address slices, ascending. */
  readonly cuts: Float64Array;
  /** Slice i holds entries [first[i], first[i + 1]), latest birth first. */
  readonly first: Uint32Array;
  readonly entry: Uint32Array;
  readonly birth: Float64Array;
  readonly death: Float64Array;
}

export interface PlaceIndex {
  /** Position of the place in the list given, or -1 where no place holds the address at that time. */
  find(pid: number, address: number, time_ns: number): number;
}

function build(places: readonly Place[], members: readonly number[]): ProcessPlaces {
  const placed = members.map((index) => ({ index, place: places[index] as Place }));
  const cuts = Float64Array.from(new Set(placed.flatMap(({ place }) => [place.begin, place.end]))).sort();
  const begins = placed.toSorted((left, right) => left.place.begin - right.place.begin);
  const ends = placed.toSorted((left, right) => left.place.end - right.place.end);
  const first = new Uint32Array(cuts.length + 1);
  const entry: number[] = [];
  const live = new Set<(typeof placed)[number]>();
  let begun = 0;
  let ended = 0;
  for (let i = 0; i < cuts.length; i++) {
    const cut = cuts[i] as number;
    for (let item = ends[ended]; item !== undefined && item.place.end <= cut; item = ends[++ended]) live.delete(item);
    for (let item = begins[begun]; item !== undefined && item.place.begin <= cut; item = begins[++begun]) {
      if (item.place.end > cut) live.add(item);
    }
    first[i] = entry.length;
    const sorted = [...live].sort(
      (left, right) => right.place.birth_ns - left.place.birth_ns || right.index - left.index,
    );
    for (const item of sorted) entry.push(item.index);
  }
  first[cuts.length] = entry.length;
  return {
    cuts,
    first,
    entry: Uint32Array.from(entry),
    birth: Float64Array.from(entry, (index) => (places[index] as Place).birth_ns),
    death: Float64Array.from(entry, (index) => (places[index] as Place).death_ns),
  };
}

/** An index over places; where two hold the same address at the same time the later born wins. */
export function placeIndex(places: readonly Place[]): PlaceIndex {
  const members = new Map<number, number[]>();
  for (const [index, place] of places.entries()) {
    if (!(place.begin < place.end)) continue;
    const list = members.get(place.pid);
    if (list === undefined) members.set(place.pid, [index]);
    else list.push(index);
  }
  const ofPid = new Map([...members].map(([pid, indices]) => [pid, build(places, indices)]));
  let lastPid = -1;
  let last: ProcessPlaces | undefined;
  let lastSlice = 0;
  return {
    find(pid, address, time_ns) {
      if (pid !== lastPid) {
        lastPid = pid;
        last = ofPid.get(pid);
        lastSlice = 0;
      }
      if (last === undefined) return -1;
      const { cuts, first } = last;
      // Streams of accesses stay in one slice for a while.
      let slice = lastSlice;
      if (!(address >= (cuts[slice] as number) && address < (cuts[slice + 1] ?? Number.NEGATIVE_INFINITY))) {
        let low = 0;
        let high = cuts.length;
        while (low < high) {
          const middle = (low + high) >>> 1;
          if ((cuts[middle] as number) <= address) low = middle + 1;
          else high = middle;
        }
        if (low === 0) return -1;
        slice = low - 1;
        lastSlice = slice;
      }
      const end = first[slice + 1] as number;
      for (let i = first[slice] as number; i < end; i++) {
        if (time_ns >= (last.birth[i] as number) && time_ns < (last.death[i] as number)) return last.entry[i] as number;
      }
      return -1;
    },
  };
}
