/** What steps say of caches that move for every batch: what is there is copied to other memory, and rows are put behind it. */
import { detailOf } from "../../schema/step-detail.ts";
import { isBatch, type StepRow } from "../timeline/step-row.ts";

/** Of a layer: rows of the batch before that lie in front of those that are kept, how many these are, and how many come behind. */
export type LayerRows = readonly [from: number, kept: number, added: number];

/** A batch of such a cache. */
export interface MovedBatch {
  readonly step: StepRow;
  /** How many batches the cache had before, as its engine saw them. */
  readonly number: number;
  /** Number of its first sequence, and how many it has. */
  readonly sequence: number;
  readonly sequences: number;
  /** Of each layer. */
  readonly rows: readonly LayerRows[];
  /** Bytes of a row in each layer. */
  readonly bytes: readonly (readonly [keys: number, values: number])[];
}

export interface MovedCache {
  readonly pid: number;
  readonly engine: string | null;
  /** Its number in its process. */
  readonly number: number;
  /** In order of time; at least one. */
  readonly batches: readonly MovedBatch[];
  /** Which layers of the model it has; null where that is not known. */
  readonly numbers: readonly number[] | null;
  /** When it was given back; null where that was not seen. */
  readonly gone_ns: number | null;
  /** It went where it is not followed. */
  readonly isLost: boolean;
}

const LAYERS = 4096;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** A list of lists of so many whole numbers, one for each layer; null for another. */
function perLayer<T extends readonly number[]>(
  lists: unknown,
  width: T["length"],
  layers: number,
): readonly T[] | null {
  if (!Array.isArray(lists) || (lists.length !== 1 && lists.length !== layers)) return null;
  const isOne = (list: unknown): list is T => Array.isArray(list) && list.length === width && list.every(isCount);
  if (!lists.every(isOne)) return null;
  return lists.length === layers ? lists : Array.from({ length: layers }, () => lists[0] as T);
}

const cacheOf = (step: StepRow): readonly number[] | null => {
  const { moved_cache } = detailOf(step);
  return Array.isArray(moved_cache) && moved_cache.every(isCount) && moved_cache.length > 0 ? moved_cache : null;
};

/** Null where the step tells of no such cache, or what it tells cannot be. */
function batchOf(step: StepRow): MovedBatch | null {
  const { moved_sequences: named, moved_layers: layers, moved_rows, moved_bytes } = detailOf(step);
  const number = cacheOf(step)?.[1];
  if (number === undefined || !isCount(layers) || layers === 0 || layers > LAYERS) return null;
  if (!Array.isArray(named) || !named.every(isCount)) return null;
  const [sequence, sequences = 0] = named;
  const rows = perLayer<LayerRows>(moved_rows, 3, layers);
  const bytes = perLayer<MovedBatch["bytes"][number]>(moved_bytes, 2, layers);
  if (sequence === undefined || rows === null || bytes === null) return null;
  const isWhole = rows.every(([, , added]) => added > 0 && added * sequences === step.n_tokens);
  return isWhole ? { step, number, sequence, sequences, rows, bytes } : null;
}

/** Which layers of the model a step says that a cache of so many has: all from the first on unless told, null where it is not known. */
function numbersOf(step: StepRow, layers: number): readonly number[] | null {
  const { moved_numbers = [...Array(layers).keys()] } = detailOf(step);
  const isList = Array.isArray(moved_numbers) && moved_numbers.length === layers && moved_numbers.every(isCount);
  return isList ? moved_numbers : null;
}

/** True for a step that tells of a cache that moves. */
export const tellsMoved = (step: StepRow): boolean => cacheOf(step) !== null;

/** The caches of one engine in one process that move. @param steps its own, in order of their begin */
export function movedCaches(pid: number, engine: string | null, steps: readonly StepRow[]): MovedCache[] {
  const batches = new Map<number, [MovedBatch, ...MovedBatch[]]>();
  const ends = new Map<number, { readonly gone_ns: number; readonly isLost: boolean }>();
  const later = new Map<number, StepRow>();
  for (const step of steps) {
    const number = cacheOf(step)?.[0];
    if (number === undefined) continue;
    const batch = isBatch(step) ? batchOf(step) : null;
    const mine = batches.get(number);
    if (batch !== null && mine !== undefined) mine.push(batch);
    else if (batch !== null) batches.set(number, [batch]);
    else if (step.kind === "kv_free") {
      ends.set(number, { gone_ns: step.begin_ns, isLost: detailOf(step).is_lost === true });
    } else if (step.kind === "engine") later.set(number, step);
  }
  return [...batches].map(([number, mine]) => {
    const { gone_ns = null, isLost = false } = ends.get(number) ?? {};
    const [{ step, rows }] = mine;
    const numbers = numbersOf(later.get(number) ?? step, rows.length);
    return { pid, engine, number, batches: mine, numbers, gone_ns: isLost ? null : gone_ns, isLost };
  });
}
