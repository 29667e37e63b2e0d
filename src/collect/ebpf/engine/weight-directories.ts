/** The directories of the files of weights that processes map: each is read once, and as many as one run may hold. */
import { readSafetensorsFile } from "../../../engine/safetensors/file.ts";
import type { NamedTensor } from "../../../engine/tensor-file.ts";
import type { FileExtent } from "./file-extents.ts";
import { mappedFile } from "./mapped-file.ts";

export interface WeightDirectories {
  /** The tensors of the very file that an extent maps; none where it is refused. */
  tensorsOf(extent: FileExtent): readonly NamedTensor[];
  /** Why a file names no tensor, by its path; of the first that did not. */
  readonly refused: ReadonlyMap<string, string>;
  /** Mappings of others that name none. */
  readonly refusedMore: number;
}

/** A process that maps thousands of large directories would hold us up, and take our memory. */
const MAX_FILES = 4096;
const MAX_NAMES = 2 ** 18;
/** Files that are told one by one. */
const MAX_REFUSED = 64;

export function weightDirectories(): WeightDirectories {
  const read = new Map<string, ReturnType<typeof readSafetensorsFile>>();
  const refused = new Map<string, string>();
  let refusedMore = 0;
  let names = 0;

  function directoryOf(extent: FileExtent): ReturnType<typeof readSafetensorsFile> {
    const file = mappedFile(extent);
    if (file === null) return { ok: false, reason: "no way leads to the file any more", offset: 0 };
    const before = read.get(file.identity);
    if (before !== undefined) return before;
    if (read.size >= MAX_FILES) return { ok: false, reason: `${MAX_FILES} other files were read before`, offset: 0 };
    if (names >= MAX_NAMES) return { ok: false, reason: `${names} names of others were read before`, offset: 0 };
    const found = readSafetensorsFile(file.openPath, extent.inode);
    if (found.ok) names += found.tensors.length;
    read.set(file.identity, found);
    return found;
  }

  return {
    refused,
    get refusedMore() {
      return refusedMore;
    },
    tensorsOf(extent) {
      const found = directoryOf(extent);
      if (found.ok) return found.tensors;
      if (refused.size < MAX_REFUSED || refused.has(extent.path)) refused.set(extent.path, found.reason);
      else refusedMore += 1;
      return [];
    },
  };
}
