/** Two pictures of which one is shown while the other is drawn. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, table, US, whole } from "../served/parts.ts";
import { one, SECOND, traces } from "../shapes.ts";

export const swaps: WorldKind = {
  name: "two pictures, one shown every 8.3 ms while the other is drawn, that swap when they may and not always, 15 s",
  make: (random) => {
    const [run, half, frame] = [15 * SECOND, 150, 100 * (SECOND / 12_000)];
    const hits = table(2 * half);
    let front = 0;
    let chance = 0.4;
    for (let now = -random() * frame; now < run; now += frame) {
      if (random() < 0.01) chance = between(random, 0.03, 0.9);
      for (let w = 0; w < half; w++) hits[front * half + w]?.push([now + (w / half) * 0.8 * frame, OP.load]);
      // What has changed of the picture is drawn, from some line on.
      const from = whole(random, half);
      const size = Math.ceil(half * random() ** 2);
      for (let k = 0; k < size; k++)
        hits[(1 - front) * half + ((from + k) % half)]?.push([now + 0.2 * frame + 20 * US * k, OP.store]);
      if (random() < chance) front = 1 - front;
    }
    return one("activation", traces(hits, run), { run_ns: run });
  },
};
