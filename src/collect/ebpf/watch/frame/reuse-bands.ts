/** Memory in which tensors take turns, in bands by how many do: little of it is used most, and would hardly be drawn. */
import type { Range } from "./ranges.ts";

/** A tensor at one of its places; a graph of more tokens has a larger one of the same name. */
export interface Turn extends Range {
  readonly name: string | null;
}

export interface BandPiece extends Range {
  readonly stratum: string;
  /** Of the stratum, beside another with 1. */
  readonly turns: number;
}

/** By how many tensors take turns there, the fewest first. */
const STRATA = ["activation", "activation/reused", "activation/most_reused"] as const;
const ALL_ALIKE = { stratum: STRATA[0], turns: 1 } as const;
/** Most of the bytes are in the first, which has so many of the turns; the others have the rest together. */
const FIRST_TURNS = 0.5;
/** Where the bytes of the last have less than so many times as many turns as those of the first, all are one. */
const LEAST_UNLIKE = 4;

interface Piece extends Range {
  readonly turns: number;
}

/** The memory between two ends of tensors, with the turns of its bytes: of a name and place only the smallest tensor counts, as most graphs are of few tokens. */
function piecesOf(tensors: readonly Turn[]): Piece[] {
  const smallest = new Map<string, Turn>();
  const changes = new Map<bigint, readonly [turns: number, tensors: number]>();
  const add = (where: bigint, turns: number, some: number): void => {
    const [before, others] = changes.get(where) ?? [0, 0];
    changes.set(where, [before + turns, others + some]);
  };
  for (const tensor of tensors) {
    if (tensor.to <= tensor.from) continue;
    add(tensor.from, 0, 1);
    add(tensor.to, 0, -1);
    const key = `${tensor.from}/${tensor.name}`;
    const other = smallest.get(key);
    if (other === undefined || tensor.to < other.to) smallest.set(key, tensor);
  }
  for (const { from, to: end } of smallest.values()) {
    add(from, 1, 0);
    add(end, -1, 0);
  }
  const out: Piece[] = [];
  let [turns, there, begin] = [0, 0, 0n];
  for (const [where, [moreTurns, more]] of [...changes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (there > 0) out.push({ from: begin, to: where, turns });
    turns += moreTurns;
    there += more;
    begin = where;
  }
  return out;
}

interface Band {
  readonly counts: Set<number>;
  bytes: number;
  turns: number;
}

/** The numbers of turns in bands, each with about as many turns, summed over its bytes; fewer bands where many bytes have one number. */
function bandsOf(pieces: readonly Piece[]): Band[] {
  const bytesBy = new Map<number, number>();
  for (const { from, to: end, turns } of pieces) bytesBy.set(turns, (bytesBy.get(turns) ?? 0) + Number(end - from));
  const all = [...bytesBy].reduce((sum, [count, bytes]) => sum + count * bytes, 0);
  const bands = new Map<number, Band>();
  let before = 0;
  for (const [count, bytes] of [...bytesBy].sort(([a], [b]) => a - b)) {
    const number = Math.floor((STRATA.length * (before + (count * bytes) / 2)) / all);
    const band = bands.get(number) ?? { counts: new Set(), bytes: 0, turns: 0 };
    bands.set(number, band);
    band.counts.add(count);
    band.bytes += bytes;
    band.turns += count * bytes;
    before += count * bytes;
  }
  return [...bands.values()];
}

/** What is drawn from bytes with a number of turns. */
function drawnFrom(bands: readonly Band[]): (count: number) => Pick<BandPiece, "stratum" | "turns"> {
  const [first, last] = [bands[0], bands.at(-1)];
  if (first === undefined || last === undefined || bands.length < 2) return () => ALL_ALIKE;
  if (last.turns * first.bytes < LEAST_UNLIKE * first.turns * last.bytes) return () => ALL_ALIKE;
  const turns = (1 - FIRST_TURNS) / (bands.length - 1);
  const between = { stratum: STRATA[1], turns };
  return (count) => {
    if (first.counts.has(count)) return { stratum: STRATA[0], turns: FIRST_TURNS };
    return last.counts.has(count) ? { stratum: STRATA[2], turns } : between;
  };
}

/** The memory of activations in two or three strata, or in one where its bytes have about as many turns; pieces in order, none over another. */
export function reuseBands(activations: readonly Turn[]): BandPiece[] {
  const pieces = piecesOf(activations);
  const draws = drawnFrom(bandsOf(pieces));
  const out: { from: bigint; to: bigint; stratum: string; turns: number }[] = [];
  for (const { from, to: end, turns } of pieces) {
    const drawn = draws(turns);
    const last = out.at(-1);
    if (last?.to === from && last.stratum === drawn.stratum) last.to = end;
    else out.push({ from, to: end, ...drawn });
  }
  return out;
}
