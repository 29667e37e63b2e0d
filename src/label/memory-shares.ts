/** How the memory for deriving is divided between the program, the engine for SQL and what labels hold. */
const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** What deriving takes of any run but for that engine. */
const PROGRAM_BYTES = 160 * MIB;
/** Of what is left, the share for SQL; the rest is for what the labels hold. */
const ENGINE_SHARE = 0.25;
const MOST_ENGINE_BYTES = 192 * MIB;

export interface MemoryShares {
  readonly memoryLimitBytes: number;
  readonly labelBytes: number;
}

export function memoryShares(bytes: number): MemoryShares {
  const free = bytes - PROGRAM_BYTES;
  const memoryLimitBytes = Math.min(MOST_ENGINE_BYTES, Math.floor(free * ENGINE_SHARE));
  return { memoryLimitBytes, labelBytes: free - memoryLimitBytes };
}

/** The least whole GiB of which labels get so much. */
export function enoughGib(labelBytes: number): number {
  const free = Math.min(labelBytes + MOST_ENGINE_BYTES, labelBytes / (1 - ENGINE_SHARE));
  return Math.ceil((PROGRAM_BYTES + free) / GIB);
}
