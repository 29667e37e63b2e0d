/** One speed of all words that flickers at many scales of time. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { drift } from "../served/parts.ts";
import { type Hit, MS, one, SECOND, trace, words } from "../shapes.ts";
import { atRates, lognormal } from "./pieces.ts";

export const flicker: WorldKind = {
  name: "one speed for all words that flickers at every scale from 10 ms to 10 s, 30 s",
  make: (random) => {
    const [run, cell] = [30 * SECOND, 5 * MS];
    const cells = run / cell;
    const scales = [2, 8, 32, 128, 512, 2048].map((memory) => drift(random, cells, 0.42, memory));
    const rates = Array.from(
      { length: cells },
      (_, i) => 14 * Math.exp(scales.reduce((sum, scale) => sum + (scale[i] ?? 0), 0)),
    );
    const list = words(() => {
      const times = atRates(random, rates, cell, lognormal(random, 1, 0.7));
      return trace(
        times.map((time): Hit => [time, random() < 0.06 ? OP.store : OP.load]),
        run,
      );
    });
    return one("runtime", list, { run_ns: run });
  },
};
