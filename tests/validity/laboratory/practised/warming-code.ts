/** Code that gets faster as it is compiled anew. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between } from "../served/parts.ts";
import { type Hit, MS, one, SECOND, trace, words } from "../shapes.ts";
import type { Span } from "./pieces.ts";

export const warming: WorldKind = {
  name: "passes over a part of the words, 0.9 s long at first and ever shorter down to 7 ms, code compiled anew as it warms, 20 s",
  make: (random) => {
    const run = 20 * SECOND;
    const tau = between(random, 2, 4.5) * SECOND;
    const passes: Span[] = [];
    for (let now = -0.9 * SECOND * random(); now < run; ) {
      const length = (7 * MS + 0.9 * SECOND * Math.exp(-Math.max(0, now) / tau)) * between(random, 0.9, 1.1);
      passes.push([now, length]);
      now += length;
    }
    const list = words(() => {
      const [place, share] = [0.9 * random(), 0.04 + 0.96 * random() ** 2];
      const hits: Hit[] = [];
      let calls = 0;
      for (const [begin, length] of passes) {
        if (random() > share) continue;
        const time = begin + place * length;
        hits.push([time, OP.load]);
        calls += 1;
        // It is compiled after 8, 64 and 512 calls.
        if (calls === 8 || calls === 64 || calls === 512) hits.push([time + 0.05 * length, OP.store]);
      }
      return trace(hits, run);
    }, 500);
    return one("runtime", list, { run_ns: run });
  },
};
