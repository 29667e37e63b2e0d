/** What the engine's steps say of KV rows: how long each was needed, and how old it was when read. */
import type { KvRowSample } from "./input.ts";
import type { UnitTimes } from "./recurrent-survival.ts";

/** Reads of one row are put into so many parts of equal size. */
const PARTS = 32;

/** Rows written at the same time: one unit, because one step wrote them all and one step reads them all. */
export interface KvUnits {
  readonly retention: UnitTimes[];
  /** Bytes written. */
  readonly bytes: number[];
  readonly ages: UnitTimes[];
  /** Bytes read: bytes times read passes. */
  readonly readBytes: number[];
  /** Units with a row whose end was not seen. */
  readonly open: number;
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
  const units = new Map<number, Unit & { seen: Set<string> }>();
  for (const row of rows) {
    let unit = units.get(row.write_ns);
    if (!unit) {
      unit = { need: [], open: [], bytes: 0, age: [], readBytes: 0, seen: new Set() };
      units.set(row.write_ns, unit);
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
  const all = [...units.values()];
  return {
    retention: all.map((unit) => ({ complete: unit.need, censored: unit.open })),
    bytes: all.map((unit) => unit.bytes),
    ages: all.map((unit) => ({ complete: unit.age, censored: [] })),
    readBytes: all.map((unit) => unit.readBytes),
    open: all.filter((unit) => unit.open.length > 0).length,
  };
}
