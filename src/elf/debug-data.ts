/** What the debugging data of an object says of structures, wherever it lies. */
import { debugPaths } from "./debug-file.ts";
import type { Definitions } from "./dwarf/definitions.ts";
import { type ElfFile, readElf } from "./elf.ts";
import { openFileBytes } from "./file-bytes.ts";

export interface DebugData extends Definitions {
  /** Names that were asked for. */
  readonly asked: readonly string[];
  readonly ok: true;
  /** The file of its own that it was read from; null where the object has it. */
  readonly path: string | null;
  /** What is missing of what was asked for, and why; null where nothing is. */
  readonly untold: string | null;
}

export interface NoDebugData {
  readonly ok: false;
  readonly asked: readonly string[];
  /** Null where there is none. */
  readonly reason: string | null;
}

export type FoundDebugData = DebugData | NoDebugData;

/**
 * Reads the definitions of these names. A file of its own must have the build id of the object: any other tells of another build.
 * @param path of the object, as the program sees it
 * @param root folder below which that program sees its files; "" for ours
 */
export function debugDataOf(elf: ElfFile, path: string, root: string, asked: readonly string[]): FoundDebugData {
  const inside = elf.definitions(asked);
  if (inside.ok) return { ...inside, asked, path: null };
  const buildId = elf.buildId();
  if (!inside.hasNone) return { asked, ok: false, reason: inside.reason };
  if (buildId === null) return { asked, ok: false, reason: null };
  for (const debugPath of debugPaths(path, buildId, elf.debugLink())) {
    using bytes = openFileBytes(`${root}${debugPath}`);
    const other = bytes === null ? null : readElf(bytes);
    if (!other?.ok || other.buildId() !== buildId) continue;
    const found = other.definitions(asked);
    if (found.ok) return { ...found, asked, path: debugPath };
    if (!found.hasNone) return { asked, ok: false, reason: `${debugPath}: ${found.reason}` };
  }
  return { asked, ok: false, reason: null };
}
