/** What is copied of a tensor that is being placed, and of its buffer: the pieces that are read of both, not all of them. */
import type { CapturePart } from "../probing/capture-plan.ts";
import { COPIED_BYTES } from "./offsets.ts";

interface Piece {
  /** The argument that points to the structure. */
  readonly from: 0 | 1;
  readonly skip: number;
  readonly bytes: number;
}

/** Address, size and usage of the buffer in any build; of the tensor its type and shape, then its owner, place and name. */
const PIECES: readonly Piece[] = [
  { from: 0, skip: 80, bytes: 40 },
  { from: 1, skip: 0, bytes: 80 },
  { from: 1, skip: 232, bytes: 88 },
];

/** The parts of the probe's plan. */
export const PLACED_PARTS: readonly CapturePart[] = PIECES.map((piece) => ({ form: "bytes", ...piece }));

/** Bits of the parts in `unreadable`. */
export const BUFFER_UNREADABLE = 1;
export const TENSOR_UNREADABLE = 6;

export interface PlacedStructures {
  readonly buffer: DataView;
  readonly tensor: DataView;
}

/** A reader that puts the pieces of a record back to their places; what it gives is valid until its next call. */
export function placedStructures(): (payload: DataView) => PlacedStructures {
  const buffer = new Uint8Array(COPIED_BYTES.buffer);
  const tensor = new Uint8Array(COPIED_BYTES.tensor);
  const views: PlacedStructures = { buffer: new DataView(buffer.buffer), tensor: new DataView(tensor.buffer) };
  return (payload) => {
    let next = 0;
    for (const { from, skip, bytes } of PIECES) {
      const structure = from === 0 ? buffer : tensor;
      for (let i = 0; i < bytes; i++) structure[skip + i] = payload.getUint8(next + i);
      next += bytes;
    }
    return views;
  };
}
