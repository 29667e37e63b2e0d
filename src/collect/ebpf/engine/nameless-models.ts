/** Models that a process maps in which no engine is known: why nothing is told of what it computes. */
import type { MappingEvent } from "../../../regions/mapping-row.ts";

export interface NamelessModels {
  /** Takes rows of mappings, before those that end a process are told to others. */
  follow(rows: readonly MappingEvent[]): void;
  /** One line for each model, once. */
  warnings(): readonly string[];
}

const MODEL = /([^/]+\.gguf)(?: \(deleted\))?$/;

/** @param isKnown whether an engine was found in a process */
export function namelessModels(isKnown: (pid: number) => boolean): NamelessModels {
  /** Names of models by process. */
  const mapped = new Map<number, Set<string>>();
  const ended = new Set<string>();

  function unknownOf(pid: number): string[] {
    return isKnown(pid) ? [] : [...(mapped.get(pid) ?? [])];
  }

  return {
    follow(rows) {
      for (const { pid, kind, path } of rows) {
        if (kind === "exit" || kind === "exec") {
          for (const model of unknownOf(pid)) ended.add(model);
          mapped.delete(pid);
          continue;
        }
        const [, model] = MODEL.exec(path ?? "") ?? [];
        if (model !== undefined) mapped.set(pid, (mapped.get(pid) ?? new Set()).add(model));
      }
    },
    warnings: () =>
      [...new Set([...ended, ...[...mapped.keys()].flatMap(unknownOf)])].map(
        (model) =>
          `${model} is mapped by a process in which no engine is found, as where its program is stripped of symbols: its tensors have no names, and KV cache, activations, steps and tokens are not identifiable`,
      ),
  };
}
