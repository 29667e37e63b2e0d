/** tracefs, where libbpf looks up the ids of tracepoints. */
import { existsSync } from "node:fs";
import { MrmTraceError } from "../errors.ts";
import { addressOf, cString } from "./foreign-memory.ts";
import { errno, errnoName, libc } from "./libc.ts";

const PLACE = "/sys/kernel/tracing";

/**
 * Mounts tracefs where the machine has not, as perf does; true when it was mounted now.
 * @throws MrmTraceError environment
 */
export function ensureTracefs(): boolean {
  if (existsSync(`${PLACE}/events`) || existsSync("/sys/kernel/debug/tracing/events")) return false;
  const kind = cString("tracefs");
  if (libc.mount(addressOf(kind), addressOf(cString(PLACE)), addressOf(kind), 0, null) === 0) return true;
  throw new MrmTraceError(
    "environment",
    `tracefs is not mounted at ${PLACE}, and mounting it failed: ${errnoName(errno())}`,
    `run as root: mount -t tracefs tracefs ${PLACE}`,
  );
}
