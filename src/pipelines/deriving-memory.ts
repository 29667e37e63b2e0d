/** How much memory deriving may take beside whatever else the machine does. */
import { MrmTraceError } from "../errors.ts";
import type { DerivingLimits } from "../label/label-run.ts";
import { memoryShares } from "../label/memory-shares.ts";
import { type MemoryRoom, memoryRoom } from "../overhead/memory-room.ts";
import { formatBytes } from "../units.ts";

const MIB = 2 ** 20;
/** What deriving may take of any machine, unless more is asked for; where there is much memory, a part of that, up to a bound. */
const DEFAULT_BYTES = 600 * MIB;
const DEFAULT_SHARE = 1 / 16;
const MOST_DEFAULT_BYTES = 2048 * MIB;
/** What it takes of any run: the program itself, decoded rows, and the engine for SQL with what it must have. */
const LEAST_BYTES = 260 * MIB;

/**
 * The limits of deriving a run.
 * @param asked bytes; null for 600 MiB, or a sixteenth of what is left where that is more, 2 GiB at most
 * @throws MrmTraceError environment where that is more than there is room for
 */
export function derivingLimits(
  runDir: string,
  asked: number | null = null,
  room: MemoryRoom = memoryRoom(),
): DerivingLimits {
  const usual = Math.max(DEFAULT_BYTES, Math.min(MOST_DEFAULT_BYTES, room.bytes * DEFAULT_SHARE));
  const bytes = Math.min(asked ?? usual, room.bytes);
  if (bytes < LEAST_BYTES) {
    const left = room.bytes < LEAST_BYTES ? `${room.set_by} leaves ${formatBytes(room.bytes)}` : "less was asked for";
    throw new MrmTraceError(
      "environment",
      `deriving takes at least ${formatBytes(LEAST_BYTES)} of memory, and ${left}; what was recorded is kept`,
      `make a copy of ${runDir} on a machine with more memory, and run there: mrm-trace analyse RUN_DIR`,
    );
  }
  return memoryShares(bytes);
}
