/** Key-values of a GGUF header. */
import type { Cursor } from "./cursor.ts";

/** What is kept of an array: its elements (a vocabulary, mostly) are checked and passed over. */
export interface GgufArray {
  readonly elementType: GgufValueType;
  readonly length: number;
}

/** u64 and i64 are bigint, every other number is a double. */
export type GgufValue = number | bigint | boolean | string | GgufArray;

/** Names of the value types, at the index that the file stores (gguf.h, `enum gguf_type`). */
export const VALUE_TYPES = [
  "u8",
  "i8",
  "u16",
  "i16",
  "u32",
  "i32",
  "f32",
  "bool",
  "string",
  "array",
  "u64",
  "i64",
  "f64",
] as const;
export type GgufValueType = (typeof VALUE_TYPES)[number];

const WIDTH_BYTES: Readonly<Record<Exclude<GgufValueType, "string" | "array">, number>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  u64: 8,
  i64: 8,
  f64: 8,
};
/** A chat template is tens of kilobytes. */
const MAX_STRING_BYTES = 16 * 2 ** 20;
/** The largest vocabularies have about 260,000 strings; this bounds the time a hostile file can take. */
const MAX_ARRAY_STRINGS = 2 ** 22;

function readScalar(cursor: Cursor, type: keyof typeof WIDTH_BYTES): number | bigint | boolean {
  return cursor.scalar<number | bigint | boolean>(WIDTH_BYTES[type], (view) => {
    switch (type) {
      case "u8":
        return view.getUint8(0);
      case "i8":
        return view.getInt8(0);
      case "u16":
        return view.getUint16(0, true);
      case "i16":
        return view.getInt16(0, true);
      case "u32":
        return view.getUint32(0, true);
      case "i32":
        return view.getInt32(0, true);
      case "f32":
        return view.getFloat32(0, true);
      case "bool":
        return view.getUint8(0) !== 0;
      case "u64":
        return view.getBigUint64(0, true);
      case "i64":
        return view.getBigInt64(0, true);
      case "f64":
        return view.getFloat64(0, true);
    }
  });
}

function skipArray(cursor: Cursor): GgufArray {
  const id = cursor.u32();
  const elementType = VALUE_TYPES[id];
  const length = cursor.count();
  if (elementType === undefined || elementType === "array") {
    cursor.fail(`an array of value type ${id}`);
    return { elementType: "u8", length: 0 };
  }
  if (elementType !== "string") {
    cursor.skip(length * WIDTH_BYTES[elementType]);
    return { elementType, length };
  }
  if (length > MAX_ARRAY_STRINGS) cursor.fail(`an array of ${length} strings, ${MAX_ARRAY_STRINGS} allowed`);
  for (let item = 0; item < length && cursor.failure() === null; item += 1) cursor.skip(cursor.count());
  return { elementType, length };
}

/** The value at the cursor, whose type stands before it; after a failure of the cursor its value means nothing. */
export function readValue(cursor: Cursor): GgufValue {
  const id = cursor.u32();
  const type = VALUE_TYPES[id];
  if (type === "array") return skipArray(cursor);
  if (type === "string") return cursor.string(MAX_STRING_BYTES);
  if (type !== undefined) return readScalar(cursor, type);
  cursor.fail(`value type ${id} is unknown`);
  return 0;
}
