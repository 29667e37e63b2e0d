/** The rows of a Parquet file of one of our tables, one batch for each row group. */
import { type Column, columnsOf, type TableName } from "../../schema/columns.ts";
import { refuseOtherMajor } from "../../schema/refuse-version.ts";
import { SCHEMA_VERSION_KEY, TABLE_KEY } from "../../schema/versions.ts";
import { ARRAY_TYPES } from "../arrays.ts";
import type { Batch, ColumnData, NumberColumn } from "../batch.ts";
import { openParquetSource } from "./parquet-file.ts";
import { groupsOf, type ScannedGroup } from "./scan.ts";

function numbersOf(group: ScannedGroup, { name, type }: Column, valid: Uint8Array): NumberColumn["data"] {
  const { rows } = group;
  if (type === "bool") {
    const values = new Uint8Array(rows);
    group.bools(name, values, valid);
    return values;
  }
  if (type === "string") throw new TypeError("a column of texts has no numbers");
  const isWide = type === "u64" || type === "i64" || type === "f64";
  const words = new Uint32Array(isWide ? 2 * rows : rows);
  group.words(name, words, valid);
  const Values = ARRAY_TYPES[type];
  // Narrow numbers lie in the file as 32 bits each.
  return Values === Uint8Array || Values === Uint16Array ? Values.from(words) : new Values(words.buffer);
}

/** A column of the table; null where the file need not have it and has not. @throws Error where it does not fit */
function columnOf(group: ScannedGroup, column: Column): ColumnData | null {
  const { name, type, nullable } = column;
  const found = group.column(name);
  if (found === null && nullable) return null;
  if (found === null) throw new Error(`it has no column ${name}`);
  if (found.type !== type) throw new Error(`its column ${name} is ${found.type ?? "of no type of ours"}, not ${type}`);
  if (type === "string") {
    const codes = new Uint32Array(group.rows);
    const values = group.texts(name, codes);
    if (!nullable && codes.some((code) => code >= values.length)) throw new Error(`${name} has rows without a value`);
    return { codes, values };
  }
  const valid = new Uint8Array(group.rows);
  const data = numbersOf(group, column, valid);
  if (!valid.includes(0)) return { data };
  if (!nullable) throw new Error(`${name} has rows without a value`);
  return { data, valid };
}

/**
 * Batches in file order, in memory of their own; columns that the table does not know are left out.
 * @param only number of the one row group that is wanted; all are where it is null
 * @throws Error where the file is missing, damaged, of another table or not decoded here; MrmTraceError data_quality at
 *   another major schema version
 */
export function* tableBatches<N extends TableName>(
  path: string,
  table: N,
  only: number | null = null,
): Generator<Batch<N>, void, void> {
  using source = openParquetSource(path);
  const { metadata } = source.footer;
  const version = metadata.get(SCHEMA_VERSION_KEY);
  if (version === undefined) throw new Error(`it has no ${SCHEMA_VERSION_KEY}`);
  refuseOtherMajor(path, version);
  // Derived files carry no name: their columns say what they are.
  const named = metadata.get(TABLE_KEY) ?? table;
  if (named !== table) throw new Error(`it holds rows of ${named}`);
  let number = 0;
  for (const group of groupsOf(source)) {
    if (only !== null && number++ !== only) continue;
    const columns: Record<string, ColumnData> = {};
    for (const column of columnsOf(table)) {
      const data = columnOf(group, column);
      if (data !== null) columns[column.name] = data;
    }
    if (group.rows > 0) yield { table, rows: group.rows, columns };
  }
}
