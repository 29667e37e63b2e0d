/** Values as Parquet's PLAIN encoding has them: little-endian numbers, texts behind their length, packed bits. */
import { packValidity } from "../bits.ts";

/** Bytes of each text, one after the other, each behind its length. */
export function plainTexts(texts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(texts.reduce((sum, text) => sum + 4 + text.length, 0));
  const view = new DataView(out.buffer);
  let offset = 0;
  for (const text of texts) {
    view.setUint32(offset, text.length, true);
    out.set(text, offset + 4);
    offset += 4 + text.length;
  }
  return out;
}

/** One bit per value. */
export function plainBits(values: Uint8Array, rows: number): Uint8Array {
  return packValidity(values, rows).bits;
}

/** Memory of an array as bytes. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
