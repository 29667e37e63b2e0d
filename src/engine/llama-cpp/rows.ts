/** Rows of the streams `tensor` and `step` as objects, and a batch of them. These streams are rare: tens of rows per token. */
import { type Batch, type ColumnData, NULL_CODE } from "../../columnar/batch.ts";
import { type Column, type ColumnType, columnsOf } from "../../schema/columns.ts";

export type Cell = string | number | bigint | null;

/** One row of `tensor`, by column. */
export type TensorRow = {
  readonly timestamp_ns: bigint;
  readonly pid: number;
  readonly tid: number;
  readonly kind: "tensor" | "graph" | "buffer" | "usage" | "free" | "clear";
  readonly name: string | null;
  readonly tensor_type: string | null;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly shape: string | null;
  readonly buffer: bigint | null;
  readonly buffer_addr: bigint | null;
  readonly buffer_size_bytes: number | null;
  readonly usage: string | null;
  readonly region_type: string | null;
  readonly layer: number | null;
  readonly logical_id: string | null;
  readonly evidence: "engine_probe" | "engine_graph";
};

/** One row of `step`, by column. */
export type StepRow = {
  readonly timestamp_ns: bigint;
  readonly end_ns: bigint | null;
  readonly pid: number;
  readonly tid: number;
  readonly kind:
    | "model_load"
    | "context"
    | "decode"
    | "graph"
    | "kv_clear"
    | "kv_trim"
    | "model_free"
    | "context_free"
    | "engine"
    | "probes";
  readonly n_tokens: number | null;
  readonly n_sequences: number | null;
  readonly position_first: number | null;
  readonly sequence_id: number | null;
  readonly result: bigint | null;
  readonly detail: string | null;
};

type Wide = "u64" | "i64";
function isWide(type: ColumnType): type is Wide {
  return type === "u64" || type === "i64";
}

function stringColumn(cells: readonly Cell[]): ColumnData {
  const codes = new Uint32Array(cells.length);
  const values: string[] = [];
  const known = new Map<string, number>();
  for (const [row, cell] of cells.entries()) {
    if (typeof cell !== "string") {
      codes[row] = NULL_CODE;
      continue;
    }
    let code = known.get(cell);
    if (code === undefined) {
      code = values.push(cell) - 1;
      known.set(cell, code);
    }
    codes[row] = code;
  }
  return { codes, values };
}

function numberColumn(type: ColumnType, cells: readonly Cell[]): ColumnData {
  const valid = new Uint8Array(cells.length);
  for (const [row, cell] of cells.entries()) valid[row] = cell === null ? 0 : 1;
  const wide = isWide(type);
  const data = wide
    ? type === "u64"
      ? BigUint64Array.from(cells, (cell) => BigInt(cell ?? 0))
      : BigInt64Array.from(cells, (cell) => BigInt(cell ?? 0))
    : type === "i32"
      ? Int32Array.from(cells, Number)
      : Uint32Array.from(cells, Number);
  return valid.includes(0) ? { data, valid } : { data };
}

function columnOf(column: Column, rows: readonly Readonly<Record<string, Cell>>[]): ColumnData {
  const cells = rows.map((row) => row[column.name] ?? null);
  return column.type === "string" ? stringColumn(cells) : numberColumn(column.type, cells);
}

/** A batch of rows, in their order. The tables hold strings, u64, i64, u32 and i32 only. */
export function batchOfRows<T extends "tensor" | "step">(
  table: T,
  rows: readonly Readonly<Record<string, Cell>>[],
): Batch<T> {
  const columns = Object.fromEntries(columnsOf(table).map((column) => [column.name, columnOf(column, rows)]));
  return { table, rows: rows.length, columns };
}
