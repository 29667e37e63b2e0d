/** Which of the files that are mapped are GGUFs, by their first bytes: in a store of models, such as Ollama's, no name ends so. */
import { beginsAsGguf } from "../../../engine/gguf/file.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import type { ProcessMaps } from "../../../regions/mapping-events.ts";
import { emptyMappingEvent, type MappingEvent } from "../../../regions/mapping-row.ts";
import { mappedFile } from "../engine/mapped-file.ts";

export interface GgufFiles {
  /** Takes rows of mappings that the maps show already. @returns a row for each file that was found to be a GGUF, once */
  take(rows: readonly MappingEvent[]): MappingEvent[];
}

/** A row that names a file, as a GGUF may be mapped. */
type NamedRow = MappingEvent & { readonly path: string; readonly inode: bigint };

/** What holds less has no model that is worth a look at the file. */
const LEAST_BYTES = 4n * 2n ** 20n;
/** Files that are looked at: a program may map any number. */
const MOST_FILES = 4096;
/** Those that one poll looks at. */
const FILES_PER_POLL = 32;
/** Polls in which a file is looked for: a name may come before its mapping does. */
const LOOKS = 3;
const PROT_EXEC = 4;
/** The name says what these are. */
const NAMED = /\.(gguf|safetensors)( \(deleted\))?$/;

/** Whether a mapping may be that of a GGUF whose name does not say so. */
export function mayBeGguf(row: MappingEvent): row is NamedRow {
  const { path, inode, size_bytes, prot } = row;
  if (path === null || inode === null || inode === 0n || size_bytes < LEAST_BYTES) return false;
  return path.startsWith("/") && !NAMED.test(path) && ((prot ?? 0) & PROT_EXEC) === 0;
}

/** @param maps of the processes whose rows come */
export function ggufFiles(maps: Pick<ProcessMaps, "mapsOf">): GgufFiles {
  const waiting = new Map<string, { readonly row: NamedRow; looks: number }>();
  const settled = new Set<string>();

  /** Null where no way leads to the file. */
  function openPathOf(row: NamedRow): string | null {
    const { pid, dev, inode } = row;
    const whole = mappedFile(row);
    if (whole !== null) return whole.openPath;
    // What the name was told of may be in pieces by now.
    const piece = maps.mapsOf(pid).find((one) => one.inode === inode && one.dev === dev);
    return piece === undefined
      ? null
      : (mappedFile({ ...row, addr: piece.addr, size_bytes: piece.size_bytes })?.openPath ?? null);
  }

  return {
    take(rows) {
      for (const row of rows) {
        if ((row.kind !== "snapshot" && row.kind !== "file") || !mayBeGguf(row)) continue;
        const key = `${row.dev}/${row.inode}`;
        if (!settled.has(key) && settled.size + waiting.size < MOST_FILES) waiting.set(key, { row, looks: LOOKS });
      }
      const found: MappingEvent[] = [];
      for (const [key, wait] of [...waiting].slice(0, FILES_PER_POLL)) {
        const { row } = wait;
        const openPath = openPathOf(row);
        wait.looks -= 1;
        if (openPath === null && wait.looks > 0) continue;
        waiting.delete(key);
        settled.add(key);
        if (openPath === null || !beginsAsGguf(openPath, row.inode)) continue;
        const { pid, exec_epoch, addr, size_bytes, dev, inode, path } = row;
        const file = { exec_epoch, addr, size_bytes, dev, inode, path };
        found.push({ ...emptyMappingEvent("gguf", monotonicNs(), pid), ...file });
      }
      return found;
    },
  };
}
