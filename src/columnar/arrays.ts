/** The typed array of each column type. */
import type { ColumnType } from "../schema/columns.ts";

/** The typed array that carries each numeric column type; bool is one byte per row. */
export const ARRAY_TYPES = {
  u64: BigUint64Array,
  i64: BigInt64Array,
  u32: Uint32Array,
  i32: Int32Array,
  u16: Uint16Array,
  u8: Uint8Array,
  f64: Float64Array,
  f32: Float32Array,
  bool: Uint8Array,
} as const satisfies Record<Exclude<ColumnType, "string">, unknown>;
