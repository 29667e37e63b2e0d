/** How much of each region was in memory at each look: what does not change from one look to the next is held once. */

/** Arrays of a stay are parallel: bytes of one region that were the same at looks one after another, all of it looked at. */
export interface Residency {
  /** Begin of each look, ns since the origin. */
  readonly look_ns: readonly number[];
  /** By row of the region: its latest stay; -1 where no look saw all of it. */
  readonly latest: Int32Array;
  /** By stay: the one before of the same region; -1 for its first. */
  readonly before: readonly number[];
  readonly first_look: readonly number[];
  readonly last_look: readonly number[];
  readonly bytes: readonly number[];
}

/** Where nobody looked. */
export const NO_LOOKS: Residency = {
  look_ns: [],
  latest: new Int32Array(0),
  before: [],
  first_look: [],
  last_look: [],
  bytes: [],
};

/** The stays of a region, latest first. */
export function* staysOf({ latest, before }: Residency, row: number): Generator<number, void, void> {
  for (let stay = latest[row] ?? -1; stay >= 0; stay = before[stay] as number) yield stay;
}

export interface LookTotals {
  /** By look: bytes in memory of those regions that the look saw. */
  readonly bytes: Float64Array;
  /** How many regions that were. */
  readonly regions: Float64Array;
}

/** What each look found of some regions together. */
export function totalsOf(residency: Residency, rows: Iterable<number>): LookTotals {
  const looks = residency.look_ns.length;
  // Differences from the look before, which are summed up in the end.
  const bytes = new Float64Array(looks + 1);
  const regions = new Float64Array(looks + 1);
  const add = (sums: Float64Array, stay: number, value: number): void => {
    const [first, behind] = [residency.first_look[stay] as number, (residency.last_look[stay] as number) + 1];
    sums[first] = (sums[first] as number) + value;
    sums[behind] = (sums[behind] as number) - value;
  };
  for (const row of rows) {
    for (const stay of staysOf(residency, row)) {
      add(bytes, stay, residency.bytes[stay] as number);
      add(regions, stay, 1);
    }
  }
  for (let look = 1; look < looks; look++) {
    bytes[look] = (bytes[look] as number) + (bytes[look - 1] as number);
    regions[look] = (regions[look] as number) + (regions[look - 1] as number);
  }
  return { bytes: bytes.subarray(0, looks), regions: regions.subarray(0, looks) };
}

/** The look that found most in memory, the first of equal ones; -1 where nobody looked. */
export function fullestLook(residency: Residency, regions: number): number {
  const { bytes } = totalsOf(
    residency,
    Array.from({ length: regions }, (_, row) => row),
  );
  return bytes.reduce((most, sum, look) => (most < 0 || sum > (bytes[most] as number) ? look : most), -1);
}

/** Bytes of a region at a look; null where that did not see all of it. */
export function bytesAt(residency: Residency, row: number, look: number): number | null {
  for (const stay of staysOf(residency, row)) {
    const [first, last] = [residency.first_look[stay] as number, residency.last_look[stay] as number];
    if (first <= look && look <= last) return residency.bytes[stay] as number;
  }
  return null;
}
