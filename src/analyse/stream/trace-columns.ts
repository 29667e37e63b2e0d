/** Labelled accesses of a trace file as typed arrays, a few thousand rows at a time. */

import { OP } from "../../schema/operation.ts";
import { wordsOf } from "../../schema/row.ts";
import { type Database, parquetScan } from "../../sql/database.ts";
import { vectorWords } from "../../sql/vector-words.ts";

/** Classes by the number that stands for them. */
export const CLASSES = wordsOf("region_map", "region_type");
/** A code is the class above so many bits of operation. */
export const CLASS_SHIFT = 2;
const OPS = 1 << CLASS_SHIFT;
/** Bits of a row's code below its thread; threads are told apart below 2^27, and no kernel has as many. */
export const CODE_BITS = 5;
export const MOST_THREAD = 2 ** (32 - CODE_BITS) - 1;

/** Accesses in the order of the file, or of time where that was asked for. */
export interface AccessColumns {
  readonly rows: number;
  /** Pairs of 32-bit words, low word first. */
  readonly address: Uint32Array;
  readonly time_ns: Uint32Array;
  /** The thread above CODE_BITS of class and operation. */
  readonly code: Uint32Array;
}

/** Class of a row's code without its thread, as an index into CLASSES. */
export function classOf(code: number): number {
  return code >>> CLASS_SHIFT;
}

/** Operation of a row's code, a value of OP. */
export function opOf(code: number): number {
  return code & (OPS - 1);
}

function codeSql(): string {
  const classes = CLASSES.slice(0, -1).map((name, i) => `WHEN '${name}' THEN ${i * OPS}`);
  const ops = Object.entries(OP).filter(([name]) => name !== "unknown");
  const words = ops.map(([name, value]) => `WHEN '${name}' THEN ${value}`);
  return `(CASE region_type ${classes.join(" ")} ELSE ${(CLASSES.length - 1) * OPS} END
    + CASE op_type ${words.join(" ")} ELSE ${OP.unknown} END)`;
}

export interface AccessQuery {
  readonly paths: readonly string[];
  /** True where the file has the column thread_id. */
  readonly threads: boolean;
  readonly inOrderOfTime: boolean;
  /** One of so many parts, by 4 KiB page; null for all. */
  readonly part: { readonly index: number; readonly of: number } | null;
}

function accessSql(query: AccessQuery): string {
  const { paths, threads, inOrderOfTime, part } = query;
  const place = part === null ? "" : ` AND hash(address >> 12) % ${part.of} = ${part.index}`;
  return `SELECT CAST(address AS UBIGINT) AS address, CAST(timestamp_ns AS UBIGINT) AS time_ns, 
    CAST(${threads ? `(least(greatest(coalesce(TRY_CAST(thread_id AS BIGINT), 0), 0), ${MOST_THREAD}) << ${CODE_BITS}) + ` : ""}${codeSql()} AS UINTEGER) AS code
    FROM ${parquetScan(paths)}
    WHERE address IS NOT NULL AND timestamp_ns IS NOT NULL${place}${inOrderOfTime ? " ORDER BY timestamp_ns" : ""}`;
}

/** Hands every part of the result to `take`, in order; the arrays are valid only within the call. */
export async function readAccesses(
  database: Database,
  query: AccessQuery,
  take: (columns: AccessColumns) => void,
): Promise<void> {
  const result = await database.connection.stream(accessSql(query));
  let coming = result.fetchChunk();
  for (;;) {
    const chunk = await coming;
    if (chunk === null || chunk.rowCount === 0) return;
    // The engine decodes the next rows while these are taken.
    coming = result.fetchChunk();
    const words = [0, 1, 2].map((column) => vectorWords(chunk.getColumnVector(column)));
    const [address, time_ns, code] = words as [Uint32Array, Uint32Array, Uint32Array];
    take({ rows: chunk.rowCount, address, time_ns, code });
  }
}
