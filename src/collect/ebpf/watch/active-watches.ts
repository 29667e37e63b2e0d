/** The watches that are armed now, by their generations. */
import { WATCH } from "../../../schema/shared-numbers.ts";
import { type ActiveWatch, endOf, type WatchEnd } from "./active-watch.ts";
import { registersOf } from "./arm.ts";
import type { Draw } from "./draw.ts";
import { ENOUGH_TRAPS } from "./named.ts";
import type { SlotState } from "./slots.ts";
import type { IsGone } from "./watch-choice.ts";

/** A watch that is to be ended, and how. */
export interface Ending {
  readonly watch: ActiveWatch;
  readonly end: WatchEnd;
}

export interface ActiveWatches {
  get(generation: number): ActiveWatch | undefined;
  add(watch: ActiveWatch): void;
  remove(watch: ActiveWatch): void;
  /** Registers that watches have on every CPU. */
  held(): number;
  isWatched(draw: Draw): boolean;
  /** Traps that only continued a string instruction, since the last time that they were asked for. */
  continued(stateOf: (slot: number) => SlotState): number;
  /** A slot that no watch has; null where all are taken. */
  freeSlot(): number | null;
  /** Notes of each watch whose bytes are gone how it ends. */
  endWhere(isGone: IsGone, end: WatchEnd): void;
  /** Watches that have stopped themselves, have had their time, or lost their bytes. */
  ending(stateOf: (slot: number) => SlotState, nowNs: bigint): Ending[];
  /** All of them, to be ended now. */
  endingAll(): Ending[];
}

export function activeWatches(): ActiveWatches {
  const active = new Map<number, ActiveWatch>();
  const continuedBefore = new Map<number, number>();
  return {
    get: (generation) => active.get(generation),
    add(watch) {
      active.set(watch.spec.generation, watch);
    },
    remove(watch) {
      active.delete(watch.spec.generation);
      continuedBefore.delete(watch.spec.generation);
    },
    held() {
      let sum = 0;
      for (const watch of active.values()) sum += registersOf(watch.spec.mode).length;
      return sum;
    },
    continued(stateOf) {
      let sum = 0;
      for (const { spec } of active.values()) {
        const { continued } = stateOf(spec.slot);
        sum += continued - (continuedBefore.get(spec.generation) ?? 0);
        continuedBefore.set(spec.generation, continued);
      }
      return sum;
    },
    isWatched: (draw) => [...active.values()].some((watch) => watch.draw === draw),
    freeSlot() {
      const used = new Set([...active.values()].map((watch) => watch.spec.slot));
      let slot = 0;
      while (used.has(slot)) slot += 1;
      return slot < WATCH.slots ? slot : null;
    },
    endWhere(isGone, end) {
      for (const watch of active.values()) {
        const { pid, addr, sizeBytes } = watch.spec;
        if (watch.end === null && isGone(pid, addr, sizeBytes, watch.draw.region)) watch.end = end;
      }
    },
    ending(stateOf, nowNs) {
      const ending: Ending[] = [];
      for (const watch of active.values()) {
        const enough: WatchEnd | null = watch.traps.length >= ENOUGH_TRAPS ? { by: "dwell", atNs: null } : null;
        const end = endOf(watch, stateOf(watch.spec.slot), nowNs) ?? enough;
        if (end !== null) ending.push({ watch, end });
      }
      return ending;
    },
    endingAll: () => [...active.values()].map((watch) => ({ watch, end: watch.end ?? { by: "end", atNs: null } })),
  };
}
