/** Gives the results that root wrote to the user who called sudo, who reads and analyses them without root. */
import { existsSync, lchownSync } from "node:fs";
import { resolve } from "node:path";
import { giveTo, invokingUser } from "../target/invoking-user.ts";

export interface UserResults extends Disposable {
  /** A file, or a folder with all that is in it, which is complete when this is disposed. */
  add(path: string): void;
}

/** The folder and those above it that are not there yet, the inner ones first. */
function absentFolders(folder: string): string[] {
  const absent: string[] = [];
  for (let parent = resolve(folder); !existsSync(parent); parent = resolve(parent, "..")) absent.push(parent);
  return absent;
}

/**
 * Gives what was added, and the folders down to `folder` that were made since, to the user behind sudo when disposed;
 * does nothing where there is none.
 * @param notice told what could not be given, as on file systems without owners
 */
export function userResults(folder: string, notice: (line: string) => void): UserResults {
  const user = invokingUser();
  const above = user === null ? [] : absentFolders(folder);
  const added: string[] = [];
  return {
    add(path) {
      added.push(path);
    },
    [Symbol.dispose]() {
      if (user === null) return;
      try {
        for (const path of added) giveTo(user, path);
        for (const path of above) if (existsSync(path)) lchownSync(path, user.uid, user.gid);
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        notice(
          `results in ${folder} stay root's: ${why}; to have them: sudo chown -R ${user.uid}:${user.gid} ${folder}`,
        );
      }
    },
  };
}
