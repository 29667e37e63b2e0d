/** Which of the workers a process is, over which vLLM spreads a model. */
import type { PythonObjects } from "../cpython/objects.ts";

/** Each worker has a part of each layer, or some of the layers: together they are as many as these say. */
const SIZES = ["tensor_parallel_size", "pipeline_parallel_size", "prefill_context_parallel_size"] as const;

/** True for all but the first of the workers of one engine, which make the same steps; false also where it is not said. */
export function isFurtherWorker(python: PythonObjects, runner: bigint): boolean {
  const config = python.attribute(runner, "parallel_config");
  if (config === null) return false;
  const countOf = (name: string): number | null => {
    const place = python.attribute(config, name);
    return place === null ? null : python.number(place);
  };
  const workers = SIZES.reduce((product, name) => product * (countOf(name) ?? 1), 1);
  return workers > 1 && (countOf("rank") ?? 0) % workers !== 0;
}
