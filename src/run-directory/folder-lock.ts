/** One at a time in a folder: two would replace each other's unfinished files. */
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MrmTraceError, reasonText } from "../errors.ts";
import { PARTIAL } from "./atomic-file.ts";
import { readRegularText } from "./regular-file.ts";

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

/** Gives `path` to a file that names us, unless there is one: nobody ever reads a lock that names nobody yet. */
function linkLock(path: string): void {
  const named = `${path}.${process.pid}${PARTIAL}`;
  rmSync(named, { force: true });
  try {
    writeFileSync(named, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
    linkSync(named, path);
  } catch (error) {
    if (!LINKLESS.has(codeOf(error))) throw error;
    writeFileSync(path, `${process.pid}\n`, { flag: "wx", mode: 0o600 });
  } finally {
    rmSync(named, { force: true });
  }
}

/** What file systems say that know no second name of a file. */
const LINKLESS: ReadonlySet<unknown> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);
const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** True where the lock was made; false where another one is there. @throws MrmTraceError environment */
function make(path: string, { instead }: LockWords): boolean {
  try {
    linkLock(path);
    return true;
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") return false;
    const message = `${dirname(path)} cannot be written: ${reasonText(cause)}`;
    throw new MrmTraceError("environment", message, instead, { cause });
  }
}

/** More than any number of a process has. */
const MOST_LOCK_BYTES = 64;

/** The process that a lock names, NaN where it names none; null where there is no lock. */
function holderOf(path: string): number | null {
  try {
    return Number.parseInt(readRegularText(path, MOST_LOCK_BYTES), 10);
  } catch (cause) {
    return codeOf(cause) === "ENOENT" ? null : Number.NaN;
  }
}

/**
 * Takes a lock over whose process is gone; false where another did meanwhile. One at a time: who reads that the process is
 * gone and then removes the lock may by then remove that of a third.
 */
function takeOver(path: string, words: LockWords): boolean {
  const taking = `${path}.taking`;
  if (!make(taking, words)) {
    if (isAlive(holderOf(taking) ?? process.pid)) return false;
    const hint = `run again after: rm ${taking}`;
    throw new MrmTraceError("usage", `a process was killed while it took over ${path}`, hint);
  }
  const holder = holderOf(path);
  if (holder !== null && !isAlive(holder)) {
    // At no time there is none, so that nobody makes one in between.
    renameSync(taking, path);
    return true;
  }
  rmSync(taking, { force: true });
  return holder === null && make(path, words);
}

/** @throws MrmTraceError as `lockFolder` */
function takeLock(path: string, folder: string, words: LockWords): void {
  const { busy, instead } = words;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // Writing the lock says why.
  }
  if (!make(path, words)) {
    const holder = holderOf(path);
    if (holder !== null && isAlive(holder)) {
      const hint = `wait for it, or ${instead}; if ${holder} is no mrm-trace: rm ${path}`;
      throw new MrmTraceError("usage", `${busy} ${folder}: process ${holder}`, hint);
    }
    if (!takeOver(path, words)) throw new MrmTraceError("usage", `${busy} ${folder}, and was faster`, "run again");
  }
}

/**
 * Holds the folder, which is made where it is missing, until disposed. A lock whose process is gone is taken over.
 * @param as does what is done with files, also at the end of the process: where the folder is a user's, with their rights
 * @throws MrmTraceError usage while another process holds it, environment where the folder cannot be written
 */
export function lockFolder(folder: string, words: LockWords, as: <T>(act: () => T) => T = (act) => act()): Disposable {
  const path = join(folder, LOCK);
  as(() => takeLock(path, folder, words));
  const release = (): void => as(() => rmSync(path, { force: true }));
  process.once("exit", release);
  return {
    [Symbol.dispose]() {
      process.off("exit", release);
      release();
    },
  };
}
