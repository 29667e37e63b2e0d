/** The models that a process maps, read through the mappings: by now the name of such a file may be another's, or nobody's. */
import { mappedFile } from "../collect/ebpf/engine/mapped-file.ts";
import { mayBeGguf } from "../collect/ebpf/lifecycle/gguf-files.ts";
import { snapshotRows } from "../collect/ebpf/lifecycle/maps-look.ts";
import { modelFacts } from "../engine/gguf/model-facts.ts";
import type { ModelFacts } from "../schema/model-facts.ts";

export interface MappedModel {
  /** Path of the file as the process mapped it, or as it was renamed since. */
  readonly path: string;
  /** True where no name leads to the file any more. */
  readonly isDeleted: boolean;
  /** Null where the file is no whole GGUF, or no way leads to it. */
  readonly facts: ModelFacts | null;
}

const FILE_PATH = /^(\/.*?)( \(deleted\))?$/s;
const GGUF_END = /\.gguf$/;

/** The GGUF files that a process maps, in order of address, each once; none where it is gone. */
export function mappedModels(pid: number): MappedModel[] {
  const found = new Map<string, MappedModel>();
  for (const row of snapshotRows(pid, 0) ?? []) {
    const { path: mapped, inode, dev } = row;
    const [, path, deleted] = FILE_PATH.exec(mapped ?? "") ?? [];
    const key = `${dev}/${inode}/${mapped}`;
    if (mapped === null || path === undefined || inode === null || found.has(key)) continue;
    // A store of models has them by other names: then only what is one counts.
    const isCalledSo = GGUF_END.test(path);
    if (!isCalledSo && !mayBeGguf(row)) continue;
    const isDeleted = deleted !== undefined;
    // Overlay tells another device than its mappings do, so without the right to follow these its files are found by name.
    const named = isDeleted ? null : `/proc/${pid}/root${path}`;
    const openPath = mappedFile({ ...row, path: mapped })?.openPath ?? named;
    const facts = openPath === null ? null : modelFacts(openPath, inode);
    if (isCalledSo || facts !== null) found.set(key, { path, isDeleted, facts });
  }
  return [...found.values()];
}
