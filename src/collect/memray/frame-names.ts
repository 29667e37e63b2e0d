/** Names and lines of frames: code objects since version 12, frames with their line in version 11. */
import { lineOf } from "./format/line-table.ts";

/** Names and line tables together; what has no room has no name. */
const MAX_BYTES = 48 * 2 ** 20;
/** What an entry costs beside its text and table. */
const ENTRY_BYTES = 400;

export interface CodeObject {
  readonly name: string;
  readonly file: string;
  /** First line of the code; the line itself in version 11. */
  readonly firstLine: number;
  /** Null in version 11. */
  readonly lineTable: Uint8Array | null;
}

export interface FrameNames {
  /** Frames that were given no room. */
  readonly overflow: number;
  add(id: number, code: CodeObject): void;
  /** Function, file and line of an instruction; null where the frame has no name. */
  describe(id: number, instruction: number): { function: string; file: string; line: number | null } | null;
}

/** No names yet. */
export function openFrameNames(pythonVersion: number): FrameNames {
  const codes = new Map<number, CodeObject>();
  const files = new Map<string, string>();
  let bytes = 0;
  let overflow = 0;
  return {
    get overflow() {
      return overflow;
    },
    add(id, code) {
      const shared = files.get(code.file);
      const textBytes = 2 * (code.name.length + (shared === undefined ? code.file.length : 0));
      const entryBytes = ENTRY_BYTES + textBytes + (code.lineTable?.length ?? 0);
      if (bytes + entryBytes > MAX_BYTES) {
        overflow += 1;
        return;
      }
      if (shared === undefined) files.set(code.file, code.file);
      bytes += entryBytes;
      codes.set(id, { ...code, file: shared ?? code.file });
    },
    describe(id, instruction) {
      const code = codes.get(id);
      if (code === undefined) return null;
      const { name, file, firstLine, lineTable } = code;
      const line = lineTable === null ? firstLine : lineOf(lineTable, instruction, firstLine, pythonVersion);
      return { function: name, file, line: line !== null && line > 0 ? line : null };
    },
  };
}
