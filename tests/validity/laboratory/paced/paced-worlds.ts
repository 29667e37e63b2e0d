/** An engine whose steps are short for some seconds, then long: watches are given so many tokens, and hold other steps then. */
import type { World, WorldKind } from "../../../../src/simulate/world.ts";
import { loads, MS, one, RUN_NS, SECOND, timesFrom, words } from "../shapes.ts";
import { drawnPaces } from "./drawn-paces.ts";
import { LONG_NS, lengthOf, periodBefore, shortAndLong } from "./turns-of-steps.ts";

/** Each word is read once in a short step, and so often in a long one. */
export const readInSteps = (inLong: number): WorldKind => ({
  name: `steps of 4 and 20 ms by turns of some seconds, ${inLong} reads in a long one`,
  make: (random): World => {
    const { steps } = shortAndLong(random);
    const list = words(() => {
      const place = random();
      return loads(
        steps.flatMap((step) => {
          const length = lengthOf(step);
          const times = length > LONG_NS / 2 ? inLong : 1;
          return Array.from({ length: times }, (_, k) => step.begin_ns + ((k + place) * length) / times);
        }),
      );
    }, 100);
    return one("weight", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

/** Words of a step of one length have three accesses in a pass, those of the other one. */
export const bursts = (inShort: number, inLong: number): WorldKind => ({
  name: `a pass has ${inShort} accesses in a step of 4 ms and ${inLong} in one of 20, by turns of some seconds`,
  make: (random): World => {
    const { steps } = shortAndLong(random);
    const list = words(() => {
      const place = 0.8 * random();
      return loads(
        steps.flatMap((step) => {
          const begin = step.begin_ns + place * lengthOf(step);
          const count = lengthOf(step) > LONG_NS / 2 ? inLong : inShort;
          return Array.from({ length: count }, (_, k) => begin + 0.01 * MS * k);
        }),
      );
    }, 100);
    return one("weight", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

/** Memory that goes by a clock of its own, so many ms from one use to the next while steps are short, and so many while they are long. */
export const clocked = (inShort: number, inLong: number, long_ns = LONG_NS): WorldKind => ({
  name: `used every ${inShort} ms while steps take 4 ms, every ${inLong} ms while they take ${long_ns / MS}`,
  make: (random): World => {
    const { steps, turns } = shortAndLong(random, long_ns);
    const list = words(() => {
      const uses = turns.map(({ begin_ns, end_ns, pace }) => {
        const period = (pace === 0 ? inShort : inLong) * MS;
        return timesFrom(begin_ns + random() * period, end_ns, () => period);
      });
      return loads(uses.flat());
    }, 100);
    return one("runtime", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

/** Tokens take 20 ms for some seven hundredths of the run, and 4 ms else; most of the turns go to memory that nothing uses. */
export const seldomSlow: WorldKind = {
  name: "used every 15 ms, every 60 ms in a short time of slow tokens",
  make: (random): World => {
    const from = SECOND * (3 + 12 * random());
    const isSlow = (now: number): boolean => now > from && now < from + 1.4 * SECOND;
    const list = words(() => {
      const uses: number[] = [];
      for (let now = 20 * MS * random(); now < RUN_NS; now += (isSlow(now) ? 60 : 15) * MS) uses.push(now);
      return loads(uses);
    }, 100);
    const unused = [1, 2, 3].map(
      (i) => ({ stratum: `weight ${i}`, region_type: "weight", words: words(() => loads([]), 20) }) as const,
    );
    const used = { stratum: "activation", region_type: "activation", words: list } as const;
    return {
      run_ns: RUN_NS,
      token_period_ns: (now) => (isSlow(now) ? 20 : 4) * MS,
      steps: [],
      strata: [used, ...unused],
    };
  },
};

/** Seven words of ten are read in the steps of one length alone. */
export const halfUsed = (inShort: boolean): WorldKind => ({
  name: `most of the words are read in steps of ${inShort ? "4" : "20"} ms alone, those of 4 and 20 ms come by turns of some seconds`,
  make: (random): World => {
    const { steps } = shortAndLong(random);
    const list = words((word) => {
      const place = random();
      const mine = steps.filter((step) => word % 10 < 3 || lengthOf(step) < LONG_NS / 2 === inShort);
      return loads(mine.map((step) => step.begin_ns + place * lengthOf(step)));
    }, 100);
    return one("weight", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

export const PACED_WORLDS: readonly WorldKind[] = [
  readInSteps(4),
  bursts(3, 1),
  clocked(20, 60),
  clocked(60, 20),
  clocked(20, 60, 60 * MS),
  seldomSlow,
  halfUsed(true),
  halfUsed(false),
  drawnPaces,
];
