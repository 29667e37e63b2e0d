/** A tensor of ggml with its class, as the rest of the program knows tensors. */
import type { TensorUsage } from "../../schema/words.ts";
import type { LiveTensor } from "../engine.ts";
import type { CacheRole } from "./cache-role.ts";
import { classify, isTable, layoutOf, type TensorClass } from "./classify.ts";
import type { RawTensor } from "./decode-tensor.ts";
import { ENGINE_NAME } from "./probes.ts";

/** What a tensor is: by its name and its buffer, or by the graph that writes it. */
function classOf(name: string, usage: TensorUsage, role: CacheRole | undefined): TensorClass {
  if (role === undefined) return classify(name, usage);
  const { layer, part } = role;
  return {
    region_type: "kv_cache",
    layer,
    logical_id: layer === null || part === null ? null : `layer${layer}.${part}`,
  };
}

/** One of process `pid` at `addr`; its class is null where neither name, usage nor role tells it. */
export function classedTensor(
  pid: number,
  tensor: RawTensor,
  place: { readonly addr: bigint; readonly usage: TensorUsage; readonly role?: CacheRole | undefined },
): Omit<LiveTensor, "region_type"> & TensorClass {
  const { addr, usage, role } = place;
  return {
    engine: ENGINE_NAME,
    pid,
    // The name of a tensor that got none is its number in a graph.
    name: tensor.name === "" || role !== undefined ? null : tensor.name,
    tensor_type: tensor.type.name,
    addr,
    size_bytes: tensor.sizeBytes,
    ne: role === undefined ? tensor.ne : [role.elements, role.cells, 1, 1],
    nb: tensor.nb,
    ...classOf(tensor.name, usage, role),
    kv_layout: role?.layout ?? layoutOf(tensor.name, null),
    drawn: !isTable(tensor.name),
  };
}
