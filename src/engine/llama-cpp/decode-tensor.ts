/** A ggml_tensor and a ggml_backend_buffer from raw bytes, each field checked before it is believed. */
import type { TensorUsage } from "../../schema/words.ts";
import { TENSOR_TYPES, type TensorType } from "../gguf/tensor-type.ts";
import type { BufferLayout, GgmlLayout } from "./offsets.ts";

export interface RawTensor {
  readonly name: string;
  readonly type: TensorType;
  /** What makes it, by ggml's number; 0 for nothing. */
  readonly op: number;
  /** Elements per dimension, fastest first. */
  readonly ne: readonly number[];
  /** Stride per dimension in bytes. */
  readonly nb: readonly number[];
  /** From the first byte to the last, as ggml counts them; 0 for a tensor without elements. */
  readonly sizeBytes: number;
  readonly buffer: bigint;
  readonly viewSrc: bigint;
  readonly viewOffset: bigint;
  readonly data: bigint;
  /** Addresses of the operands that are set. */
  readonly src: readonly bigint[];
}

export interface RawBuffer {
  /** What the backend keeps; the first byte for buffers in the process's memory. */
  readonly context: bigint;
  readonly sizeBytes: number;
  readonly usage: TensorUsage;
}

const USAGES: readonly TensorUsage[] = ["any", "weights", "compute"];

/** Why bytes were not believed; each is counted by this name. */
export type TensorDoubt = "cut_short" | "type" | "empty" | "shape" | "stride" | "name" | "pointer";
export type Checked<T, Doubt extends string> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly doubt: Doubt };

/** No tensor is larger; below 2^53, so that sums stay exact. */
const SIZE_LIMIT_BYTES = 2 ** 46;
const USER_LIMIT = 1n << 56n;

/** The usage of a number; null for one that ggml does not define. */
export function usageOf(value: number): TensorUsage | null {
  return USAGES[value] ?? null;
}

/** The NUL-terminated text of printable UTF-8 at `offset`; null for anything else. An empty name is a name. */
export function printableName(view: DataView, offset: number, limit: number): string | null {
  let end = 0;
  while (end < limit && view.getUint8(offset + end) !== 0) end += 1;
  if (end === limit) return null;
  const bytes = new Uint8Array(view.buffer, view.byteOffset + offset, end).slice();
  for (const byte of bytes) if (byte < 0x20 || byte === 0x7f) return null;
  const text = new TextDecoder().decode(bytes);
  return text.includes("\ufffd") ? null : text;
}

/**
 * Bytes from a tensor's first to its last, as ggml_nbytes counts (ggml.c): one block row, then a stride per further dimension.
 * @returns null where the strides are impossible
 */
export function tensorSpanBytes(type: TensorType, ne: readonly number[], nb: readonly number[]): number | null {
  const first = ne[0] ?? 0;
  let bytes =
    type.blockElements === 1
      ? type.blockBytes + (first - 1) * (nb[0] ?? 0)
      : (first * (nb[0] ?? 0)) / type.blockElements;
  for (let i = 1; i < 4; i++) bytes += ((ne[i] ?? 1) - 1) * (nb[i] ?? 0);
  return Number.isSafeInteger(bytes) && bytes > 0 && bytes <= SIZE_LIMIT_BYTES ? bytes : null;
}

