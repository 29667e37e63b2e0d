/**
 * The frequent records of versions 12 and 13, whose first byte is a prefix code: allocations, frees, calls and returns.
 *
 * This loop sees every record of a capture, so everything it touches is a local variable.
 */
import { FREE, PYMALLOC_FREE } from "./allocator.ts";
import { type ByteWindow, SLACK_BYTES } from "./byte-window.ts";
import type { DecodeState, DecodeStop } from "./decode-state.ts";
import type { RecordChunk } from "./record-chunk.ts";

const NOT_CACHED = 15;
/** Addresses are counted in units of 8 bytes: their double is exact up to here. */
const MAX_UNITS = 2 ** 53;

/** Decodes from the position of `window` on until something else has to be done. */
export function decodePrefixRecords(window: ByteWindow, state: DecodeState, chunk: RecordChunk): DecodeStop {
  const { bytes, last, end } = window;
  const { recent, numbering, nativeTraces, tree, stacks, thread } = state;
  const { allocator, address, size, thread: threads, stack: stackColumn, native } = chunk;
  const safeEnd = last ? end : end - SLACK_BYTES;
  const capacity = allocator.length;
  let { pointer, nativeFrame, recentHead } = state;
  let pos = window.pos;
  let begin = pos;
  let count = chunk.count;
  let stack = stacks.top;
  let stop: DecodeStop = "bytes";

  while (pos < safeEnd) {
    begin = pos;
    const type = bytes[pos] ?? 0;
    if (type & 0x80) {
      if (count === capacity) {
        stop = "full";
        break;
      }
      pos += 1;
      let offset: number;
      const cached = (type >> 3) & 15;
      if (cached === NOT_CACHED) {
        let byte = bytes[pos++] ?? 0;
        let raw = byte & 127;
        if (byte > 127) {
          byte = bytes[pos++] ?? 0;
          raw |= (byte & 127) << 7;
          if (byte > 127) {
            byte = bytes[pos++] ?? 0;
            raw |= (byte & 127) << 14;
            for (let factor = 2 ** 21; byte > 127 && factor < 2 ** 70; factor *= 128) {
              byte = bytes[pos++] ?? 0;
              raw += (byte & 127) * factor;
            }
          }
        }
        const moved = raw % 2 === 0 ? pointer + raw / 2 : pointer - (raw + 1) / 2;
        if (!(moved >= 0 && moved < MAX_UNITS && raw < MAX_UNITS)) {
          stop = "damaged";
          break;
        }
        pointer = moved;
        offset = moved * 8;
        recentHead = (recentHead - 1) & 15;
        recent[recentHead] = offset;
      } else {
        offset = recent[(recentHead + cached) & 15] ?? 0;
      }
      let id = type & 7;
      if (id === 0) id = bytes[pos++] ?? 0;
      const kind = numbering[id] ?? 0;
      let sized = 0;
      if (kind !== FREE && kind !== PYMALLOC_FREE) {
        if (nativeTraces) {
          let byte = bytes[pos++] ?? 0;
          let raw = byte & 127;
          for (let factor = 128; byte > 127 && factor < 2 ** 70; factor *= 128) {
            byte = bytes[pos++] ?? 0;
            raw += (byte & 127) * factor;
          }
          nativeFrame = raw % 2 === 0 ? nativeFrame + raw / 2 : nativeFrame - (raw + 1) / 2;
          if (!(nativeFrame >= 0 && nativeFrame < MAX_UNITS && raw < MAX_UNITS)) {
            stop = "damaged";
            break;
          }
        }
        let byte = bytes[pos++] ?? 0;
        sized = byte & 127;
        for (let factor = 128; byte > 127 && factor < 2 ** 70; factor *= 128) {
          byte = bytes[pos++] ?? 0;
          sized += (byte & 127) * factor;
        }
        native[count] = nativeTraces ? nativeFrame : 0;
        stackColumn[count] = stack;
      } else {
        native[count] = 0;
        stackColumn[count] = 0;
      }
      if (pos > end) {
        stop = "cut";
        break;
      }
      if (sized >= MAX_UNITS) {
        stop = "damaged";
        break;
      }
      allocator[count] = kind;
      address[count] = offset;
      size[count] = sized;
      threads[count] = thread;
      count += 1;
    } else if (type & 0x40) {
      pos += 1;
      let byte = bytes[pos++] ?? 0;
      let code = byte & 127;
      for (let factor = 128; byte > 127 && factor < 2 ** 70; factor *= 128) {
        byte = bytes[pos++] ?? 0;
        code += (byte & 127) * factor;
      }
      byte = bytes[pos++] ?? 0;
      let raw = byte & 127;
      for (let factor = 128; byte > 127 && factor < 2 ** 70; factor *= 128) {
        byte = bytes[pos++] ?? 0;
        raw += (byte & 127) * factor;
      }
      if (pos > end) {
        stop = "cut";
        break;
      }
      if (code >= 2 ** 32 || raw >= 2 ** 32) {
        stop = "damaged";
        break;
      }
      stack = tree.child(stack, code, raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2);
      stacks.push(stack);
    } else if ((type & 0x30) === 0x10) {
      pos += 1;
      if (!stacks.pop((type & 15) + 1)) state.unmatchedPops += 1;
      stack = stacks.top;
    } else {
      stop = "other";
      break;
    }
  }
  window.pos = stop === "damaged" || stop === "cut" ? begin : pos;
  chunk.count = count;
  state.pointer = pointer;
  state.nativeFrame = nativeFrame;
  state.recentHead = recentHead;
  return stop;
}
