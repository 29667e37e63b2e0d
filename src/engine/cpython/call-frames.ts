/** What the functions have as their first argument that a Python program is in, which is the object of a method. */
import type { ReadMemory } from "../engine.ts";
import type { PythonLayout } from "./layout.ts";

const MOST_THREADS = 256;
const MOST_FRAMES = 256;

/** Of every thread, the newest call first. @param runtime where the interpreter keeps its state (`_PyRuntime`) */
export function* firstArguments(read: ReadMemory, layout: PythonLayout, runtime: bigint): Generator<bigint> {
  const pointer = (address: bigint, offset: number): bigint => {
    const bytes = address === 0n ? null : read(address + BigInt(offset), 8);
    return bytes === null ? 0n : new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  };
  const interpreter = pointer(runtime, layout.interpreter);
  let thread = pointer(interpreter, layout.thread);
  for (let i = 0; thread !== 0n && i < MOST_THREADS; i++, thread = pointer(thread, layout.nextThread)) {
    let frame = layout.newestFrame.reduce(pointer, thread);
    for (let k = 0; frame !== 0n && k < MOST_FRAMES; k++, frame = pointer(frame, layout.olderFrame)) {
      const first = pointer(frame, layout.locals);
      if (first !== 0n) yield first;
    }
  }
}
