/** The timer over a program that copies: a tick now and then, on a copy as often as it is in one. */
import type { StringTicks } from "../collect/ebpf/copies/beside-watches.ts";
import type { Random } from "../statistics/prng.ts";
import type { World } from "./world.ts";

/** As the product samples one busy CPU. */
const TICK_NS = 20e6;

export interface SimulatedTimer {
  /** The time up to a moment went by, beside a watch or not. */
  goOn(ns: number, isArmed: boolean): void;
  strings(): StringTicks;
}

/** @param random decides whether a tick falls on a copy */
export function simulatedTimer({ copies }: World, random: Random): SimulatedTimer {
  let next = TICK_NS;
  let ticks = 0;
  let inString = 0;
  return {
    goOn(ns, isArmed) {
      for (; next <= ns; next += TICK_NS) {
        const alone = copies?.shareAt(next) ?? 0;
        const slow = alone * (copies?.times ?? 1);
        ticks += 1;
        if (random() < (isArmed ? slow / (slow + 1 - alone) : alone)) inString += 1;
      }
    },
    strings: () => ({ ticks, in_string: inString, each_ns: TICK_NS }),
  };
}
