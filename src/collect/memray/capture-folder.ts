/** Where memray writes: the run's own folder, or one that the user behind sudo may write to, until it has ended. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { giveTo, invokingUser } from "../../target/invoking-user.ts";

const FILE = "memray.bin";

export interface CaptureFolder {
  /** What memray is told to write; forked children append their pid. */
  readonly file: string;
  /** Puts all captures into the run's folder and returns their paths; safe to call without any. */
  settle(): string[];
  /** Removes what is not in the run's folder. */
  dispose(): void;
}

/** Makes the folder. @param rawDir the run's folder for files of outside tools; made when missing */
export function openCaptureFolder(rawDir: string): CaptureFolder {
  const user = invokingUser();
  mkdirSync(rawDir, { recursive: true, mode: 0o700 });
  // The run's folders are ours alone; a target without our rights cannot reach into them.
  const folder = user === null ? rawDir : mkdtempSync(join(tmpdir(), "mrm-trace-memray-"));
  giveTo(user, folder);
  return {
    file: join(folder, FILE),
    settle() {
      if (!existsSync(folder)) return [];
      const names = readdirSync(folder).filter((name) => /^memray\.bin(\.\d+)?$/.test(name));
      for (const name of folder === rawDir ? [] : names) move(join(folder, name), join(rawDir, name));
      for (const name of names) chmodSync(join(rawDir, name), 0o600);
      return names.sort().map((name) => join(rawDir, name));
    },
    dispose() {
      if (folder !== rawDir) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function move(from: string, destination: string): void {
  try {
    renameSync(from, destination);
  } catch {
    // Another file system.
    copyFileSync(from, destination);
    rmSync(from);
  }
}
