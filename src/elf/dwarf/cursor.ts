/** A place in bytes that nobody vouches for, from which numbers are read one behind the other. */

/** Once a read went over the end, `overran` is true, and every number is 0. */
export interface Cursor {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
  overran: boolean;
}

export function cursorOver(bytes: Uint8Array, start = 0): Cursor {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), at: start, overran: false };
}

/** Steps over `size` bytes; where they began, or -1 where they are not all there. */
export function step(cursor: Cursor, size: number): number {
  const start = cursor.at;
  if (!(size >= 0 && start >= 0 && size <= cursor.bytes.length - start)) {
    cursor.overran = true;
    cursor.at = cursor.bytes.length;
    return -1;
  }
  cursor.at = start + size;
  return start;
}

/** An unsigned number of 1, 2, 3, 4 or 8 bytes; of 8 it is exact up to 2^53. */
export function unsigned(cursor: Cursor, size: number): number {
  const start = step(cursor, size);
  if (start < 0) return 0;
  const { view } = cursor;
  if (size === 1) return view.getUint8(start);
  if (size === 2) return view.getUint16(start, true);
  if (size === 3) return view.getUint16(start, true) + view.getUint8(start + 2) * 65536;
  if (size === 4) return view.getUint32(start, true);
  return view.getUint32(start + 4, true) * 2 ** 32 + view.getUint32(start, true);
}

/** No number that is meant takes more: 64 bits in groups of 7. */
const MOST_GROUPS = 10;

function groups(cursor: Cursor, isSigned: boolean): number {
  let value = 0;
  let weight = 1;
  for (let i = 0; i < MOST_GROUPS; i++) {
    const start = step(cursor, 1);
    if (start < 0) return 0;
    const byte = cursor.bytes[start] ?? 0;
    value += (byte & 0x7f) * weight;
    weight *= 128;
    if ((byte & 0x80) === 0) return isSigned && (byte & 0x40) !== 0 ? value - weight : value;
  }
  cursor.overran = true;
  return 0;
}

/** An unsigned number of variable length (LEB128). */
export const uleb = (cursor: Cursor): number => groups(cursor, false);
/** A signed number of variable length (LEB128). */
export const sleb = (cursor: Cursor): number => groups(cursor, true);

/** Where text begins that ends by a NUL, which is stepped over. */
export function inlineText(cursor: Cursor): number {
  const start = cursor.at;
  const end = cursor.bytes.indexOf(0, start);
  return end < 0 ? step(cursor, Number.POSITIVE_INFINITY) : step(cursor, end + 1 - start);
}
