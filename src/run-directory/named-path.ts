/** Looks at what a user named: what may not be read is told apart from what is not there, with the command that mends it. */
import { closeSync, openSync, type Stats, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { MrmTraceError, reasonText } from "../errors.ts";
import { shellWords } from "./shell-words.ts";

const DENIALS = new Set<unknown>(["EACCES", "EPERM"]);

/** Nothing but a folder or a regular file is opened: a pipe would be waited for. */
function tryToRead(path: string, seen: Stats): void {
  if (seen.isFile() || seen.isDirectory()) closeSync(openSync(path, "r"));
  // A folder may list its names and still keep from all what they lead to.
  if (seen.isDirectory()) statSync(`${path}/.`);
}

/** The command that gives a folder to who asks. */
export function ownCommand(path: string): string {
  return shellWords(["sudo", "chown", "-hR", `${process.getuid?.()}:${process.getgid?.()}`, path]);
}

/** What gives who asks something to read. Of what lies in a closed folder a copy: the folder may hold what is its owner's alone. */
function accessTo(typed: string): string {
  if (isRootsFolder(typed)) return ownCommand(typed);
  const copy = shellWords(["sudo", "cp", "-r", typed, "."]);
  return `take a copy that is yours: ${copy} && ${ownCommand(`./${basename(resolve(typed))}`)}`;
}

function isRootsFolder(path: string): boolean {
  try {
    const seen = statSync(path);
    return seen.isDirectory() && seen.uid === 0;
  } catch {
    // A folder on the way is closed.
    return false;
  }
}

/**
 * What lies at a path; null where nothing does.
 * @param typed what the user named: the path, or the folder that it is in
 * @throws MrmTraceError environment, where who asks may not read it
 */
export function lookAt(path: string, typed: string = path): Stats | null {
  try {
    const seen = statSync(path, { throwIfNoEntry: false });
    if (seen !== undefined) tryToRead(path, seen);
    return seen ?? null;
  } catch (cause) {
    const code = cause instanceof Error ? Reflect.get(cause, "code") : undefined;
    if (code === "ENOTDIR") return null;
    if (!DENIALS.has(code)) throw cause;
    const message = `${path} cannot be read: ${reasonText(cause)}`;
    throw new MrmTraceError("environment", message, accessTo(typed), { cause });
  }
}

const GIVE_RUN = "give the folder that `mrm-trace run` named";

/** What lies where a run was named. @throws MrmTraceError usage, where nothing does; environment, where it may not be read */
export function requireThere(typed: string): Stats {
  const seen = lookAt(typed);
  if (seen === null) throw new MrmTraceError("usage", `no such run directory: "${typed}"`, GIVE_RUN);
  return seen;
}

/** @throws MrmTraceError usage, where no folder was named; environment, where it may not be read */
export function requireFolder(typed: string): void {
  if (!requireThere(typed).isDirectory()) throw new MrmTraceError("usage", `${typed} is no folder`, GIVE_RUN);
}
