/** The parameters of a model of torch by name, from its tree of modules, and where the bytes of each lie. */
import type { PythonObjects } from "../cpython/objects.ts";
import type { ReadMemory } from "../engine.ts";
import { COPIED, decodeTensor } from "../pytorch/tensor-impl.ts";
import { TORCH, TORCH_FLOATS } from "../pytorch/torch-layout.ts";
import { packedMatrix, type WeightBytes } from "./packed-matrix.ts";

export interface Parameter extends WeightBytes {
  /** As the model names it; what is packed anew beside a parameter that stays has `(packed)` behind its name. */
  readonly name: string;
}

export interface ModelParameters {
  readonly parameters: readonly Parameter[];
  /** Names of those whose bytes were not found. */
  readonly missing: readonly string[];
}

/** Where a tensor of Python has its structure, and where that of vLLM's handler says which one it is. */
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

/** Where the bytes of a tensor lie; `empty` for one that has none; null where what is there is no tensor in one piece. */
function tensorBytes(read: ReadMemory, python: PythonObjects, object: bigint): WeightBytes | "empty" | null {
  const structure = python.pointer(object + TENSOR_STRUCTURE);
  if (structure === null || structure === 0n) return null;
  const bytes = read(structure + BigInt(COPIED.tensor.from), COPIED.tensor.bytes);
  if (bytes === null) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tensor = decodeTensor(view, 0);
  if (tensor === null || tensor.device !== 0) return null;
  if (tensor.elements === 0n) return "empty";
  const element = TORCH_FLOATS.get(tensor.type) ?? OTHERS.get(tensor.type);
  const storage = view.getBigUint64(TORCH.tensor.storage - COPIED.tensor.from, true);
  const data = python.pointer(storage + BigInt(TORCH.storage.data));
  const storageBytes = python.pointer(storage + BigInt(TORCH.storage.bytes));
  if (element === undefined || data === null || data === 0n || storageBytes === null) return null;
  const width = BigInt(element.bytes);
  // What is not in one piece, in whatever order of its dimensions, would be told with bytes of others.
  const reach = tensor.sizes.reduce((sum, size, i) => sum + (size - 1n) * (tensor.strides[i] ?? 0n), 1n);
  if (reach !== tensor.elements || (tensor.storageOffset + reach) * width > storageBytes) return null;
  const addr = data + tensor.storageOffset * width;
  return { addr, size_bytes: Number(reach * width), type: element.name, shape: tensor.sizes.map(Number) };
}

/** What a linear layer computes with instead of its parameter. */
function packedBytes(read: ReadMemory, python: PythonObjects, linear: bigint): WeightBytes | null {
  for (const object of python.closure(linear) ?? []) {
    const name = object === 0n ? null : python.className(object);
    if (name === "Tensor" || name === "Parameter") {
      const found = tensorBytes(read, python, object);
      if (found !== null && found !== "empty") return found;
    }
    if (name !== "CPUDNNLGEMMHandler") continue;
    const tensor = python.attribute(object, "handler_tensor");
    const place = tensor === null ? null : tensorBytes(read, python, tensor);
    const handler = place === null || place === "empty" ? null : python.pointer(place.addr);
    return handler === null ? null : packedMatrix(read, handler);
  }
  return null;
}

/** Of all modules of the model. */
export function modelParameters(read: ReadMemory, python: PythonObjects, model: bigint): ModelParameters {
  const parameters: Parameter[] = [];
  const missing: string[] = [];
  const seen = new Set<bigint>();
  /** Two names of one parameter are one. */
  const addresses = new Set<bigint>();

  function add(name: string, bytes: WeightBytes): void {
    if (addresses.has(bytes.addr)) return;
    addresses.add(bytes.addr);
    parameters.push({ name, ...bytes });
  }

  const waiting: { readonly prefix: string; readonly module: bigint }[] = [{ prefix: "", module: model }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { prefix, module } = next;
    if (seen.has(module) || seen.size >= MOST_MODULES) continue;
    seen.add(module);
    const held = python.attribute(module, "_parameters");
    const linear = python.attribute(module, "cpu_linear");
    const packed = linear === null ? null : packedBytes(read, python, linear);
    for (const [name, object] of (held === null ? null : python.entries(held)) ?? []) {
      const found = python.className(object) === "NoneType" ? null : tensorBytes(read, python, object);
      const isPacked = name === "weight" && packed !== null;
      if (found !== null && found !== "empty") add(prefix + name, found);
      if (isPacked) add(found === "empty" ? prefix + name : `${prefix}${name} (packed)`, packed);
      if (found === "empty" && !isPacked) missing.push(prefix + name);
      if (found === null && python.className(object) !== "NoneType") missing.push(prefix + name);
    }
    const inner = python.attribute(module, "_modules");
    const modules = [...((inner === null ? null : python.entries(inner)) ?? [])];
    for (const [name, one] of modules.toReversed()) waiting.push({ prefix: `${prefix}${name}.`, module: one });
  }
  return { parameters, missing };
}
