/** Structures in Thrift's compact protocol as they were written, of any bytes: nothing of them is believed. */

const TYPE = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const;
/** Parquet's own structures are nested less. */
const DEEPEST = 16;

/** Fields by their number. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;
export type ThriftValue = number | boolean | Uint8Array | readonly ThriftValue[] | ThriftStruct;

export interface ThriftRead {
  readonly struct: ThriftStruct;
  /** Place behind the last byte. */
  readonly end: number;
}

/** Reads the structure that begins at `start`. @throws Error where it is none, or is longer than the bytes */
export function readThrift(bytes: Uint8Array, start: number): ThriftRead {
  let position = start;

  function byte(): number {
    const value = bytes[position++];
    if (value === undefined) throw new Error("a structure is longer than its bytes");
    return value;
  }

  /** Whole numbers beyond 2^53 are not exact; no length or place is as large. */
  function varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const part = byte();
      value += (part & 0x7f) * scale;
      if (part < 0x80) return value;
      scale *= 0x80;
    }
    throw new Error("a number of a structure does not end");
  }

  function zigzag(): number {
    const value = varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  function list(depth: number): ThriftValue[] {
    const head = byte();
    const size = head >>> 4 === 15 ? varint() : head >>> 4;
    // Each element takes a byte or more.
    if (size > bytes.length - position) throw new Error("a list is longer than its bytes");
    return Array.from({ length: size }, () => value(head & 15, depth, true));
  }

  function value(type: number, depth: number, inList: boolean): ThriftValue {
    switch (type) {
      case TYPE.true:
        return inList ? byte() === 1 : true;
      case TYPE.false:
        return inList ? byte() === 1 : false;
      case TYPE.byte:
        return (byte() << 24) >> 24;
      case TYPE.i16:
      case TYPE.i32:
      case TYPE.i64:
        return zigzag();
      case TYPE.double:
      case TYPE.binary: {
        const length = type === TYPE.double ? 8 : varint();
        if (length > bytes.length - position) throw new Error("a text is longer than its bytes");
        position += length;
        return bytes.subarray(position - length, position);
      }
      case TYPE.list:
      case TYPE.set:
        return list(depth);
      case TYPE.struct:
        return struct(depth + 1);
      default:
        throw new Error(`a field has the type ${type}`);
    }
  }

  function struct(depth: number): ThriftStruct {
    if (depth > DEEPEST) throw new Error(`structures are nested more than ${DEEPEST} deep`);
    const fields = new Map<number, ThriftValue>();
    let field = 0;
    for (;;) {
      const head = byte();
      if (head === TYPE.stop) return fields;
      field = head >>> 4 === 0 ? zigzag() : field + (head >>> 4);
      fields.set(field, value(head & 15, depth, false));
    }
  }

  return { struct: struct(0), end: position };
}

/** A field that is a number; undefined where it is absent or something else. */
export function numberOf(fields: ThriftStruct, field: number): number | undefined {
  const value = fields.get(field);
  return typeof value === "number" ? value : undefined;
}

/** A field that is a text. */
export function textOf(fields: ThriftStruct, field: number): string | undefined {
  const value = fields.get(field);
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : undefined;
}

/** A field that is a structure. */
export function structOf(fields: ThriftStruct, field: number): ThriftStruct | undefined {
  const value = fields.get(field);
  return value instanceof Map ? value : undefined;
}

/** The elements of a list that are structures; none where the field is no list. */
export function structsOf(fields: ThriftStruct, field: number): ThriftStruct[] {
  const value = fields.get(field);
  return Array.isArray(value) ? value.filter((element): element is ThriftStruct => element instanceof Map) : [];
}
