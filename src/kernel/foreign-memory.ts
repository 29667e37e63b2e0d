/** Memory that C code and the kernel are given by address: it keeps its place, and stays until the call has it. */
import { type Pointer, ptr } from "bun:ffi";

/** More than any one call here takes. */
const KEPT = 8;
/**
 * A number keeps nothing alive: the collector may free what it points to between taking the address and the call,
 * which then reads, or writes to, memory that is somebody else's.
 */
const kept: (NodeJS.TypedArray | DataView | null)[] = new Array(KEPT).fill(null);
let next = 0;

/**
 * The address of a view, for a call that follows: the memory of the last 8 addresses stays.
 * What C code keeps for longer must be referred to for as long.
 */
export function addressOf(view: NodeJS.TypedArray | DataView): Pointer {
  kept[next] = view;
  next = (next + 1) % KEPT;
  return ptr(view);
}

/** Bytes of foreign memory, zero: a plain ArrayBuffer does not move, a small typed array of its own may. */
export function stableBytes(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(Math.max(length, 8)));
}

/** A NUL-terminated string for a C argument. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  const encoded = new TextEncoder().encode(text);
  const bytes = stableBytes(encoded.length + 1);
  bytes.set(encoded);
  return bytes;
}
