/** What a linear layer of vLLM computes with: the matrix that its handler of oneDNN packed anew, or a tensor beside its parameter. */
import type { PythonObjects } from "../cpython/objects.ts";
import type { ReadMemory } from "../engine.ts";
import { tensorBytes, type WeightBytes } from "../pytorch/module-parameters.ts";
import { packedMatrix } from "./packed-matrix.ts";

/** What a linear layer of vLLM computes with instead of its parameter. */
export function packedBytes(read: ReadMemory, python: PythonObjects, module: bigint): WeightBytes | null {
  const linear = python.attribute(module, "cpu_linear");
  if (linear === null) return null;
  for (const object of python.closure(linear) ?? []) {
    const name = object === 0n ? null : python.className(object);
    if (name === "Tensor" || name === "Parameter") {
      const found = tensorBytes(read, python, object);
      if (found !== null && found !== "empty") return found.bytes;
    }
    if (name !== "CPUDNNLGEMMHandler") continue;
    const tensor = python.attribute(object, "handler_tensor");
    const place = tensor === null ? null : tensorBytes(read, python, tensor);
    const handler = place === null || place === "empty" ? null : python.pointer(place.bytes.addr);
    return handler === null ? null : packedMatrix(read, handler);
  }
  return null;
}
