/** What a decoder of allocation records carries from one record to the next. */
import type { CallTree, ThreadStacks } from "../call-tree.ts";

export interface DecodeState {
  readonly tree: CallTree;
  readonly stacks: ThreadStacks;
  /** Index of ALLOCATORS for each id of the file. */
  readonly numbering: Uint8Array;
  readonly nativeTraces: boolean;
  /** Last address, as the file counts it. */
  pointer: number;
  /** Last native frame; shared by allocations and native frames. */
  nativeFrame: number;
  /** Last native instruction pointer. */
  instructionPointer: number;
  /** Last first line of a code object, or last line of a frame. */
  line: number;
  /** Last frame of a file of version 11; shared by frames and pushes. */
  frame: number;
  thread: number;
  /** Addresses written of late, newest at `recentHead`; 16 places of which 15 are used. */
  readonly recent: Float64Array;
  recentHead: number;
  /** Frames that were left more often than entered. */
  unmatchedPops: number;
}

/** A state at the start of a file. */
export function initialState(parts: Pick<DecodeState, "tree" | "stacks" | "numbering" | "nativeTraces">): DecodeState {
  return {
    ...parts,
    pointer: 0,
    nativeFrame: 0,
    instructionPointer: 0,
    line: 0,
    frame: 0,
    thread: 0,
    recent: new Float64Array(16),
    recentHead: 0,
    unmatchedPops: 0,
  };
}

/**
 * Why a decoder stopped: `full` chunk; `bytes` are missing; `other`, a record of another kind stands at the position;
 * `damaged` or `cut`, the record at the position cannot be read.
 */
export type DecodeStop = "full" | "bytes" | "other" | "damaged" | "cut";
