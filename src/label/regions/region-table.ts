/** region_map.parquet: the regions, and what the trace saw of each. */
import { join } from "node:path";
import { NULL_CODE, type StringColumn } from "../../columnar/batch.ts";
import { collectAfter } from "../../columnar/collect-after.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { Encodable } from "../../columnar/write/encodable.ts";
import { openParquetWriter } from "../../columnar/write/parquet-writer.ts";
import type { EveryColumn } from "../../schema/row.ts";
import type { RegionAccesses } from "../trace/region-accesses.ts";
import type { AllocationRegions } from "./allocation-regions.ts";
import { CENSORED } from "./places.ts";
import type { RegionFacts, Regions } from "./region-map.ts";
import { bytesAt, fullestLook, type Residency, staysOf } from "./residency.ts";

const TABLE = "region_map";
const PAGE_BYTES = 4096;
const GROUP_ROWS = 1 << 15;
/** Rows that are objects for a moment. */
const OBJECT_ROWS = 1 << 13;

/** Texts of a column by the facts of the rows; null where there is none. */
function factTexts(facts: readonly RegionFacts[], textOf: (found: RegionFacts) => string | null) {
  const values: string[] = [];
  const codeOf = new Map<string, number>();
  const codes = Uint32Array.from(facts, (found) => {
    const text = textOf(found);
    if (text === null) return NULL_CODE;
    const code = codeOf.get(text) ?? values.push(text) - 1;
    codeOf.set(text, code);
    return code;
  });
  return (what: Uint32Array): StringColumn => ({ codes: what.map((fact) => codes[fact] as number), values });
}

/** What was seen of the regions, by their rows. */
interface Seen {
  readonly accesses: RegionAccesses;
  readonly residency: Residency;
}

/** Columns of what was in memory, of some rows. */
function residentColumns(residency: Residency, regions: number, originNs: bigint) {
  const fullest = fullestLook(residency, regions);
  const mostOf = (row: number): number | null => {
    let most: number | null = null;
    for (const stay of staysOf(residency, row)) most = Math.max(most ?? 0, residency.bytes[stay] as number);
    return most;
  };
  const latest = (row: number): number => residency.latest[row] ?? -1;
  return (from: number, end: number) => {
    const column = (find: (row: number) => bigint | null) => {
      const values = Array.from({ length: end - from }, (_, i) => find(from + i));
      return {
        data: BigUint64Array.from(values, (value) => value ?? 0n),
        valid: Uint8Array.from(values, (value) => (value === null ? 0 : 1)),
      };
    };
    const bytes = (bytesOf: (row: number) => number | null) =>
      column((row) => {
        const found = bytesOf(row);
        return found === null ? null : BigInt(found);
      });
    return {
      resident_bytes: bytes((row) => residency.bytes[latest(row)] ?? null),
      resident_looked_ns: column((row) => {
        const look = residency.last_look[latest(row)];
        return look === undefined ? null : originNs + BigInt(Math.round(residency.look_ns[look] as number));
      }),
      resident_most_bytes: bytes(mostOf),
      resident_fullest_bytes: bytes((row) => bytesAt(residency, row, fullest)),
    };
  };
}