/** Decodes the bytes of a tensor; hostile bytes give a doubt, never an error. */
export function decodeTensor(view: DataView, layout: GgmlLayout): Checked<RawTensor, TensorDoubt> {
  const offsets = layout.tensor;
  const no = (doubt: TensorDoubt): Checked<RawTensor, TensorDoubt> => ({ ok: false, doubt });
  if (view.byteLength < offsets.bytes) return no("cut_short");
  const type = TENSOR_TYPES.get(view.getInt32(offsets.type, true));
  if (!type) return no("type");
  const ne: number[] = [];
  const nb: number[] = [];
  for (let i = 0; i < 4; i++) {
    ne.push(Number(view.getBigInt64(offsets.ne + i * 8, true)));
    nb.push(Number(view.getBigUint64(offsets.nb + i * 8, true)));
  }
  if (ne.some((n) => n < 0 || n > SIZE_LIMIT_BYTES)) return no("shape");
  if (ne.reduce((a, b) => a * b, 1) > SIZE_LIMIT_BYTES) return no("shape");
  if ((ne[0] ?? 0) % type.blockElements !== 0) return no("shape");
  if (nb.some((n) => n > SIZE_LIMIT_BYTES)) return no("stride");
  // A batch without outputs makes tensors without elements, whose operands are those of any other.
  const sizeBytes = ne.includes(0) ? 0 : tensorSpanBytes(type, ne, nb);
  if (sizeBytes === null) return no("stride");
  const name = printableName(view, offsets.name, offsets.nameBytes);
  if (name === null) return no("name");
  const pointer = (offset: number) => view.getBigUint64(offset, true);
  const src: bigint[] = [];
  for (let i = 0; i < offsets.srcCount; i++) {
    const operand = pointer(offsets.src + i * 8);
    if (operand !== 0n) src.push(operand);
  }
  const [buffer, viewSrc, data] = [pointer(offsets.buffer), pointer(offsets.viewSrc), pointer(offsets.data)];
  if ([buffer, viewSrc, data, ...src].some((p) => p >= USER_LIMIT)) return no("pointer");
  const viewOffset = pointer(offsets.viewOffset);
  return {
    ok: true,
    value: {
      name,
      type,
      op: view.getInt32(offsets.op, true),
      ne,
      nb,
      sizeBytes,
      buffer,
      viewSrc,
      viewOffset,
      data,
      src,
    },
  };
}

/**
 * Decodes a tensor as ggml_backend_tensor_alloc receives it. ggml asserts that it has no buffer, no data and no parent
 * yet, and that it is as contiguous as its type says: a layout that does not fit shows.
 */
export function decodeFreshTensor(view: DataView, layout: GgmlLayout): Checked<RawTensor, TensorDoubt> {
  const decoded = decodeTensor(view, layout);
  if (!decoded.ok) return decoded;
  const { buffer, data, viewSrc, type, nb, sizeBytes } = decoded.value;
  if (sizeBytes === 0) return { ok: false, doubt: "empty" };
  if (buffer !== 0n || data !== 0n || viewSrc !== 0n) return { ok: false, doubt: "pointer" };
  return type.blockBytes === nb[0] ? decoded : { ok: false, doubt: "stride" };
}

/** No data lies below: what is read there is no address. */
export const LEAST_ADDRESS = 4096n;

function bufferBy(view: DataView, places: BufferLayout): RawBuffer | null {
  const context = view.getBigUint64(places.context, true);
  const size = view.getBigUint64(places.size, true);
  const usage = usageOf(view.getInt32(places.usage, true));
  if (usage === null || size > BigInt(SIZE_LIMIT_BYTES) || context >= USER_LIMIT) return null;
  if (size > 0n && context < LEAST_ADDRESS) return null;
  return { context, sizeBytes: Number(size), usage };
}

/**
 * Decodes the bytes of a buffer; null where size or usage are impossible.
 * @param holds whether a reading is the one that is meant, by what else is known of the buffer; of those that are possible
 *   and not meant the first is given
 */
export function decodeBuffer(
  view: DataView,
  layout: GgmlLayout,
  holds: (buffer: RawBuffer) => boolean = () => true,
): RawBuffer | null {
  if (view.byteLength < layout.copied.buffer) return null;
  let likely: RawBuffer | null = null;
  for (const places of layout.buffers) {
    const buffer = bufferBy(view, places);
    if (buffer === null) continue;
    if (holds(buffer)) return buffer;
    likely ??= buffer;
  }
  return likely;
}

/** Room that an aligned base may take from a buffer. */
const ALIGNMENT_BYTES = 64n;

/** True where `size` bytes at `addr` lie in a buffer. */
export function liesIn(
  addr: bigint,
  size: number,
  buffer: { readonly addr: bigint; readonly sizeBytes: number },
): boolean {
  return addr >= buffer.addr && addr + BigInt(size) <= buffer.addr + BigInt(buffer.sizeBytes) + ALIGNMENT_BYTES;
}
