/**
 * The weights of a linear layer as vLLM's oneDNN handler keeps them: packed anew, in blocks of another order. The structures are
 * DNNLMatMulPrimitiveHandler (csrc/cpu/dnnl_helper.h) and dnnl_memory of oneDNN 3, believed where they agree with each other.
 */
import type { ReadMemory } from "../engine.ts";
import type { WeightBytes } from "../pytorch/module-parameters.ts";

const HANDLER = { columns: 0x08, rows: 0x18, type: 0x28, memories: 0x40, bytes: 0x50 } as const;
/** Of the list of memories: the next, the number of the argument that this one is for, the memory. */
const NODE = { next: 0, argument: 8, memory: 16, bytes: 24 } as const;
const MEMORY = {
  dimensions: 0x1c,
  sizes: 0x20,
  type: 0x80,
  padded: 0x88,
  kind: 0x150,
  storages: 0x318,
  bytes: 0x328,
} as const;
const STORAGE_DATA = 0x30;
/** DNNL_ARG_WEIGHTS, and dnnl_blocked. */
const WEIGHTS = 33;
const BLOCKED = 2;
const MOST_ARGUMENTS = 16;
/** dnnl_data_type_t. */
const TYPES: ReadonlyMap<number, { readonly name: string; readonly bytes: number }> = new Map([
  [1, { name: "f16", bytes: 2 }],
  [2, { name: "bf16", bytes: 2 }],
  [3, { name: "f32", bytes: 4 }],
  [5, { name: "i8", bytes: 1 }],
]);
const MOST_ROWS = 2n ** 32n;
/** No block of oneDNN is larger. */
const MOST_PADDING = 256n;

/** Null where the bytes are no such handler with its weights in blocks: the build's layout is another one. */
export function packedMatrix(read: ReadMemory, handler: bigint): WeightBytes | null {
  const view = (address: bigint, length: number): DataView | null => {
    const bytes = address === 0n ? null : read(address, length);
    return bytes && new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
  const head = view(handler, HANDLER.bytes);
  if (head === null) return null;
  const columns = head.getBigInt64(HANDLER.columns, true);
  const rows = head.getBigInt64(HANDLER.rows, true);
  if (!(rows > 0n && rows < MOST_ROWS && columns > 0n && columns < MOST_ROWS)) return null;
  let node = view(head.getBigUint64(HANDLER.memories, true), NODE.bytes);
  for (let i = 1; node !== null && node.getInt32(NODE.argument, true) !== WEIGHTS; i++) {
    node = i < MOST_ARGUMENTS ? view(node.getBigUint64(NODE.next, true), NODE.bytes) : null;
  }
  const memory = node && view(node.getBigUint64(NODE.memory, true), MEMORY.bytes);
  if (memory === null || memory.getInt32(MEMORY.dimensions, true) !== 2) return null;
  const pair = (offset: number) => [memory.getBigInt64(offset, true), memory.getBigInt64(offset + 8, true)] as const;
  const [sizes, padded] = [pair(MEMORY.sizes), pair(MEMORY.padded)];
  if (sizes[0] !== rows || sizes[1] !== columns || memory.getInt32(MEMORY.kind, true) !== BLOCKED) return null;
  if (padded.some((size, i) => size < (sizes[i] ?? 0n) || size >= (sizes[i] ?? 0n) + MOST_PADDING)) return null;
  const type = memory.getInt32(MEMORY.type, true);
  const element = TYPES.get(type);
  if (element === undefined || type !== head.getInt32(HANDLER.type, true)) return null;
  const [first, last] = pair(MEMORY.storages);
  const storage = last - first === 8n ? view(first, 8)?.getBigUint64(0, true) : undefined;
  const addr = storage === undefined ? undefined : view(storage + BigInt(STORAGE_DATA), 8)?.getBigUint64(0, true);
  if (addr === undefined || addr === 0n || addr % 64n !== 0n) return null;
  const size_bytes = Number(padded[0] * padded[1]) * element.bytes;
  // What is told must be there.
  if (view(addr, 1) === null || view(addr + BigInt(size_bytes) - 1n, 1) === null) return null;
  return { addr, size_bytes, type: element.name, shape: [Number(columns), Number(rows)] };
}
