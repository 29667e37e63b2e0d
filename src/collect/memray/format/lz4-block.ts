/**
 * One LZ4 block: literals and copies of what came before
 * (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md).
 */

const MIN_MATCH = 4;
/** From this length on one call that copies is cheaper than a loop over bytes. */
const CALL_LENGTH = 32;

/**
 * Decodes `from[begin .. end-1]` to `into` from `position` on; copies may reach back to `into[0]`.
 *
 * @param limit first index of `into` that must stay as it is
 * @returns the index after the last byte written, or -1 where the block is damaged
 */
export function decodeLz4Block(
  from: Uint8Array,
  begin: number,
  end: number,
  into: Uint8Array,
  position: number,
  limit: number,
): number {
  let pos = begin;
  while (pos < end) {
    const token = from[pos++] ?? 0;
    let literals = token >>> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255) {
        if (pos >= end) return -1;
        more = from[pos++] ?? 0;
        literals += more;
      }
    }
    if (pos + literals > end || position + literals > limit) return -1;
    if (literals > CALL_LENGTH) {
      into.set(from.subarray(pos, pos + literals), position);
    } else {
      for (let i = 0; i < literals; i++) into[position + i] = from[pos + i] ?? 0;
    }
    pos += literals;
    position += literals;
    // The last sequence of a block has literals only.
    if (pos === end) return position;
    if (pos + 2 > end) return -1;
    const distance = (from[pos] ?? 0) | ((from[pos + 1] ?? 0) << 8);
    pos += 2;
    let length = token & 15;
    if (length === 15) {
      let more = 255;
      while (more === 255) {
        if (pos >= end) return -1;
        more = from[pos++] ?? 0;
        length += more;
      }
    }
    length += MIN_MATCH;
    let source = position - distance;
    if (distance === 0 || source < 0 || position + length > limit) return -1;
    const stop = position + length;
    if (length > CALL_LENGTH && distance >= length) {
      into.copyWithin(position, source, source + length);
      position = stop;
    } else {
      // A copy may overlap what it writes: then it repeats, byte by byte.
      while (position < stop) into[position++] = into[source++] ?? 0;
    }
  }
  return -1;
}
