/** A folder by its descriptor: its files are reached wherever its name leads by then, or to whom. */
import { closeSync, constants, openSync, readlinkSync } from "node:fs";

export interface HeldFolder extends Disposable {
  readonly fd: number;
  /** A path that leads to the very folder, for us and for programs that we start with our rights. */
  readonly heldPath: string;
}

/** Our number in this /proc, which may count otherwise than we do. */
const SELF = readlinkSync("/proc/self");
/** Names of the folders that were held, by the path that led to them. */
const names = new Map<string, string>();

/** Opens a folder and no link to one. @param name under which it is told to people @throws as openSync does */
export function holdFolder(path: string, name: string): HeldFolder {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const heldPath = `/proc/${SELF}/fd/${fd}`;
  names.set(heldPath, name);
  let open = true;
  return {
    fd,
    heldPath,
    [Symbol.dispose]() {
      if (open) closeSync(fd);
      open = false;
    },
  };
}

/** The text with the names of folders in place of the paths through which they were held. */
export function shown(text: string): string {
  return text.replaceAll(/\/proc\/\d+\/fd\/\d+/g, (heldPath) => names.get(heldPath) ?? heldPath);
}

/** The error as a person is told it. */
export function shownError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  for (const key of ["message", "hint"]) {
    const text: unknown = Reflect.get(error, key);
    if (typeof text === "string") Reflect.set(error, key, shown(text));
  }
  return error;
}
