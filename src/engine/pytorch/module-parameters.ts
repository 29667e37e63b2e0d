/** The parameters of a model of torch by name, from its tree of modules, and where the bytes of each lie. */
import type { PythonObjects } from "../cpython/objects.ts";
import type { ReadMemory } from "../engine.ts";
import { decodeStorage, isThere, STORAGE_BYTES, type Storage } from "./cache-tensor.ts";
import { COPIED, decodeTensor, type Tensor } from "./tensor-impl.ts";
import { TORCH, TORCH_FLOATS } from "./torch-layout.ts";

export interface WeightBytes {
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly type: string;
  readonly shape: readonly number[];
}

/** A tensor by its structure, and the storage that its bytes are in: both are looked at again to learn whether it is still there. */
export interface HeldTensor {
  readonly structure: bigint;
  readonly shape: string;
  readonly storage: Storage;
}

/** The bytes of a tensor, and what holds them. */
export interface TensorBytes {
  readonly bytes: WeightBytes;
  readonly held: HeldTensor;
}

export interface Parameter extends WeightBytes {
  /** As the model names it; what is packed anew beside a parameter that stays has `(packed)` behind its name. */
  readonly name: string;
  /** Of the same bytes in other places of the model, as of a table to which the output matrix is tied; none unless told. */
  readonly other_names?: readonly string[];
}

export interface ModelParameters {
  readonly parameters: readonly Parameter[];
  /** Names of those whose bytes were not found. */
  readonly missing: readonly string[];
  /** Of each parameter that is not packed anew what holds it, by its address. */
  readonly held: ReadonlyMap<bigint, HeldTensor>;
}

/** What a module computes with instead of its parameter; null where that is the parameter. */
export type PackedOf = (module: bigint) => WeightBytes | null;

/** Where a tensor of Python has its structure. */
const TENSOR_STRUCTURE = 16n;
const MOST_MODULES = 2 ** 16;
/** Types of elements that are no floats, as weights that were quantised have: their number, and how many bytes they have. */
const OTHERS: ReadonlyMap<number, { readonly name: string; readonly bytes: number }> = new Map([
  [0, { name: "u8", bytes: 1 }],
  [1, { name: "i8", bytes: 1 }],
  [3, { name: "i32", bytes: 4 }],
  [4, { name: "i64", bytes: 8 }],
  [23, { name: "f8_e5m2", bytes: 1 }],
  [24, { name: "f8_e4m3", bytes: 1 }],
]);

const shapeOf = ({ type, sizes, storageOffset }: Tensor): string => `${type}/${sizes.join("x")}/${storageOffset}`;

/** What the structure of a tensor says now, and where it says that its storage is; null where it is none. */
function tensorAt(read: ReadMemory, structure: bigint): { readonly tensor: Tensor; readonly storageAt: bigint } | null {
  const bytes = read(structure + BigInt(COPIED.tensor.from), COPIED.tensor.bytes);
  if (bytes === null) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tensor = decodeTensor(view, 0);
  return tensor && { tensor, storageAt: view.getBigUint64(TORCH.tensor.storage - COPIED.tensor.from, true) };
}

/** False where it is another one now, or is not there any more: memory that was given back may have another storage like it, at the same place. */
export function isHeld({ structure, shape, storage }: HeldTensor, read: ReadMemory): boolean {
  const now = tensorAt(read, structure);
  return now?.storageAt === storage.structure && shapeOf(now.tensor) === shape && isThere(storage, read);
}

/** Where the bytes of a tensor lie; `empty` for one that has none; null where what is there is no tensor in one piece. */
export function tensorBytes(read: ReadMemory, python: PythonObjects, object: bigint): TensorBytes | "empty" | null {
  const structure = python.pointer(object + TENSOR_STRUCTURE);
  if (structure === null || structure === 0n) return null;
  const now = tensorAt(read, structure);
  if (now === null || now.tensor.device !== 0) return null;
  const { tensor, storageAt } = now;
  if (tensor.elements === 0n) return "empty";
  const element = TORCH_FLOATS.get(tensor.type) ?? OTHERS.get(tensor.type);
  const copied = storageAt === 0n ? null : read(storageAt, STORAGE_BYTES);
  const storage =
    copied && decodeStorage(new DataView(copied.buffer, copied.byteOffset, copied.byteLength), 0, storageAt);
  if (element === undefined || storage === null) return null;
  const width = BigInt(element.bytes);
  // What is not in one piece, in whatever order of its dimensions, would be told with bytes of others.
  const reach = tensor.sizes.reduce((sum, size, i) => sum + (size - 1n) * (tensor.strides[i] ?? 0n), 1n);
  if (reach !== tensor.elements || (tensor.storageOffset + reach) * width > storage.size_bytes) return null;
  const addr = storage.addr + tensor.storageOffset * width;
  const place = { addr, size_bytes: Number(reach * width), type: element.name, shape: tensor.sizes.map(Number) };
  return { bytes: place, held: { structure, shape: shapeOf(tensor), storage } };
}

