/** Reads files of /proc, where a file that goes away is normal and every other failure is counted. */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";

/** gone: the process ended. denied: not for us. unsupported: this kernel has no such file. error: anything else. */
export type Obstacle = "gone" | "denied" | "unsupported" | "error";
export type ProcRead = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: Obstacle };

const WHY: Record<string, Obstacle> = {
  ENOENT: "gone",
  ESRCH: "gone",
  EACCES: "denied",
  EPERM: "denied",
  EOPNOTSUPP: "unsupported",
  ENOSYS: "unsupported",
};

function whyOf(cause: unknown): Obstacle {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return WHY[code] ?? "error";
}

/** Why a file of /proc cannot be opened; null where it can. Nothing of it is read: maps would hold a lock of the process. */
export function obstacleTo(path: string): Obstacle | null {
  try {
    closeSync(openSync(path, "r"));
    return null;
  } catch (cause) {
    return whyOf(cause);
  }
}

/** The largest file we read is a children list; longer ones are cut, and parsers reject what is cut inside a figure. */
const buffer = Buffer.alloc(64 * 1024);

/** The text of a file of /proc, read whole; never throws. Bytes become Latin-1, as names may hold any byte. */
export function readProc(path: string): ProcRead {
  let fd = -1;
  try {
    fd = openSync(path, "r");
    let length = 0;
    for (;;) {
      const n = readSync(fd, buffer, length, buffer.length - length, null);
      length += n;
      if (n === 0 || length === buffer.length) break;
    }
    return { ok: true, text: buffer.toString("latin1", 0, length) };
  } catch (cause) {
    return { ok: false, why: whyOf(cause) };
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}

/** Names in a folder of /proc; none where its process has ended or is not ours to list. */
export function listProc(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
