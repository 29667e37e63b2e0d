/** How a parameter of a model is told: by its name, where it lies, found in the objects of its program. */
import { nullsOf } from "../../schema/row.ts";
import type { EngineRow, LiveTensor } from "../engine.ts";
import { layerOfParameter } from "../safetensors/file.ts";
import type { Parameter } from "./module-parameters.ts";
import { roleByName } from "./token-tables.ts";

/** @param engine its name */
export function parameterTensor(
  engine: string,
  pid: number,
  { name, other_names = [], type, addr, size_bytes, shape }: Parameter,
): LiveTensor {
  return {
    ...{ engine, pid, name, tensor_type: type, addr, size_bytes, ne: shape.toReversed(), nb: [] },
    ...{ region_type: "weight", layer: layerOfParameter(name), logical_id: name, kv_layout: null },
    // Of a table few rows are read, unless the output is computed with it too.
    drawn: [name, ...other_names].some((one) => roleByName(one) !== "tokens"),
    is_alone: true,
  };
}

/** One for each of its names: it was there before it was seen. */
export function parameterRows(
  { pid, name, tensor_type, addr, size_bytes, ne, layer, logical_id }: LiveTensor,
  { other_names = [] }: Parameter,
  timestamp_ns: bigint,
): EngineRow<"tensor">[] {
  const { engine: _, ...none } = nullsOf("tensor");
  const place = { addr, size_bytes: BigInt(size_bytes), buffer: addr, buffer_addr: addr };
  const row: EngineRow<"tensor"> = {
    ...{ ...none, timestamp_ns, pid, tid: pid, kind: "graph", name, tensor_type, ...place },
    ...{ buffer_size_bytes: BigInt(size_bytes), shape: ne.join("x"), usage: "weights", region_type: "weight" },
    ...{ layer, logical_id, evidence: "engine_objects" },
  };
  return [row, ...other_names.map((other) => ({ ...row, kind: "tied" as const, name: other }))];
}
