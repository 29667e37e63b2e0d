/** Holds the caches of a run against what the program itself says of each: where it lay, from when until when, and which rows were written. */
import { openRun } from "../src/api/open-run.ts";

/** Times of CLOCK_MONOTONIC, ns. */
export interface SaidCache {
  /** Before it was allocated, the last time that it was surely there, and after it was given back. */
  readonly made: number;
  readonly there: number;
  readonly gone: number;
  /** Of each layer, by torch itself. */
  readonly layers: readonly (readonly [keys: number, keyBytes: number, values: number, valueBytes: number])[];
}
export type SaidForward = readonly [
  cache: number,
  begin: number,
  end: number,
  tokens: number,
  sequences: number,
  first: number,
];
export interface SaidCaches {
  readonly versions: Readonly<Record<string, string>>;
  readonly caches: readonly SaidCache[];
  readonly forwards: readonly SaidForward[];
}

export interface CacheJudgement {
  readonly caches: number;
  /** Bytes of keys and values by their layer and part; those without; those labelled where no cache is, or of another layer, or at another time. */
  readonly right: number;
  readonly missing: number;
  readonly wrong: number;
  /** Least share of the time of a cache, from its first pass on, in which it is labelled. */
  readonly least_pct: number;
  /** Rows of tokens with their position and the passes that read them; those that are missing or differ. */
  readonly rows: number;
  readonly rowsDiffering: number;
}

type Row = Readonly<Record<string, unknown>>;
/** ns that clocks of one thread may be read apart. */
const SLACK_NS = 1_000_000;

/** Every row that was written, as text: when, in which tensor, at which position, in how many later passes it was needed. */
function rowsOf(caches: readonly SaidCache[], forwards: readonly SaidForward[], times: readonly number[]): string[] {
  return forwards.flatMap(([cache, , , tokens, sequences, first], i) => {
    // Passes of one filling follow each other; the next one begins again at the first row.
    const later = forwards.slice(i + 1);
    const until = later.findIndex(([other, , , , , row]) => other !== cache || row <= first);
    const reads = until < 0 ? later.length : until;
    const layers = caches[cache]?.layers.flatMap((_, layer) => [`cache_k_l${layer}`, `cache_v_l${layer}`]) ?? [];
    return layers.flatMap((tensor) =>
      Array.from({ length: tokens * sequences }, (_, t) => {
        return `${times[i]} ${tensor} ${first + (t % tokens)} ${reads}`;
      }),
    );
  });
}

/** How many of `one` the other has not, each as often as it is there. */
export function without(one: readonly string[], other: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const text of other) counts.set(text, (counts.get(text) ?? 0) + 1);
  return one.filter((text) => {
    const left = counts.get(text) ?? 0;
    counts.set(text, left - 1);
    return left <= 0;
  }).length;
}

/** @param goesOn what came before the first step and after the last is not asked for */
export function judgeCaches(runDir: string, said: SaidCaches, goesOn: boolean): CacheJudgement {
  using opened = openRun(runDir);
  const table = (name: "step" | "region_map" | "kv_block_lifecycle"): readonly Row[] =>
    opened.table(name).toArray() as unknown as Row[];
  const begins = table("step")
    .filter(({ kind }) => kind === "decode")
    .map(({ timestamp_ns }) => Number(timestamp_ns))
    .sort((one, other) => one - other);
  const [from, end] = goesOn ? [begins.at(0) ?? 0, begins.at(-1) ?? 0] : [0, Number.POSITIVE_INFINITY];
  const regions = table("region_map").filter(({ region_type }) => region_type === "kv_cache");
  const found = new Set<Row>();
  let [right, missing, least_pct] = [0, 0, 100];
  const asked = said.caches
    .map((cache, i) => ({ cache, i }))
    .filter(({ cache }) => cache.made >= from && cache.gone <= end);
  for (const [i, cache] of said.caches.entries()) {
    const isAsked = asked.some((one) => one.i === i);
    const written = said.forwards.find(([of]) => of === i)?.[2] ?? cache.there;
    for (const [layer, [keys, keyBytes, values, valueBytes]] of cache.layers.entries()) {
      for (const [name, addr, bytes] of [
        [`cache_k_l${layer}`, keys, keyBytes],
        [`cache_v_l${layer}`, values, valueBytes],
      ] as const) {
        const mine = regions.filter((row) => {
          const isPlace = Number(row.addr) === addr && Number(row.size_bytes) === bytes && row.layer === layer;
          const isTime = Number(row.birth_ns) >= cache.made && Number(row.death_ns) <= cache.gone + SLACK_NS;
          return isPlace && isTime && row.tensor === name;
        });
        for (const row of mine) found.add(row);
        if (!isAsked) continue;
        if (mine.length > 0) right += bytes;
        else missing += bytes;
        const held = mine.reduce((sum, row) => sum + Number(row.death_ns) - Math.max(written, Number(row.birth_ns)), 0);
        least_pct = Math.min(least_pct, (100 * held) / (cache.there - written));
      }
    }
  }
  const wrong = regions.filter((row) => !found.has(row)).reduce((sum, row) => sum + Number(row.size_bytes), 0);
  // A pass is named by its step: the one that begins in it.
  const times = said.forwards.map(([, begin, ends]) => begins.find((time) => time >= begin && time <= ends) ?? begin);
  const truth = rowsOf(said.caches, said.forwards, times);
  const isInside = (text: string): boolean => {
    const time = Number(text.split(" ")[0]);
    return asked.some(({ cache }) => time >= cache.made && time <= cache.gone);
  };
  const wanted = truth.filter(isInside);
  const known = table("kv_block_lifecycle")
    .map(({ write_ns, tensor, position, total_reads }) => `${Number(write_ns)} ${tensor} ${position} ${total_reads}`)
    .filter(isInside);
  const rowsDiffering = without(wanted, known) + without(known, wanted);
  return { caches: asked.length, right, missing, wrong, least_pct, rows: wanted.length, rowsDiffering };
}
