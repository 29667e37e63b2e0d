/** One at a time in a folder: two would replace each other's unfinished files. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError } from "../errors.ts";

export const LOCK = ".mrm-trace.lock";

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    // Not ours to signal: it lives.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM";
  }
}

/** What is said where the folder cannot be held. */
export interface LockWords {
  /** Who holds it, as far as the folder's name: `another experiment runs in`. */
  readonly busy: string;
  /** What can be done beside waiting. */
  readonly instead: string;
}

/** True where the lock was made; false where another one is there. @throws MrmTraceError environment */
function make(path: string, { instead }: LockWords): boolean {
  try {
    writeFileSync(path, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return false;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MrmTraceError("environment", `${path} cannot be written: ${why}`, instead, { cause });
  }
}

/** The process that a lock names; NaN where it is gone meanwhile. */
function holderOf(path: string): number {
  try {
    return Number.parseInt(readFileSync(path, "utf8"), 10);
  } catch {
    return Number.NaN;
  }
}

/**
 * Holds the folder, which is made where it is missing, until disposed. A lock whose process is gone is taken over.
 * @throws MrmTraceError usage while another process holds it, environment where the folder cannot be written
 */
export function lockFolder(folder: string, words: LockWords): Disposable {
  const path = join(folder, LOCK);
  const { busy, instead } = words;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // Writing the lock says why.
  }
  if (!make(path, words)) {
    const holder = holderOf(path);
    if (isAlive(holder)) {
      const hint = `wait for it, or ${instead}; if ${holder} is no mrm-trace: rm ${path}`;
      throw new MrmTraceError("usage", `${busy} ${folder}: process ${holder}`, hint);
    }
    rmSync(path, { force: true });
    if (!make(path, words)) throw new MrmTraceError("usage", `${busy} ${folder}, and was faster`, "run again");
  }
  const release = (): void => rmSync(path, { force: true });
  process.once("exit", release);
  return {
    [Symbol.dispose]() {
      process.off("exit", release);
      release();
    },
  };
}
