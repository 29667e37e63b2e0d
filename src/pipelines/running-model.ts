/** The model of a process that runs already: the GGUF that it maps, else the one that its command line names. */
import { readlinkSync } from "node:fs";
import { basename, resolve } from "node:path";
import { modelFacts } from "../engine/gguf/model-facts.ts";
import { mappedModels } from "../record/mapped-models.ts";
import type { ModelFacts } from "../schema/model-facts.ts";
import type { RunningProcess } from "../target/running-process.ts";
import { ggufWords } from "./launched-target.ts";

interface FoundModel {
  readonly path: string;
  readonly facts: ModelFacts | null;
}

/** The files of a command line as this process can open them: through the root of the target, which a container may have changed. */
function modelsOfWords({ pid, command }: RunningProcess): FoundModel[] {
  const paths = ggufWords(command).map((word) => resolve(folderOf(pid), word));
  return paths.map((path) => ({ path, facts: modelFacts(`/proc/${pid}/root${path}`) }));
}

function folderOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // Not ours to see, or gone: words with a full path still name their file.
    return "/";
  }
}

/** Name from which the model's id is made (that of the model, else of its file, else of the command), and what its file says. */
export function runningModel(target: RunningProcess): { readonly name: string; readonly model: ModelFacts | null } {
  const mapped = mappedModels(target.pid);
  // Where a file that is mapped has lost its name, the command line leads to what has that name now.
  const isReplaced = mapped.some(({ isDeleted }) => isDeleted);
  const found: FoundModel[] = [...mapped, ...(isReplaced ? [] : modelsOfWords(target))];
  const best = found.find(({ facts }) => facts?.name) ?? found.find(({ facts }) => facts !== null);
  if (best === undefined) return { name: basename(target.command[0] ?? ""), model: null };
  return { name: best.facts?.name ?? basename(best.path, ".gguf"), model: best.facts };
}
