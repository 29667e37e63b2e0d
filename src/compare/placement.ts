/** Which CPUs the target has to itself, and which the tools share. */
import { affinityCpus } from "../kernel/libc.ts";

export interface Placement {
  readonly targetCpus: readonly number[];
  readonly toolCpus: readonly number[];
  /** False where both share all CPUs, because there is one or because it was asked for. */
  readonly pinned: boolean;
}

/** The last CPU is for the tools and the others for the target; with one CPU, or unpinned, both have all. */
export function placementOf(pin: boolean, cpus: readonly number[] = affinityCpus(0)): Placement {
  if (!pin || cpus.length < 2) return { targetCpus: cpus, toolCpus: cpus, pinned: false };
  return { targetCpus: cpus.slice(0, -1), toolCpus: cpus.slice(-1), pinned: true };
}
