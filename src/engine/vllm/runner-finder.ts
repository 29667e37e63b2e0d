/** The model runner among the Python objects of one process, found once: where its parameters and requests are read. */
import { firstArguments } from "../cpython/call-frames.ts";
import { readableInterpreter } from "../cpython/interpreter.ts";
import type { PythonLayout } from "../cpython/layout.ts";
import { pythonObjects } from "../cpython/objects.ts";
import type { AddressOf, ReadMemory } from "../engine.ts";
import { modelRunner } from "./model-runner.ts";

export interface FoundRunner {
  readonly layout: PythonLayout;
  /** Address of the object. */
  readonly runner: bigint;
}

export interface RunnerFinder {
  /** Null where no thread is in a method that leads to it now, or none ever will be. */
  find(read: ReadMemory): FoundRunner | null;
  /** What was found before; null while it was not. */
  found(): FoundRunner | null;
  /** Why it is not looked for any more; null while it is, and where it was found. */
  untold(): string | null;
}

/** So often the threads are looked at until one is in a method that leads to the model. */
const LOOKS = 64;
const NO_MODEL = "no thread of its process was seen in a method of vLLM that leads to the model";

/** Not found yet. */
export function runnerFinder(pid: number, addressOf: AddressOf): RunnerFinder {
  let left = LOOKS;
  let found: FoundRunner | null = null;
  let untold: string | null = null;

  return {
    find(read) {
      if (found !== null || untold !== null) return found;
      left -= 1;
      const python = readableInterpreter(pid, addressOf, read);
      if ("untold" in python) {
        untold = python.untold;
        return null;
      }
      const { layout, runtime } = python;
      const runner = modelRunner(pythonObjects(read, layout), firstArguments(read, layout, runtime));
      if (runner !== null) found = { layout, runner };
      else if (left === 0) untold = NO_MODEL;
      return found;
    },
    found: () => found,
    untold: () => untold,
  };
}
