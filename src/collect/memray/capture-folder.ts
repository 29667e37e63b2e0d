/** Where memray writes: the run's own folder, or one that the user behind sudo may write to, until it has ended. */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { isFull } from "../../run-directory/unwritable.ts";
import { asUser } from "../../target/acting-user.ts";
import { type InvokingUser, invokingUser } from "../../target/invoking-user.ts";

const FILE = "memray.bin";

export interface Settled {
  /** The captures in the run's folder. */
  readonly paths: readonly string[];
  /** Names of captures that were there and are no files that their user may read, or that find no room: planted, or none of memray. */
  readonly refused: readonly string[];
}

export interface CaptureFolder {
  /** What memray is told to write; forked children append their pid. */
  readonly file: string;
  /** Puts all captures into the run's folder; safe to call without any. */
  settle(): Settled;
  /** Removes what is not in the run's folder. */
  dispose(): void;
}

function capturesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^memray\.bin(\.\d+)?$/.test(name))
    .sort();
}

/** Makes the folder. @param rawDir the run's folder for files of outside tools; made when missing */
export function openCaptureFolder(rawDir: string): CaptureFolder {
  const user = invokingUser();
  mkdirSync(rawDir, { recursive: true, mode: 0o700 });
  return user === null ? ownFolder(rawDir) : userFolder(user, rawDir);
}

function ownFolder(rawDir: string): CaptureFolder {
  return {
    file: join(rawDir, FILE),
    settle() {
      const paths = capturesIn(rawDir).map((name) => join(rawDir, name));
      for (const path of paths) chmodSync(path, 0o600);
      return { paths, refused: [] };
    },
    dispose() {},
  };
}

/** The run's folders are ours alone while it is recorded: a target without our rights cannot reach into them. */
function userFolder(user: InvokingUser, rawDir: string): CaptureFolder {
  let folder: string;
  try {
    folder = asUser(user, () => mkdtempSync(join(tmpdir(), "mrm-trace-memray-")));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = "set TMPDIR to a folder that the user who calls sudo may write to";
    throw new MrmTraceError("environment", `memray has no folder to write to: ${why}`, hint, { cause });
  }
  return {
    file: join(folder, FILE),
    settle() {
      const refused: string[] = [];
      const paths: string[] = [];
      for (const name of asUser(user, () => capturesIn(folder))) {
        const path = join(rawDir, name);
        if (takeCopy(user, join(folder, name), path)) paths.push(path);
        else refused.push(name);
      }
      return { paths, refused };
    },
    dispose() {
      try {
        asUser(user, () => rmSync(folder, { recursive: true, force: true }));
      } catch {
        // What its user keeps from being removed stays, and is theirs.
      }
    },
  };
}

/** True where so many bytes find room beside what only root may fill: a file of holes takes none until it is copied. */
function hasRoom(folder: string, bytes: number): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bytes <= bavail * bsize;
}

/**
 * Copies a file that the user may read into a folder of ours. It is opened as that user and never by name again: what is
 * put in its place by then, or before, gives them nothing that they could not read. False where it is no such file, or larger than
 * the room that is left.
 */
function takeCopy(user: InvokingUser, from: string, copy: string): boolean {
  let fd: number;
  try {
    fd = asUser(user, () => openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  } catch {
    return false;
  }
  try {
    const status = fstatSync(fd);
    if (!status.isFile() || !hasRoom(dirname(copy), status.size)) return false;
    copyFileSync(`/proc/self/fd/${fd}`, copy, constants.COPYFILE_EXCL);
    chmodSync(copy, 0o600);
    return true;
  } catch (cause) {
    // It grew meanwhile, or others filled the disk.
    if (!isFull(cause)) throw cause;
    rmSync(copy, { force: true });
    return false;
  } finally {
    closeSync(fd);
  }
}
