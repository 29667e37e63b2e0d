/** What the engine's steps say of KV rows: how long each was needed, and how old it was when read. */

import type { UnitTimes } from "../../statistics/recurrent-survival.ts";
import type { KvRowSample } from "../input/input.ts";

/** Reads of one row are put into so many parts of equal size. */
const PARTS = 32;

/**
 * Rows written at the same time: one unit, because one step wrote them all and one step reads them all. Rows that were there
 * before the first step are one unit too, in `ages` alone.
 */
export interface KvUnits {
  readonly retention: UnitTimes[];
  /** Bytes written. */
  readonly bytes: number[];
  /** Times from the write to each read; of a row that was there, times that it was older than. */
  readonly ages: UnitTimes[];
  /** Bytes read: bytes times read passes. */
  readonly readBytes: number[];
  /** Units with a row whose end was not seen. */
  readonly open: number;
  /** Units of rows that were there: one or none. */
  readonly there: number;
}

interface Unit {
  need: number[];
  open: number[];
  bytes: number;
  age: number[];
  readBytes: number;
}

/**
 * One unit per write time. A row that is still alive is needed at least to its last read: right-censored there.
 * The reads of a row are spaced evenly from its write to its last read, one per step.
 */
export function kvUnits(rows: readonly KvRowSample[]): KvUnits {
  const units = new Map<number | "there", Unit & { seen: Set<string> }>();
  for (const row of rows) {
    const unitKey = row.is_written ? row.write_ns : "there";
    let unit = units.get(unitKey);
    if (!unit) {
      unit = { need: [], open: [], bytes: 0, age: [], readBytes: 0, seen: new Set() };
      units.set(unitKey, unit);
    }
    unit.bytes += row.size_bytes;
    unit.readBytes += row.size_bytes * row.total_reads;
    const need = row.last_read_ns > row.write_ns ? row.last_read_ns - row.write_ns : 0;
    const key = `${need}/${row.evict_ns}/${row.total_reads}`;
    if (unit.seen.has(key)) continue;
    unit.seen.add(key);
    if (Number.isNaN(row.evict_ns)) unit.open.push(need);
    else unit.need.push(need);
    const parts = Math.min(PARTS, row.total_reads);
    for (let k = 0; k < parts; k++) unit.age.push((need * (k + 0.5 * (1 + parts / row.total_reads))) / parts);
  }
  const there = units.get("there");
  units.delete("there");
  const all = [...units.values()];
  return {
    retention: all.map((unit) => ({ complete: unit.need, censored: unit.open })),
    bytes: all.map((unit) => unit.bytes),
    ages: [
      ...all.map((unit) => ({ complete: unit.age, censored: [] })),
      ...(there === undefined ? [] : [{ complete: [], censored: there.age }]),
    ],
    readBytes: [...all, ...(there === undefined ? [] : [there])].map((unit) => unit.readBytes),
    open: all.filter((unit) => unit.open.length > 0).length,
    there: there === undefined ? 0 : 1,
  };
}
