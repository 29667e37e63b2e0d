/** `csv`: one table as comma-separated text (RFC 4180), lines ended by \n. */
import { type ColumnData, isStringColumn } from "../columnar/batch.ts";
import { collectAfter } from "../columnar/collect-after.ts";
import { csvField } from "../report/csv.ts";
import { type Column, columnsOf } from "../schema/columns.ts";
import type { ExportTask, FileFormat } from "./export-format.ts";
import type { NewFile } from "./new-file.ts";

/** Rows that are made text at a time. */
const LINES = 1 << 12;
/** Rows until what their text left behind is collected. */
const COLLECT_AFTER = 1 << 18;
const WORD = 2 ** 32;
/** Above it a number is not exact. */
const EXACT_HIGH = 2 ** 21;

/** An empty text is quoted: a field without a value is not. */
function textField(text: string): string {
  return text === "" ? '""' : csvField(text);
}

/** Texts of whole numbers of 64 bits: few need all of them, and a bigint for each row takes ten times as long. */
function wideTexts(values: BigUint64Array | BigInt64Array): (row: number) => string {
  const words = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  return (row) => {
    const high = words[2 * row + 1] as number;
    return high < EXACT_HIGH ? String(high * WORD + (words[2 * row] as number)) : String(values[row]);
  };
}

/** Gives the fields of a column by row. */
function fieldsOf({ type }: Column, data: ColumnData | undefined): (row: number) => string {
  if (data === undefined) return () => "";
  if (isStringColumn(data)) {
    const fields = data.values.map(textField);
    return (row) => fields[data.codes[row] as number] ?? "";
  }
  const { data: values, valid } = data;
  const isWide = values instanceof BigUint64Array || values instanceof BigInt64Array;
  const plain = isWide ? wideTexts(values) : (row: number): string => String(values[row]);
  const text = type === "bool" ? (row: number) => String(values[row] !== 0) : plain;
  return valid === undefined ? text : (row) => (valid[row] === 0 ? "" : text(row));
}

function linesOf(fields: readonly ((row: number) => string)[], from: number, end: number): string {
  let text = "";
  for (let row = from; row < end; row++) {
    for (let i = 0; i < fields.length; i++) {
      if (i > 0) text += ",";
      text += fields[i]?.(row);
    }
    text += "\n";
  }
  return text;
}

async function write({ run, table, goOn }: ExportTask, file: NewFile): Promise<void> {
  const encoder = new TextEncoder();
  const columns = columnsOf(table);
  const all = run.countRows(table);
  const made = collectAfter(COLLECT_AFTER);
  file.write(encoder.encode(`${columns.map(({ name }) => name).join(",")}\n`));
  let done = 0;
  for (const batch of run.batches(table)) {
    const fields = columns.map((column) => fieldsOf(column, batch.columns[column.name]));
    for (let from = 0; from < batch.rows; from += LINES) {
      const end = Math.min(batch.rows, from + LINES);
      file.write(encoder.encode(linesOf(fields, from, end)));
      made(end - from);
      done += end - from;
      await goOn(done, all === 0 ? null : done / all);
    }
  }
}

export const csv: FileFormat = { makes: "file", takes: ["table"], ending: ({ table }) => `${table}.csv`, write };