/** Where the first element of a tensor lies, whether it is in one piece or not; null for one without elements, and for what is none. */
export function tensorPlace(read: ReadMemory, python: PythonObjects, object: bigint): bigint | null {
  const structure = python.pointer(object + TENSOR_STRUCTURE);
  const now = structure === null || structure === 0n ? null : tensorAt(read, structure);
  if (now === null || now.tensor.device !== 0 || now.tensor.elements === 0n) return null;
  const { type, storageOffset } = now.tensor;
  const width = (TORCH_FLOATS.get(type) ?? OTHERS.get(type))?.bytes;
  const data = now.storageAt === 0n ? null : python.pointer(now.storageAt + BigInt(TORCH.storage.data));
  return width === undefined || data === null || data === 0n ? null : data + storageOffset * BigInt(width);
}

/** True for an object that is a module as torch has them. */
export function isModule(python: PythonObjects, object: bigint): boolean {
  const [held, inner] = ["_parameters", "_modules"].map((name) => python.attribute(object, name));
  return held != null && inner != null && python.entries(held) !== null && python.entries(inner) !== null;
}

/**
 * Of all modules of the model.
 * @param seen modules that were gone through before, to which these are added
 */
export function moduleParameters(
  read: ReadMemory,
  python: PythonObjects,
  model: bigint,
  packedOf: PackedOf = () => null,
  seen: Set<bigint> = new Set(),
): ModelParameters {
  const missing: string[] = [];
  const held = new Map<bigint, HeldTensor>();
  const parameters = new Map<bigint, Parameter>();

  /** Two names of one parameter are one. */
  function add(name: string, bytes: WeightBytes): void {
    const same = parameters.get(bytes.addr);
    const other_names = [...(same?.other_names ?? []), name];
    parameters.set(bytes.addr, same === undefined ? { name, ...bytes } : { ...same, other_names });
  }

  /** A module that is in the model twice, as where that of the embeddings computes the output. */
  function addAgain(prefix: string, module: bigint): void {
    if (packedOf(module) !== null) return;
    const named = python.attribute(module, "_parameters");
    for (const [name, object] of (named === null ? null : python.entries(named)) ?? []) {
      const found = python.className(object) === "NoneType" ? null : tensorBytes(read, python, object);
      if (found !== null && found !== "empty" && parameters.has(found.bytes.addr)) add(prefix + name, found.bytes);
    }
  }

  const waiting: { readonly prefix: string; readonly module: bigint }[] = [{ prefix: "", module: model }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { prefix, module } = next;
    if (seen.has(module)) addAgain(prefix, module);
    if (seen.has(module) || seen.size >= MOST_MODULES) continue;
    seen.add(module);
    const named = python.attribute(module, "_parameters");
    const packed = packedOf(module);
    for (const [name, object] of (named === null ? null : python.entries(named)) ?? []) {
      const found = python.className(object) === "NoneType" ? null : tensorBytes(read, python, object);
      const isPacked = name === "weight" && packed !== null;
      if (found !== null && found !== "empty") {
        // The matrix of another module is not what this one computes with where it has it packed anew.
        if (!isPacked || !parameters.has(found.bytes.addr)) add(prefix + name, found.bytes);
        held.set(found.bytes.addr, found.held);
      }
      if (isPacked) add(found === "empty" ? prefix + name : `${prefix}${name} (packed)`, packed);
      if (found === "empty" && !isPacked) missing.push(prefix + name);
      if (found === null && python.className(object) !== "NoneType") missing.push(prefix + name);
    }
    const inner = python.attribute(module, "_modules");
    const modules = [...((inner === null ? null : python.entries(inner)) ?? [])];
    for (const [name, one] of modules.toReversed()) waiting.push({ prefix: `${prefix}${name}.`, module: one });
  }
  return { parameters: [...parameters.values()], missing, held };
}
