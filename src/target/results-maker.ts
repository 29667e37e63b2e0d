/** With whose rights results are made: those of the user behind sudo, except where only root can shape the path. */
import { existsSync, lchownSync, lstatSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Maker, ourselves } from "../run-directory/create-run.ts";
import { asUser } from "./acting-user.ts";
import { invokingUser } from "./invoking-user.ts";

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** True where nobody but root can rename or link anything on the way to a path, or make what is missing of it. */
export function isRootsAlone(path: string): boolean {
  let child: boolean | null = null;
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const status = lstatSync(folder, { throwIfNoEntry: false });
    if (status !== undefined) {
      if (!status.isDirectory() || status.uid !== 0) return false;
      // In a sticky folder what is root's stays in its place.
      const isKept = (status.mode & STICKY) !== 0 && child === true;
      if ((status.mode & OTHERS_WRITE) !== 0 && !isKept) return false;
    }
    child = status !== undefined;
    if (folder === dirname(folder)) return true;
  }
}

/** @param output folder for results, which need not be there */
export function makerOf(output: string): Maker {
  const user = invokingUser();
  return user === null || isRootsAlone(output) ? ourselves : { uid: user.uid, as: (act) => asUser(user, act) };
}

export interface RootsGift extends Disposable {
  /** A file in the folder, which is complete when this is disposed. */
  add(file: string): void;
}

/** The folder and those above it that are not there yet, the inner ones first. */
function absentFolders(folder: string): string[] {
  const absent: string[] = [];
  for (let parent = resolve(folder); !existsSync(parent); parent = dirname(parent)) absent.push(parent);
  return absent;
}

/**
 * Gives what root makes where only root can, the folders down to `folder` and files in it, to the user behind sudo when
 * disposed: by path, as nobody else can turn it. Elsewhere it is made as that user, and nothing is left to give.
 * @param notice told what could not be given, as on file systems without owners
 */
export function rootsGift(folder: string, notice: (line: string) => void): RootsGift {
  const user = invokingUser();
  const taker = user !== null && isRootsAlone(folder) ? user : null;
  const above = taker === null ? [] : absentFolders(folder);
  const files: string[] = [];
  return {
    add(file) {
      files.push(file);
    },
    [Symbol.dispose]() {
      if (taker === null) return;
      const { uid, gid } = taker;
      try {
        for (const path of [...files, ...above]) if (existsSync(path)) lchownSync(path, uid, gid);
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        notice(`${folder} stays root's: ${why}; to have it: sudo chown -hR ${uid}:${gid} ${folder}`);
      }
    },
  };
}
