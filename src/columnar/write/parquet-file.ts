/** A Parquet file, row group by row group; the choice of encodings is docs/decisions/001. */
import { columnsOf, type TableName } from "../../schema/columns.ts";
import { assertFits, misfit } from "../fit.ts";
import { MAGIC } from "../parquet-format.ts";
import { columnChunk } from "./column-chunk.ts";
import { type Scratch, scratchFor } from "./column-values.ts";
import type { Encodable } from "./encodable.ts";
import { fileFooter, type RowGroup } from "./footer.ts";

export interface ParquetFile {
  /** Adds the rows as one row group. @throws MrmTraceError failure where a required column has rows without a value */
  add(rows: Encodable): void;
  /** Ends the file; returns its length in bytes. */
  finish(): number;
}

/** Used by all files of a thread, one column after the other: a segment is too small to make it anew. */
let scratch: Scratch = scratchFor(0);

/** @param put takes the bytes of the file in order, those of a row group or of the end together */
export function parquetFile(
  table: TableName,
  keyValues: ReadonlyMap<string, string>,
  put: (pieces: readonly Uint8Array[]) => void,
): ParquetFile {
  const groups: RowGroup[] = [];
  let offset = 0;
  let waiting: Uint8Array[] = [];

  function write(bytes: Uint8Array): void {
    waiting.push(bytes);
    offset += bytes.length;
  }

  function flush(): void {
    put(waiting);
    waiting = [];
  }

  write(MAGIC);
  return {
    add({ rows, columns }) {
      if (rows === 0) return;
      if (scratch.codes.length < rows) scratch = scratchFor(rows);
      const begin = offset;
      const chunks = columnsOf(table).map((column) => {
        const given = columns[column.name];
        if (given !== undefined && !("key" in given)) assertFits(table, column, given, rows);
        const { pieces, ...chunk } = columnChunk(column, given, rows, scratch);
        if (chunk.nulls > 0 && column.nullable !== true) {
          throw misfit(table, column, `${chunk.nulls} of ${rows} rows have no value`);
        }
        for (const piece of pieces) write(piece);
        return chunk;
      });
      groups.push({ rows, at: begin, chunks });
      flush();
    },
    finish() {
      const footer = fileFooter(table, groups, keyValues);
      write(footer);
      const length = new Uint8Array(4);
      new DataView(length.buffer).setUint32(0, footer.length, true);
      write(length);
      write(MAGIC);
      flush();
      return offset;
    },
  };
}
