/** tracefs, where libbpf looks up the ids of tracepoints. */
import { statSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";
import { addressOf, cString } from "./foreign-memory.ts";
import { errno, errnoName, libc } from "./libc.ts";

const PLACE = "/sys/kernel/tracing";
/** Where it is on its own, and below debugfs. */
const PLACES = [PLACE, "/sys/kernel/debug/tracing"];

/** closed: it is there, and we may not enter it. */
export type TracefsState = "open" | "closed" | "not mounted";

/** Why a file of it cannot be entered; null where it can. With the rights that we have: access(2) goes by the user. */
function obstacle(path: string): string | null {
  try {
    statSync(path);
    return null;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

/** @param root prefix of /sys */
export function tracefsState(root = ""): TracefsState {
  const obstacles = PLACES.map((place) => obstacle(`${root}${place}/events`));
  if (obstacles.includes(null)) return "open";
  // A closed debugfs says nothing of what is below it.
  return obstacles[0] === "EACCES" ? "closed" : "not mounted";
}

/**
 * Mounts tracefs where the machine has not, as perf does; true when it was mounted now.
 * @throws MrmTraceError environment
 */
export function ensureTracefs(): boolean {
  if (tracefsState() !== "not mounted") return false;
  const kind = cString("tracefs");
  if (libc.mount(addressOf(kind), addressOf(cString(PLACE)), addressOf(kind), 0, null) === 0) return true;
  throw new MrmTraceError(
    "environment",
    `tracefs is not mounted at ${PLACE}, and mounting it failed: ${errnoName(errno())}`,
    `run as root: mount -t tracefs tracefs ${PLACE}`,
  );
}

/** False where a program is for a tracepoint (`tp/GROUP/NAME`) that this kernel does not have. */
export function hasTracepoint(section: string): boolean {
  const [kind, group, name] = section.split("/");
  if (kind !== "tp" || group === undefined || name === undefined) return true;
  const place = PLACES.find((one) => obstacle(`${one}/events`) === null);
  return place === undefined || obstacle(`${place}/events/${group}/${name}`) !== "ENOENT";
}
