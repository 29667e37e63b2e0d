/** Adapters that are swapped in for requests. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { exponential, loads, MS, SECOND, traces, words } from "../shapes.ts";
import { between, inside, part, type Step, table, US, whole, world } from "./parts.ts";

export const adapters: WorldKind = {
  name: "4 places for 12 adapters, of which one comes and the work waits for it every 1.5 s, 30 s",
  make: (random) => {
    const run = 30 * SECOND;
    const [slots, all, perSlot, perFile] = [4, 12, 50, 40];
    const inSlots = table(slots * perSlot);
    const files = table(all * perFile);
    const begins: number[] = [];
    const steps: Step[] = [];
    const held = [0, 1, 2, 3];
    const lastUse = [0, 0, 0, 0];
    const wanted = [0, 1];
    let change = 1.5 * SECOND * exponential(random);
    for (let now = -14 * MS * random(); now < run; ) {
      if (now > change) {
        change = now + 1.5 * SECOND * exponential(random);
        const comes = whole(random, all);
        wanted[whole(random, 2)] = comes;
        if (!held.includes(comes)) {
          const slot = lastUse.indexOf(Math.min(...lastUse));
          const length = between(random, 40, 120) * MS;
          for (let w = 0; w < perFile; w++) files[comes * perFile + w]?.push([now + (w / perFile) * length, OP.load]);
          for (let w = 0; w < perSlot; w++)
            inSlots[slot * perSlot + w]?.push([now + (w / perSlot) * length + 50 * US, OP.store]);
          held[slot] = comes;
          lastUse[slot] = now;
          now += length + MS;
        }
      }
      const length = between(random, 13, 15) * MS;
      begins.push(now);
      steps.push({ step: "decode", begin_ns: now, end_ns: now + length, n_tokens: 1 + whole(random, 8) });
      for (const adapter of new Set(wanted)) {
        const slot = held.indexOf(adapter);
        if (slot < 0) continue;
        lastUse[slot] = now;
        for (let w = 0; w < perSlot; w++)
          inSlots[slot * perSlot + w]?.push([now + (w + 0.3 * slot) * 0.25 * MS, OP.load]);
      }
      now += length + 0.1 * MS;
    }
    const base = words(() => {
      const place = 12.5 * MS * random();
      return loads(
        begins.map((begin) => begin + place),
        run,
      );
    }, 250);
    return world(
      run,
      [
        part("weight", "base", base, { repeats: 400 }),
        part("weight", "adapters", traces(inSlots, run), { repeats: 4 }),
        part("unknown", "files", traces(files, run), { repeats: 15 }),
      ],
      { steps: inside(steps, run), token_period_ns: 14 * MS },
    );
  },
};
