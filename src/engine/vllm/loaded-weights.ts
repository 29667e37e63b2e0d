/** The weights of one process of vLLM by name: its Python objects are read once, after the first of its steps. */

import { monotonicNs } from "../../kernel/libc.ts";
import { nullsOf } from "../../schema/row.ts";
import { pythonObjects } from "../cpython/objects.ts";
import type { EngineRow, LiveTensor, Look, ReadMemory } from "../engine.ts";
import { roleByName } from "../pytorch/token-tables.ts";
import { layerOfParameter } from "../safetensors/file.ts";
import { type ModelParameters, modelParameters, type Parameter } from "./model-parameters.ts";
import { ENGINE_NAME } from "./probes.ts";
import type { RunnerFinder } from "./runner-finder.ts";

export interface LoadedWeights {
  /** A step was seen: its threads are in the model's methods, or were a moment ago. */
  awake(): void;
  look(read: ReadMemory): Look | null;
  takeRows(): { readonly tensors: EngineRow<"tensor">[]; readonly steps: EngineRow<"step">[] };
  live(): readonly LiveTensor[];
}

const NO_MODEL = "its model runner has no model yet";

function liveTensor(pid: number, { name, type, addr, size_bytes, shape }: Parameter): LiveTensor {
  return {
    ...{ engine: ENGINE_NAME, pid, name, tensor_type: type, addr, size_bytes, ne: shape.toReversed(), nb: [] },
    ...{ region_type: "weight", layer: layerOfParameter(name), logical_id: name, kv_layout: null },
    // Of a table few rows are read.
    drawn: roleByName(name) !== "tokens",
    is_alone: true,
  };
}

/** Nothing known yet. */
export function loadedWeights(pid: number, finder: RunnerFinder): LoadedWeights {
  let isOver = false;
  let isAwake = false;
  let live: readonly LiveTensor[] = [];
  let tensors: EngineRow<"tensor">[] = [];
  let steps: EngineRow<"step">[] = [];

  function addStep(timestamp_ns: bigint, detail: Readonly<Record<string, unknown>>): void {
    const { engine: _, ...none } = nullsOf("step");
    steps.push({ ...none, timestamp_ns, pid, tid: pid, kind: "engine", detail: JSON.stringify(detail) });
  }

  function giveUp(weights_untold: string): void {
    isOver = true;
    addStep(monotonicNs(), { weights_untold });
  }

  function tell({ parameters, missing }: ModelParameters): Look {
    const timestamp_ns = monotonicNs();
    isOver = true;
    live = parameters.map((parameter) => liveTensor(pid, parameter));
    const { engine: _, ...none } = nullsOf("tensor");
    tensors.push(
      ...live.map(({ name, tensor_type, addr, size_bytes, ne, layer, logical_id }): EngineRow<"tensor"> => {
        const place = { addr, size_bytes: BigInt(size_bytes), buffer: addr, buffer_addr: addr };
        return {
          ...{ ...none, timestamp_ns, pid, tid: pid, kind: "graph", name, tensor_type, ...place },
          ...{ buffer_size_bytes: BigInt(size_bytes), shape: ne.join("x"), usage: "weights", region_type: "weight" },
          ...{ layer, logical_id, evidence: "engine_objects" },
        };
      }),
    );
    const weight_bytes = live.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
    addStep(timestamp_ns, { weight_tensors: live.length, weight_bytes, weights_missing: missing.length });
    return {
      graph: "model",
      tensors: live.length,
      found: live.length,
      refused: { no_bytes: missing.length },
      nodes: 0,
      unread_nodes: 0,
    };
  }

  return {
    awake() {
      isAwake = true;
    },
    look(read) {
      if (isOver || !isAwake) return null;
      isAwake = false;
      const found = finder.find(read);
      const why = finder.untold();
      if (why !== null) giveUp(why);
      if (found === null) return null;
      const objects = pythonObjects(read, found.layout);
      const model = objects.attribute(found.runner, "model");
      if (model !== null) return tell(modelParameters(read, objects, model));
      giveUp(NO_MODEL);
      return null;
    },
    takeRows() {
      const taken = { tensors, steps };
      tensors = [];
      steps = [];
      return taken;
    },
    live: () => live,
  };
}
