/** What to watch next: words that a person named, or draws with their designs. */

import type { WatchMode } from "../../../schema/words.ts";
import type { SeenAccesses } from "./accesses.ts";
import type { Design } from "./design.ts";
import type { Draw, DrawRegion } from "./draw.ts";

export interface PlannedWatch {
  readonly draw: Draw;
  readonly design: Design;
}

/** A turn in which nothing is there to be watched: it is paid for, and its place is kept, as if something were. */
export interface BlankTurn {
  readonly draw: null;
  readonly design: Design;
}

/** What is free for the next watch. */
export interface Room {
  /** Since watching began. */
  readonly elapsedNs: number;
  /** Registers that watching may hold on every CPU, and how many of them are free: at least one. */
  readonly registers: number;
  readonly freeRegisters: number;
  /** The longest time that a watch may take. */
  readonly longestNs: number;
  /** Registers that long watches hold. */
  readonly longRegisters: number;
  isWatched(draw: Draw): boolean;
  /** True where watches of these modes can be armed together now; else their registers are made ready, which takes some looks. */
  isReady(modes: readonly WatchMode[]): boolean;
}

/** Whether bytes that were drawn from a region are gone. */
export type IsGone = (pid: number, addr: bigint, sizeBytes: number, region: DrawRegion) => boolean;

/** What a finished watch tells the choice of the next ones. */
export interface Finished {
  readonly mode: WatchMode;
  readonly seen: SeenAccesses;
}

export interface WatchChoice {
  /** True where watches are paid for by the budget. */
  readonly isBudgeted: boolean;
  /** What to arm now, all of it at once; empty where this turn gives nothing, null where nothing can be armed. */
  next(room: Room): readonly (PlannedWatch | BlankTurn)[] | null;
  /** Takes note of what a finished watch of a stratum told. */
  learn(stratum: string, finished: Finished): void;
  /** Lets go of a choice that waits where its bytes are gone. */
  forget(isGone: IsGone): void;
}
