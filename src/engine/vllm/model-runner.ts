/** Where vLLM's worker keeps its model, found from the objects whose methods its threads are in. */
import type { PythonObjects } from "../cpython/objects.ts";

/** By class the attribute that leads on to the model runner. */
const NEXT: Readonly<Record<string, string>> = {
  LLM: "llm_engine",
  LLMEngine: "engine_core",
  InprocClient: "engine_core",
  EngineCore: "model_executor",
  EngineCoreProc: "model_executor",
  UniProcExecutor: "driver_worker",
  WorkerProc: "worker",
  WorkerWrapperBase: "worker",
  CPUWorker: "model_runner",
};
const RUNNER = /^(?:CPU|GPU)ModelRunner$/;

/** The first model runner that one of the objects is, or leads to; null where none does. */
export function modelRunner(python: PythonObjects, objects: Iterable<bigint>): bigint | null {
  const seen = new Set<bigint>();
  for (const first of objects) {
    let object: bigint | null = first;
    while (object !== null && !seen.has(object)) {
      seen.add(object);
      const name: string = python.className(object) ?? "";
      if (RUNNER.test(name)) return object;
      const next: string | undefined = NEXT[name];
      object = next === undefined ? null : python.attribute(object, next);
    }
  }
  return null;
}
