/** What is left of a mapping, in addresses and in time, when the engine's ranges are cut out of it. */
import { firstIndex } from "../../statistics/first-index.ts";

/** Addresses [begin, end) over the time [birth_ns, death_ns). */
export interface Extent {
  readonly begin: number;
  readonly end: number;
  readonly birth_ns: number;
  readonly death_ns: number;
}

/** A stretch of time at the address that is looked at, up to the next one. */
interface Stretch {
  readonly birth_ns: number;
  /** Covers that are there meanwhile. */
  depth: number;
  /** The address from which on nothing is there meanwhile; null where something is, or was just in front of it. */
  since: number | null;
}

const keyOf = (birth_ns: number, death_ns: number): string => `${birth_ns}:${death_ns}`;

/** Time at one address after another, as covers begin and end there. */
function timeLine(whole: Extent) {
  /** In order of time; neighbours differ in depth. */
  const stretches: Stretch[] = [{ birth_ns: whole.birth_ns, depth: 0, since: whole.begin }];
  const pieces: Extent[] = [];
  /** Of this address: what was uncovered just in front of it, by its time, and where something may be uncovered anew. */
  const ended = new Map<string, Extent>();
  const touched: number[] = [];

  const endOf = (i: number): number => stretches[i + 1]?.birth_ns ?? whole.death_ns;
  const placeOf = (time: number): number => firstIndex(stretches.length, (i) => (stretches[i]?.birth_ns ?? 0) < time);

  /** What was uncovered in a stretch ends in front of this address. */
  function close(i: number): void {
    const stretch = stretches[i];
    if (stretch === undefined || stretch.since === null) return;
    const piece = { begin: stretch.since, end: whole.end, birth_ns: stretch.birth_ns, death_ns: endOf(i) };
    ended.set(keyOf(piece.birth_ns, piece.death_ns), piece);
    stretch.since = null;
  }

  /** Where a stretch begins at a time, which is one more where none did. */
  function split(time: number): number {
    const i = placeOf(time);
    if (time >= whole.death_ns || stretches[i]?.birth_ns === time) return i;
    close(i - 1);
    stretches.splice(i, 0, { birth_ns: time, depth: stretches[i - 1]?.depth ?? 0, since: null });
    return i;
  }

  /** Two neighbours of one depth are one. */
  function join(i: number): void {
    const [left, right] = [stretches[i - 1], stretches[i]];
    if (left === undefined || right === undefined || left.depth !== right.depth) return;
    close(i - 1);
    close(i);
    stretches.splice(i, 1);
    touched.push(left.birth_ns);
  }

  return {
    pieces,
    /** @param step 1 where a cover begins, -1 where it ends */
    change(cover: Extent, step: 1 | -1): void {
      const from = split(Math.max(cover.birth_ns, whole.birth_ns));
      const until = split(Math.min(cover.death_ns, whole.death_ns));
      for (let i = from; i < until; i++) {
        const stretch = stretches[i] as Stretch;
        close(i);
        stretch.depth += step;
        touched.push(stretch.birth_ns);
      }
      touched.push(...[from - 1, until].map((i) => stretches[i]?.birth_ns ?? whole.birth_ns));
      join(until);
      join(from);
    },
    /** All that begins or ends at this address was told. */
    settle(address: number): void {
      for (const time of touched) {
        const i = placeOf(time);
        const stretch = stretches[i];
        if (stretch?.birth_ns !== time || stretch.depth > 0 || stretch.since !== null) continue;
        const key = keyOf(time, endOf(i));
        stretch.since = ended.get(key)?.begin ?? address;
        ended.delete(key);
      }
      for (const piece of ended.values()) if (piece.begin < address) pieces.push({ ...piece, end: address });
      ended.clear();
      touched.length = 0;
    },
    finish(): void {
      for (const i of stretches.keys()) close(i);
      this.settle(whole.end);
    },
  };
}

/**
 * Cuts `covers` out of `whole`. The pieces are disjoint, ordered by address, then time; neighbours in address that
 * lived over the same time are one piece.
 */
export function uncovered(whole: Extent, covers: readonly Extent[]): Extent[] {
  const meeting = covers.filter(
    (cover) =>
      cover.begin < whole.end &&
      cover.end > whole.begin &&
      cover.birth_ns < whole.death_ns &&
      cover.death_ns > whole.birth_ns,
  );
  if (meeting.length === 0) return whole.begin < whole.end && whole.birth_ns < whole.death_ns ? [whole] : [];
  const begins = meeting.toSorted((left, right) => left.begin - right.begin);
  const ends = meeting.toSorted((left, right) => left.end - right.end);
  const line = timeLine(whole);
  let ended = 0;
  for (let begun = 0; begun < begins.length || ended < ends.length; ) {
    const nextBegin = begins[begun]?.begin ?? Number.POSITIVE_INFINITY;
    const address = Math.max(whole.begin, Math.min(nextBegin, ends[ended]?.end ?? Number.POSITIVE_INFINITY));
    if (address >= whole.end) break;
    for (let cover = ends[ended]; cover !== undefined && cover.end <= address; cover = ends[++ended])
      line.change(cover, -1);
    for (let cover = begins[begun]; cover !== undefined && cover.begin <= address; cover = begins[++begun])
      line.change(cover, 1);
    line.settle(address);
  }
  line.finish();
  return line.pieces.sort((left, right) => left.begin - right.begin || left.birth_ns - right.birth_ns);
}
