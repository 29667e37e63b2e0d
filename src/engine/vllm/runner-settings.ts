/** What the settings of vLLM's model runner say of its steps: which of the workers it is, and whether tokens are guessed. */
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

/** True where tokens are guessed, to be checked several at once (speculative decoding); false also where it is not said. */
export function guessesTokens(python: PythonObjects, runner: bigint): boolean {
  const config = python.attribute(runner, "speculative_config");
  const name = config === null ? null : python.className(config);
  return name !== null && name !== "NoneType";
}
