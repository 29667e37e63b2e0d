/** A crest of heat that moves over the addresses. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between } from "../served/parts.ts";
import { type Hit, MS, one, SECOND, trace, words } from "../shapes.ts";
import { atRates, lognormal } from "./pieces.ts";

export const crest: WorldKind = {
  name: "a crest of heat that goes once over all addresses in the run, 100 times as hot as the rest, 25 s",
  make: (random) => {
    const [run, count, cell] = [25 * SECOND, 600, 50 * MS];
    const phase = random();
    const narrow = between(random, 8, 16);
    const list = words((word) => {
      const rates = Array.from({ length: run / cell }, (_, i) => {
        const turn = (i * cell) / run - word / count + phase;
        return 0.7 + 110 * Math.exp(narrow * (Math.cos(2 * Math.PI * turn) - 1));
      });
      const times = atRates(random, rates, cell, lognormal(random, 1, 0.5));
      return trace(
        times.map((time): Hit => [time, random() < 0.1 ? OP.store : OP.load]),
        run,
      );
    }, count);
    return one("activation", list, { run_ns: run });
  },
};
