/** A folder that comes into being whole: under another name until then, 0700, and gone where it comes to nothing. */
import { lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { PARTIAL } from "../run-directory/atomic-file.ts";
import { thereAt } from "../run-directory/replaceable.ts";
import { type NewFile, openNewFile, outputError } from "./new-file.ts";

/** What every folder that is made here holds, and few others do. */
export const CHECKSUMS = "SHA256SUMS";

export interface NewFolder extends Disposable {
  /** Bytes of its files, as far as they are written. */
  readonly size_bytes: number;
  /** Opens a file in it, with the folders on the way. @param name with `/` */
  open(name: string): NewFile;
  /** Puts the folder in its place. @throws MrmTraceError as `openNewFolder` */
  finish(): void;
}

/**
 * Refuses what is there and may not be replaced.
 * @returns true where an earlier export is there
 * @throws MrmTraceError usage; environment, where nobody may look
 */
function requirePlace(path: string, force: boolean): boolean {
  const there = thereAt(path, "--out");
  if (there === undefined) return false;
  if (!force)
    throw new MrmTraceError("usage", `${path} exists already`, "give --force to replace it, or another --out");
  const isExport =
    there.isDirectory() && lstatSync(join(path, CHECKSUMS), { throwIfNoEntry: false })?.isFile() === true;
  if (isExport) return true;
  throw new MrmTraceError("usage", `${path} is there already and is no exported folder`, "name a folder with --out");
}

/**
 * Makes a new folder beside `path`, which nobody sees there before it is whole; disposed before, nothing is left of it.
 * @param force whether an earlier export may be replaced
 * @throws MrmTraceError usage, where something is there; environment, where nothing can be written
 */
export function openNewFolder(path: string, force: boolean): NewFolder {
  requirePlace(path, force);
  const hidden = (what: string): string => join(dirname(path), `.${basename(path)}.${process.pid}.${what}${PARTIAL}`);
  const partial = hidden("new");
  const files: NewFile[] = [];
  const orOutputError = (act: () => void): void => {
    try {
      act();
    } catch (cause) {
      throw outputError(path, cause);
    }
  };
  // Made by us alone: a folder that is there already is an error.
  orOutputError(() => mkdirSync(partial, { mode: 0o700 }));
  return {
    get size_bytes() {
      return files.reduce((sum, file) => sum + file.size_bytes, 0);
    },
    open(name) {
      const folder = dirname(join(partial, name));
      orOutputError(() => void mkdirSync(folder, { recursive: true, mode: 0o700 }));
      const file = openNewFile(join(partial, name), false);
      files.push(file);
      return file;
    },
    finish() {
      orOutputError(() => {
        const before = hidden("old");
        if (requirePlace(path, force)) renameSync(path, before);
        renameSync(partial, path);
        rmSync(before, { recursive: true, force: true });
      });
    },
    [Symbol.dispose]() {
      rmSync(partial, { recursive: true, force: true });
    },
  };
}
