/** The model of a process that runs already: the GGUF that it maps, else the one that its command line names. */
import { readlinkSync } from "node:fs";
import { basename, resolve } from "node:path";
import { modelFacts } from "../engine/gguf/model-facts.ts";
import type { ModelFacts } from "../schema/model-facts.ts";
import { readProc } from "../target/proc-file.ts";
import type { RunningProcess } from "../target/running-process.ts";
import { ggufWords } from "./launched-target.ts";

/** The files as this process can open them: through the root of the target, which a container may have changed. */
function candidates({ pid, command }: RunningProcess): string[] {
  const maps = readProc(`/proc/${pid}/maps`);
  const mapped = maps.ok ? [...maps.text.matchAll(/ (\/[^\n]*\.gguf)$/gm)].map(([, path = ""]) => path) : [];
  const words = ggufWords(command).map((word) => resolve(folderOf(pid), word));
  return [...new Set([...mapped, ...words])].map((path) => `/proc/${pid}/root${path}`);
}

function folderOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // Not ours to see, or gone: words with a full path still name their file.
    return "/";
  }
}

/** Name from which the model's id is made (general.name of the model, else the base name of the command), and what its file says. */
export function runningModel(target: RunningProcess): { readonly name: string; readonly model: ModelFacts | null } {
  for (const path of candidates(target)) {
    const model = modelFacts(path);
    if (model?.name) return { name: model.name, model };
  }
  return { name: basename(target.command[0] ?? ""), model: null };
}
