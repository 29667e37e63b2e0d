/** The model of a run of which nothing was known before: its file is read when a process of the tree has loaded one, or computes. */
import { readlinkSync } from "node:fs";
import { resolve } from "node:path";
import type { Batch } from "../columnar/batch.ts";
import { numberAt, textAt } from "../columnar/cell.ts";
import { modelFacts } from "../engine/gguf/model-facts.ts";
import type { ModelFacts } from "../schema/model-facts.ts";
import { detailOf } from "../schema/step-detail.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { mappedModels } from "./mapped-models.ts";

export interface ModelSight {
  /** Looks at a batch of the step table. */
  take(batch: Batch): void;
  /** Null until one was found. */
  readonly model: ModelFacts | null;
}

/** To read a directory holds the recording up, for 0.1 s where it has the largest vocabulary. */
const MOST_LOOKS = 32;
/** Steps before which a model was loaded. */
const COMPUTES: ReadonlySet<string | null> = new Set(["decode", "encode", "graph"]);

/** The path that a load was given, as the process sees it; null for one that it read no weights from. */
function pathOfLoad(pid: number, detail: string | null): string | null {
  const { path, simulated } = detailOf({ detail });
  if (typeof path !== "string" || simulated === true) return null;
  try {
    return resolve(readlinkSync(`/proc/${pid}/cwd`), path);
  } catch {
    // It has ended: no way leads to its files.
    return null;
  }
}

/** @param loaded path of the file that was loaded last, null where it is not known */
function modelOf(pid: number, loaded: string | null): ModelFacts | null {
  const mapped = mappedModels(pid).filter(({ facts }) => facts !== null);
  const best = mapped.find(({ path }) => path === loaded) ?? mapped.find(({ facts }) => facts?.name) ?? mapped[0];
  if (best !== undefined || loaded === null) return best?.facts ?? null;
  // What is copied into memory is mapped nowhere. The path is the word of a program: what the user may not read is not read for them.
  return asUser(invokingUser(), () => modelFacts(`/proc/${pid}/root${loaded}`));
}

/** @param given what is known before; then nothing is looked for */
export function createModelSight(given: ModelFacts | null): ModelSight {
  const computing = new Set<number>();
  let model = given;
  let looks = 0;

  function look(pid: number, loaded: string | null): void {
    if (model !== null || looks >= MOST_LOOKS) return;
    looks += 1;
    model = modelOf(pid, loaded);
  }

  return {
    take({ rows, columns }) {
      for (let row = 0; model === null && row < rows; row++) {
        const kind = textAt(columns.kind, row);
        const pid = numberAt(columns.pid, row) ?? 0;
        if (kind === "model_load") look(pid, pathOfLoad(pid, textAt(columns.detail, row)));
        if (!COMPUTES.has(kind) || computing.has(pid)) continue;
        computing.add(pid);
        look(pid, null);
      }
    },
    get model() {
      return model;
    },
  };
}
