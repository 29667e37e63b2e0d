/** What is copied of a tensor that is being placed, and of its buffer: the pieces that are read of both, not all of them. */
import { ENGINE } from "../../schema/shared-numbers.ts";
import type { CapturePart } from "../probing/capture-plan.ts";
import type { GgmlLayout } from "./offsets.ts";

interface Piece {
  /** The argument that points to the structure. */
  readonly from: 0 | 1;
  readonly skip: number;
  readonly bytes: number;
}

/** Fields with no more bytes between them are one piece. */
const NEAR_BYTES = 16;

/** Stretches of a tensor in which its fields lie, those that are near each other as one, and no more of them than a record has parts for. */
function stretchesOf({ tensor }: GgmlLayout): { first: number; end: number }[] {
  const fields = [
    [tensor.type, 4],
    [tensor.buffer, 8],
    [tensor.ne, 32],
    [tensor.nb, 32],
    [tensor.viewSrc, 8],
    [tensor.viewOffset, 8],
    [tensor.data, 8],
    [tensor.name, tensor.nameBytes],
  ] as const;
  let stretches: { first: number; end: number }[] = [];
  for (let near = NEAR_BYTES; stretches.length === 0 || stretches.length >= ENGINE.parts; near *= 2) {
    stretches = [];
    for (const [first, bytes] of [...fields].sort(([one], [other]) => one - other)) {
      const last = stretches.at(-1);
      if (last !== undefined && first - last.end <= near) last.end = Math.max(last.end, first + bytes);
      else stretches.push({ first, end: first + bytes });
    }
  }
  return stretches;
}

/** Address, size and usage of the buffer; of the tensor its type and shape, then its owner, place and name. */
function piecesOf(layout: GgmlLayout): Piece[] {
  const { buffer, bufferFrom } = layout.copied;
  const pieces = stretchesOf(layout).map(({ first, end }) => ({ from: 1, skip: first, bytes: end - first }) as const);
  return [{ from: 0, skip: bufferFrom, bytes: buffer - bufferFrom }, ...pieces];
}

/** The parts of the probe's plan. */
export function placedParts(layout: GgmlLayout): CapturePart[] {
  return piecesOf(layout).map((piece) => ({ form: "bytes", ...piece }));
}

/** Bits of the parts in `unreadable`: the first, and all others. */
export const BUFFER_UNREADABLE = 1;
export const TENSOR_UNREADABLE = ~BUFFER_UNREADABLE;

export interface PlacedStructures {
  readonly buffer: DataView;
  readonly tensor: DataView;
}

/** A reader that puts the pieces of a record back to their places; what it gives is valid until its next call. */
export function placedStructures(layout: GgmlLayout): (payload: DataView) => PlacedStructures {
  const buffer = new Uint8Array(layout.copied.buffer);
  const tensor = new Uint8Array(layout.tensor.bytes);
  const views: PlacedStructures = { buffer: new DataView(buffer.buffer), tensor: new DataView(tensor.buffer) };
  const pieces = piecesOf(layout);
  return (payload) => {
    let next = 0;
    for (const { from, skip, bytes } of pieces) {
      const structure = from === 0 ? buffer : tensor;
      for (let i = 0; i < bytes; i++) structure[skip + i] = payload.getUint8(next + i);
      next += bytes;
    }
    return views;
  };
}
