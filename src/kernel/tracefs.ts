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

/** Why its events cannot be entered; null where they can. With the rights that we have: access(2) goes by the user. */
function obstacle(place: string): string | null {
  try {
    statSync(`${place}/events`);
    return null;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

/** @param root prefix of /sys */
export function tracefsState(root = ""): TracefsState {
  const obstacles = PLACES.map((place) => obstacle(`${root}${place}`));
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
