/** Holds the caches of a run that move for every pass against what the program itself says of each layer: where it lay after each pass. */
import { openRun } from "../src/api/open-run.ts";
import type { SaidForward } from "./truth-caches.ts";

/** Times of CLOCK_MONOTONIC, ns. */
export interface SaidMoves {
  readonly versions: Readonly<Record<string, string>>;
  /** From when until when each was there. */
  readonly caches: readonly {
    readonly made: number;
    readonly there: number;
    readonly gone: number;
    /** Of each layer; behind which pass a row left its layer: -1 where it went with its cache. */
    readonly rows: readonly (readonly [
      layer: number,
      position: number,
      written: number,
      reads: number,
      last: number,
    ])[];
    /** The first pass behind a change of the order of its sequences; -1 where there was none. */
    readonly reordered: number;
  }[];
  readonly forwards: readonly SaidForward[];
  /** Of each pass, layer by layer: where keys and values lay after it, by torch itself. */
  readonly moves: readonly (readonly [
    forward: number,
    began: number,
    ended: number,
    keys: number,
    keyBytes: number,
    values: number,
    valueBytes: number,
  ])[];
}

export interface MoveJudgement {
  /** Stays of keys or values at one place, for one pass, and how many of them have their layer, part, address, size and time. */
  readonly stays: number;
  readonly right: number;
  /** Bytes of these, and of all. */
  readonly right_bytes: number;
  readonly bytes: number;
  /** Labels that are none of these. */
  readonly wrong: number;
  /** Share of the time of all stays in which they are labelled, weighed by their bytes. */
  readonly held_pct: number;
}

interface Stay {
  readonly name: string;
  readonly addr: number;
  readonly bytes: number;
  /** It came between these, and was gone at the end of the last. */
  readonly began: number;
  readonly came: number;
  readonly leaves: number;
  readonly gone: number;
}

/** Every stay of keys and values, of which the next pass of the same cache makes another. */
function staysOf({ caches, forwards, moves }: SaidMoves): Stay[] {
  const byForward = Map.groupBy(moves, ([forward]) => forward);
  return forwards.flatMap(([cache], i) => {
    const next = forwards[i + 1]?.[0] === cache ? (byForward.get(i + 1) ?? []) : [];
    return (byForward.get(i) ?? []).flatMap(([, began, came, keys, keyBytes, values, valueBytes], layer) => {
      const { there = Number.POSITIVE_INFINITY, gone = Number.POSITIVE_INFINITY } = caches[cache] ?? {};
      const [, leaves = there, last = gone] = next[layer] ?? [];
      const time = { began, came, leaves, gone: last };
      return [
        { name: `cache_k_l${layer}`, addr: keys, bytes: keyBytes, ...time },
        { name: `cache_v_l${layer}`, addr: values, bytes: valueBytes, ...time },
      ];
    });
  });
}

/** @param goesOn what came before the second step and after the last is not asked for */
export function judgeMoves(runDir: string, said: SaidMoves, goesOn: boolean): MoveJudgement {
  using opened = openRun(runDir);
  const table = (name: "step" | "region_map") =>
    opened.table(name).toArray() as unknown as Readonly<Record<string, unknown>>[];
  const begins = table("step")
    .filter(({ kind }) => kind === "decode")
    .map(({ timestamp_ns }) => Number(timestamp_ns))
    .sort((one, other) => one - other);
  // Nothing is told of a cache of which the last pass alone was seen.
  const [from, end] = goesOn ? [begins.at(1) ?? 0, begins.at(-1) ?? 0] : [0, Number.POSITIVE_INFINITY];
  const labels = table("region_map")
    .filter(({ region_type }) => region_type === "kv_cache")
    .map((row) => ({
      ...{ tensor: row.tensor, addr: Number(row.addr), bytes: Number(row.size_bytes) },
      ...{ birth: Number(row.birth_ns), death: Number(row.death_ns), isFound: false },
    }));
  const byPlace = Map.groupBy(labels, ({ tensor, addr, bytes }) => `${tensor}/${addr}/${bytes}`);
  const judged = { stays: 0, right: 0, right_bytes: 0, bytes: 0 };
  let [held, whole] = [0, 0];
  for (const { name, addr, bytes, began, came, leaves, gone } of staysOf(said)) {
    const mine = (byPlace.get(`${name}/${addr}/${bytes}`) ?? []).filter(
      ({ birth, death }) => birth >= began && birth <= came && death <= gone,
    );
    for (const label of mine) label.isFound = true;
    if (began < from || gone > end) continue;
    judged.stays += 1;
    judged.bytes += bytes;
    whole += bytes * (leaves - came);
    held += mine.reduce((sum, { birth, death }) => {
      return sum + bytes * Math.max(0, Math.min(death, leaves) - Math.max(birth, came));
    }, 0);
    if (mine.length === 0) continue;
    judged.right += 1;
    judged.right_bytes += bytes;
  }
  return { ...judged, wrong: labels.filter(({ isFound }) => !isFound).length, held_pct: (100 * held) / whole };
}
