/** Structures in Thrift's compact protocol, which Parquet's page headers and footers are written in. */

const TYPE = { true: 1, false: 2, byte: 3, i16: 4, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

export type ElementType = "i32" | "binary" | "struct";

/** Fields of one structure must be written in ascending order of their numbers. */
export interface ThriftWriter {
  bool(field: number, value: boolean): void;
  byte(field: number, value: number): void;
  i32(field: number, value: number): void;
  i64(field: number, value: number): void;
  binary(field: number, value: Uint8Array | string): void;
  struct(field: number, fill: () => void): void;
  /** A list whose elements `fill` writes: `element` of a structure, or bare values. */
  list(field: number, type: ElementType, size: number, fill: () => void): void;
  element(fill: () => void): void;
  bareI32(value: number): void;
  bareBinary(value: Uint8Array | string): void;
}

const encoder = new TextEncoder();
/** Room for a page header. */
const FIRST_BYTES = 64;

/** The bytes of one structure. */
export function thriftStruct(fill: (writer: ThriftWriter) => void): Uint8Array {
  let out = new Uint8Array(FIRST_BYTES);
  let length = 0;
  let last = 0;

  function reserve(bytes: number): void {
    if (length + bytes <= out.length) return;
    const larger = new Uint8Array(Math.max(length + bytes, 2 * out.length));
    larger.set(out);
    out = larger;
  }

  function put(byte: number): void {
    reserve(1);
    out[length++] = byte;
  }

  function varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      put((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    put(rest);
  }

  function header(field: number, type: number): void {
    const step = field - last;
    if (step > 0 && step < 16) put((step << 4) | type);
    else {
      put(type);
      zigzag(field);
    }
    last = field;
  }

  function zigzag(value: number): void {
    varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  function bareBinary(value: Uint8Array | string): void {
    const bytes = typeof value === "string" ? encoder.encode(value) : value;
    varint(bytes.length);
    reserve(bytes.length);
    out.set(bytes, length);
    length += bytes.length;
  }

  function element(inner: () => void): void {
    const outer = last;
    last = 0;
    inner();
    put(0);
    last = outer;
  }

  fill({
    bool: (field, value) => header(field, value ? TYPE.true : TYPE.false),
    byte(field, value) {
      header(field, TYPE.byte);
      put(value & 0xff);
    },
    i32(field, value) {
      header(field, TYPE.i32);
      zigzag(value);
    },
    i64(field, value) {
      header(field, TYPE.i64);
      zigzag(value);
    },
    binary(field, value) {
      header(field, TYPE.binary);
      bareBinary(value);
    },
    struct(field, inner) {
      header(field, TYPE.struct);
      element(inner);
    },
    list(field, type, size, inner) {
      header(field, TYPE.list);
      if (size < 15) put((size << 4) | TYPE[type]);
      else {
        put(0xf0 | TYPE[type]);
        varint(size);
      }
      inner();
    },
    element,
    bareI32: zigzag,
    bareBinary,
  });
  put(0);
  return out.subarray(0, length);
}
