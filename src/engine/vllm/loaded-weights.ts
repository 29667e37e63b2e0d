/** The weights of one process of vLLM by name: its Python objects are read once, after the first of its steps. */

import { monotonicNs } from "../../kernel/libc.ts";
import { nullsOf } from "../../schema/row.ts";
import { pythonObjects } from "../cpython/objects.ts";
import type { EngineRow, LiveTensor, Look, ReadMemory } from "../engine.ts";
import { type ModelParameters, moduleParameters } from "../pytorch/module-parameters.ts";
import { parameterRows, parameterTensor } from "../pytorch/parameter-rows.ts";
import { packedBytes } from "./packed-linear.ts";
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
    const pairs = parameters.map((parameter) => [parameterTensor(ENGINE_NAME, pid, parameter), parameter] as const);
    live = pairs.map(([tensor]) => tensor);
    tensors.push(...pairs.flatMap(([tensor, parameter]) => parameterRows(tensor, parameter, timestamp_ns)));
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
      const packedOf = (module: bigint) => packedBytes(read, objects, module);
      if (model !== null) return tell(moduleParameters(read, objects, model, packedOf));
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