/** Makes the columns of some rows. */
function regionColumns(regions: Regions, { accesses, residency }: Seen, originNs: bigint) {
  const { facts } = regions;
  const resident = residentColumns(residency, regions.count, originNs);
  const texts = {
    region_type: factTexts(facts, ({ region_type }) => region_type),
    logical_id: factTexts(facts, ({ logical_id }) => logical_id),
    name: factTexts(facts, ({ name }) => name),
    tensor: factTexts(facts, ({ tensor }) => tensor),
    mapping_kind: factTexts(facts, ({ mapping_kind }) => mapping_kind),
    evidence: factTexts(facts, ({ evidence }) => evidence),
    candidates: factTexts(facts, ({ candidates }) => (candidates.length === 0 ? null : JSON.stringify(candidates))),
  };

  return (from: number, end: number): Encodable => {
    const rows = end - from;
    const what = regions.what.subarray(from, end);
    const times = (first: Float64Array): BigInt64Array =>
      BigInt64Array.from({ length: rows }, (_, i) => originNs + BigInt(Math.round(first[from + i] as number)));
    const seenOr = (seenNs: (region: number) => number, unseen: Float64Array): BigInt64Array =>
      BigInt64Array.from({ length: rows }, (_, i) => {
        const row = from + i;
        const time_ns = accesses.rowsOf(row) > 0 ? seenNs(row) : unseen[row];
        return originNs + BigInt(Math.round(time_ns as number));
      });
    const pages = (bytes: (row: number) => number): BigInt64Array =>
      BigInt64Array.from({ length: rows }, (_, i) => BigInt(Math.floor(bytes(from + i) / PAGE_BYTES)));
    const bit = (mask: number): Uint8Array =>
      regions.censored.subarray(from, end).map((bits) => ((bits & mask) !== 0 ? 1 : 0));
    const layers = Int32Array.from(what, (fact) => facts[fact]?.layer ?? 0);
    return {
      table: TABLE,
      rows,
      columns: {
        region_id: { data: BigInt64Array.from({ length: rows }, (_, i) => BigInt(from + i + 1)) },
        region_type: texts.region_type(what),
        page_min: { data: pages((row) => regions.begin[row] as number) },
        page_max: { data: pages((row) => (regions.end[row] as number) - 1) },
        first_seen_ns: { data: seenOr(accesses.firstNs, regions.birth_ns) },
        last_seen_ns: { data: seenOr(accesses.lastNs, regions.death_ns) },
        access_count: {
          data: BigInt64Array.from({ length: rows }, (_, i) => BigInt(accesses.rowsOf(from + i))),
        },
        pid: { data: regions.pid.subarray(from, end) },
        exec_epoch: { data: Uint32Array.from(what, (fact) => facts[fact]?.exec_epoch ?? 0) },
        logical_id: texts.logical_id(what),
        name: texts.name(what),
        tensor: texts.tensor(what),
        layer: { data: layers, valid: Uint8Array.from(what, (fact) => (facts[fact]?.layer == null ? 0 : 1)) },
        addr: { data: BigUint64Array.from({ length: rows }, (_, i) => BigInt(regions.begin[from + i] as number)) },
        size_bytes: {
          data: BigUint64Array.from({ length: rows }, (_, i) =>
            BigInt((regions.end[from + i] as number) - (regions.begin[from + i] as number)),
          ),
        },
        mapping_kind: texts.mapping_kind(what),
        birth_ns: { data: new BigUint64Array(times(regions.birth_ns).buffer) },
        death_ns: { data: new BigUint64Array(times(regions.death_ns).buffer) },
        birth_censored: { data: bit(CENSORED.birth) },
        death_censored: { data: bit(CENSORED.death) },
        evidence: texts.evidence(what),
        confidence: { data: Float32Array.from(what, (fact) => facts[fact]?.confidence ?? 0) },
        candidates: texts.candidates(what),
        ...resident(from, end),
      } satisfies EveryColumn<typeof TABLE>,
    };
  };
}

/**
 * Writes region_map.parquet, a row group at a time.
 * @param allocations rows that follow those of the regions
 * @throws MrmTraceError failure where it cannot be written
 */
export function writeRegionMap(
  runDir: string,
  regions: Regions,
  seen: Seen,
  originNs: bigint,
  allocations: AllocationRegions,
): void {
  using writer = openParquetWriter(join(runDir, "region_map.parquet"), TABLE);
  const written = collectAfter(GROUP_ROWS);
  const columns = regionColumns(regions, seen, originNs);
  for (let from = 0; from < regions.count; from += GROUP_ROWS) {
    writer.add(columns(from, Math.min(regions.count, from + GROUP_ROWS)));
    written(GROUP_ROWS);
  }
  const madeOfObjects = collectAfter(2 * OBJECT_ROWS);
  for (let from = 0; from < allocations.count; from += OBJECT_ROWS) {
    writer.add(batchFromRows(TABLE, allocations.rows(from, Math.min(allocations.count, from + OBJECT_ROWS))));
    madeOfObjects(OBJECT_ROWS);
  }
  writer.finish();
}
