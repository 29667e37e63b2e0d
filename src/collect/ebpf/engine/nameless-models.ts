/** Models that a process maps in which no engine is known: why nothing is told of what it computes. */
import type { MappingEvent } from "../../../regions/mapping-row.ts";

export interface NamelessModels {
  /** Takes rows of mappings, before those that end a process are told to others. */
  follow(rows: readonly MappingEvent[]): void;
  /** One line for each model, once. */
  warnings(): readonly string[];
}

const FILE = /([^/]+?)(?: \(deleted\))?$/;

/** @param isKnown whether an engine was found in a process */
export function namelessModels(isKnown: (pid: number) => boolean): NamelessModels {
  /** Names of models by process. */
  const mapped = new Map<number, Set<string>>();
  const ended = new Set<string>();
  /** Paths of files that begin as a GGUF, whose names do not say so. */
  const ggufs = new Set<string>();

  function modelIn(path: string | null): string | null {
    const [, name = ""] = FILE.exec(path ?? "") ?? [];
    return name.endsWith(".gguf") || ggufs.has(path ?? "") ? name : null;
  }

  function unknownOf(pid: number): string[] {
    return isKnown(pid) ? [] : [...(mapped.get(pid) ?? [])];
  }

  return {
    follow(rows) {
      for (const { kind, path } of rows) if (kind === "gguf" && path !== null) ggufs.add(path);
      for (const { pid, kind, path } of rows) {
        if (kind === "exit" || kind === "exec") {
          for (const model of unknownOf(pid)) ended.add(model);
          mapped.delete(pid);
          continue;
        }
        const models = mapped.get(pid);
        // What a file is was found out behind the end of its process.
        if (kind === "gguf" && models === undefined) continue;
        const model = modelIn(path);
        mapped.set(pid, model === null ? (models ?? new Set()) : (models ?? new Set()).add(model));
      }
    },
    warnings: () =>
      [...new Set([...ended, ...[...mapped.keys()].flatMap(unknownOf)])].map(
        (model) =>
          `${model} is mapped by a process in which no engine is found, as where its program is stripped of symbols: its tensors have no names, and KV cache, activations, steps and tokens are not identifiable`,
      ),
  };
}
