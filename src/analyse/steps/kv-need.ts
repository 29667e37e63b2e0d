/** What the engine's steps say of KV rows: how long each was needed, and how old it was when it was needed. */

import { collectGrown } from "../../columnar/collect-after.ts";
import { everyRow, numberOrder } from "../../columnar/keys/number-order.ts";
import type { ReadSpan } from "../../label/kv/kv-token.ts";
import type { UnitTimes } from "../../statistics/survival/recurrent-survival.ts";
import type { KvRowSample, KvRowSamples } from "../input/input.ts";

/** The needs of one row, in their order, are put into so many parts of equal size, each by the need in its middle; fewer where there are very many rows. */
const PARTS = 32;
const PARTS_IN_ALL = 2_000_000;
/** What summing rows left behind until it is collected, and the parts from one look at that to the next. */
const COLLECT_AFTER_BYTES = 64 * 2 ** 20;
const LOOK_AFTER = 1 << 13;
/** Times that agree in so many leading bits count as one, which moves them by a part in 1024 at most. */
const BITS = 9;
/** A time is moved by so large a share of it at most. */
export const MOST_MOVED = 2 ** -(BITS + 1);

/**
 * Rows of one filling are one unit: what a sequence wrote from one emptying to the next, such as one request. They share
 * their fate, for its length decides how long all of them are needed.
 */
export interface KvUnits {
  /** Of the rows whose write was seen; weighed by their bytes. */
  readonly retention: UnitTimes[];
  /** Bytes written. */
  readonly bytes: number[];
  /** Times from the write to each need; of a row that was there, times that it was older than. Weighed by bytes needed. */
  readonly ages: UnitTimes[];
  /** Bytes needed: bytes times the steps that needed them. */
  readonly readBytes: number[];
  /** Units with a row whose end was not seen. */
  readonly open: number;
  /** Units with rows that were there before the first step. */
  readonly there: number;
}

/** Weight by time. */
type Weights = Map<number, number>;

interface Unit {
  readonly need: Weights;
  readonly open: Weights;
  readonly age: Weights;
  readonly older: Weights;
  bytes: number;
  readBytes: number;
}

function add(weights: Weights, time: number, weight: number): void {
  if (weight > 0) weights.set(time, (weights.get(time) ?? 0) + weight);
}

/** The time to its leading bits. */
function rounded(time: number): number {
  if (!(time > 0)) return 0;
  const step = 2 ** (Math.floor(Math.log2(time)) - BITS);
  return Math.round(time / step) * step;
}

function unitTimes(complete: Weights, censored: Weights): UnitTimes {
  return {
    complete: [...complete.keys()],
    censored: [...censored.keys()],
    weights: { complete: [...complete.values()], censored: [...censored.values()] },
  };
}

/** How many rows each filling has, in order of first appearance, and the rows in that order: one unit is held at a time. */
function rowsByUnit(rows: KvRowSamples): { readonly units: readonly number[]; readonly order: Uint32Array } {
  const numbers = new Map<number, number>();
  const units: number[] = [];
  const unitOf = new Uint32Array(rows.length);
  let row = 0;
  for (const { filling } of rows) {
    const unit = numbers.get(filling) ?? units.push(0) - 1;
    numbers.set(filling, unit);
    units[unit] = (units[unit] as number) + 1;
    unitOf[row++] = unit;
  }
  return { units, order: numberOrder(everyRow(rows.length), unitOf) };
}

/** Begin of the need with a number, from 0; null where so many are not told. */
function needNs(needs: readonly ReadSpan[], wanted: number): number | null {
  let left = wanted;
  for (const { begins, from, until } of needs) {
    if (left < until - from) return begins[from + left] ?? null;
    left -= until - from;
  }
  return null;
}

function addRow(unit: Unit, row: KvRowSample, mostParts: number): void {
  const { size_bytes, total_reads, needs, write_ns, last_read_ns, is_written } = row;
  const need = last_read_ns > write_ns ? last_read_ns - write_ns : 0;
  unit.readBytes += size_bytes * total_reads;
  if (is_written) {
    unit.bytes += size_bytes;
    add(Number.isNaN(row.evict_ns) ? unit.open : unit.need, rounded(need), size_bytes);
  }
  const parts = Math.min(mostParts, total_reads);
  const ages = is_written ? unit.age : unit.older;
  for (let k = 0; k < parts; k++) {
    const middle = Math.floor(((k + 0.5) * total_reads) / parts);
    const begin_ns = needs === undefined ? null : needNs(needs, middle);
    const age = begin_ns === null ? (need * (k + 0.5 * (1 + parts / total_reads))) / parts : begin_ns - write_ns;
    add(ages, rounded(age), (size_bytes * total_reads) / parts);
  }
}

/** Units by their rows: several figures and curves ask for them. */
const found = new WeakMap<KvRowSamples, KvUnits>();

/**
 * One unit per filling. A row that is still alive is needed at least to its last need: right-censored there. Needs come when the
 * steps began that had them: those behind a long prompt, or a rest of its client, are all older than it took.
 */
export function kvUnits(rows: KvRowSamples): KvUnits {
  const units = found.get(rows) ?? unitsOf(rows);
  found.set(rows, units);
  return units;
}

function unitsOf(rows: KvRowSamples): KvUnits {
  const { units, order } = rowsByUnit(rows);
  const mostParts = Math.max(1, Math.min(PARTS, Math.floor(PARTS_IN_ALL / Math.max(1, rows.length))));
  const out = { retention: [], bytes: [], ages: [], readBytes: [], open: 0, there: 0 } as {
    -readonly [K in keyof KvUnits]: KvUnits[K];
  };
  const summed = collectGrown(COLLECT_AFTER_BYTES, LOOK_AFTER);
  let next = 0;
  for (const size of units) {
    const unit: Unit = { need: new Map(), open: new Map(), age: new Map(), older: new Map(), bytes: 0, readBytes: 0 };
    for (const end = next + size; next < end; next++)
      addRow(unit, rows.at(order[next] as number) as KvRowSample, mostParts);
    if (unit.bytes > 0) {
      out.retention.push(unitTimes(unit.need, unit.open));
      out.bytes.push(unit.bytes);
      if (unit.open.size > 0) out.open += 1;
    }
    if (unit.readBytes > 0) {
      out.ages.push(unitTimes(unit.age, unit.older));
      out.readBytes.push(unit.readBytes);
      if (unit.older.size > 0) out.there += 1;
    }
    summed(size * mostParts);
  }
  return out;
}
