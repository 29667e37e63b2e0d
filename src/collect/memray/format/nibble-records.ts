/**
 * The frequent records of version 11, whose first byte has the type in its low nibble: allocations, frees, calls and
 * returns. This loop sees every record of a capture, so everything it touches is a local variable.
 */
import { FREE, PYMALLOC_FREE } from "./allocator.ts";
import { type ByteWindow, SLACK_BYTES } from "./byte-window.ts";
import type { DecodeState, DecodeStop } from "./decode-state.ts";
import type { RecordChunk } from "./record-chunk.ts";

export const NIBBLE_ALLOCATION = 1;
export const NIBBLE_NATIVE_ALLOCATION = 2;
const FRAME_PUSH = 4;
const FRAME_POP = 9;
const MAX_EXACT = 2 ** 53;

/** Decodes from the position of `window` on until something else has to be done. */
export function decodeNibbleRecords(window: ByteWindow, state: DecodeState, chunk: RecordChunk): DecodeStop {
  const { bytes, last, end } = window;
  const { numbering, tree, stacks, thread } = state;
  const { allocator, address, size, thread: threads, stack: stackColumn, native } = chunk;
  const safeEnd = last ? end : end - SLACK_BYTES;
  const capacity = allocator.length;
  let { pointer, nativeFrame, frame } = state;
  let pos = window.pos;
  let begin = pos;
  let count = chunk.count;
  let stack = stacks.top;
  let stop: DecodeStop = "bytes";

  while (pos < safeEnd) {
    begin = pos;
    const first = bytes[pos] ?? 0;
    const type = first & 15;
    if (type === NIBBLE_ALLOCATION || type === NIBBLE_NATIVE_ALLOCATION) {
      if (count === capacity) {
        stop = "full";
        break;
      }
      pos += 1;
      const kind = numbering[first >> 4] ?? 0;
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
      if (!(moved >= 0 && moved < MAX_EXACT && raw < MAX_EXACT)) {
        stop = "damaged";
        break;
      }
      const isNative = type === NIBBLE_NATIVE_ALLOCATION;
      const isFree = kind === FREE || kind === PYMALLOC_FREE;
      let sized = 0;
      if (isNative || !isFree) {
        byte = bytes[pos++] ?? 0;
        sized = byte & 127;
        for (let factor = 128; byte > 127 && factor < 2 ** 70; factor *= 128) {
          byte = bytes[pos++] ?? 0;
          sized += (byte & 127) * factor;
        }
      }
      let frameOf = 0;
      if (isNative) {
        byte = bytes[pos++] ?? 0;
        raw = byte & 127;
        for (let factor = 128; byte > 127 && factor < 2 ** 70; factor *= 128) {
          byte = bytes[pos++] ?? 0;
          raw += (byte & 127) * factor;
        }
        frameOf = raw % 2 === 0 ? nativeFrame + raw / 2 : nativeFrame - (raw + 1) / 2;
        if (!(frameOf >= 0 && frameOf < MAX_EXACT && raw < MAX_EXACT)) {
          stop = "damaged";
          break;
        }
      }
      if (pos > end) {
        stop = "cut";
        break;
      }
      if (sized >= MAX_EXACT) {
        stop = "damaged";
        break;
      }
      if (isNative) nativeFrame = frameOf;
      pointer = moved;
      allocator[count] = kind;
      address[count] = moved;
      size[count] = isFree ? 0 : sized;
      threads[count] = thread;
      stackColumn[count] = isFree ? 0 : stack;
      native[count] = frameOf;
      count += 1;
    } else if (type === FRAME_PUSH) {
      pos += 1;
      let byte = bytes[pos++] ?? 0;
      let raw = byte & 127;
      for (let factor = 128; byte > 127 && factor < 2 ** 70; factor *= 128) {
        byte = bytes[pos++] ?? 0;
        raw += (byte & 127) * factor;
      }
      if (pos > end) {
        stop = "cut";
        break;
      }
      const moved = raw % 2 === 0 ? frame + raw / 2 : frame - (raw + 1) / 2;
      if (!(moved >= 0 && moved < 2 ** 32)) {
        stop = "damaged";
        break;
      }
      frame = moved;
      stack = tree.child(stack, frame, 0);
      stacks.push(stack);
    } else if (type === FRAME_POP) {
      pos += 1;
      if (!stacks.pop((first >> 4) + 1)) state.unmatchedPops += 1;
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
  state.frame = frame;
  return stop;
}
