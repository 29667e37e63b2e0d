/** Training, with updates and checkpoints. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { MS, SECOND, traces } from "../shapes.ts";
import { between, part, table, US, whole, world } from "./parts.ts";

export const training: WorldKind = {
  name: "forward and backward over 24 layers, 4 times before each update, a checkpoint after 8 updates, 30 s",
  make: (random) => {
    const run = 30 * SECOND;
    const [layers, perLayer] = [24, 20];
    const weights = table(layers * perLayer);
    const kept = table(layers * perLayer);
    const moments = table(layers * perLayer);
    const places = Array.from({ length: layers * perLayer }, () => 0.9 * random());
    const forward = (now: number, length: number, isNeeded: boolean): void => {
      places.forEach((place, w) => {
        const layer = w % layers;
        weights[w]?.push([now + (length * (layer + place)) / layers, OP.load]);
        kept[w]?.push([now + (length * (layer + place)) / layers + 5 * US, OP.store]);
        if (!isNeeded) kept[w]?.push([now + (length * (layer + 1)) / layers, OP.load]);
      });
    };
    const backward = (now: number, length: number): void => {
      places.forEach((place, w) => {
        const moment = now + (length * (layers - 1 - (w % layers) + place)) / layers;
        weights[w]?.push([moment, OP.load]);
        kept[w]?.push([moment + 5 * US, OP.load]);
      });
    };
    let now = -3 * SECOND * random();
    for (let update = whole(random, 8); now < run; update++) {
      for (let micro = 0; micro < 4; micro++) {
        const length = 160 * MS * between(random, 0.9, 1.1);
        forward(now, length / 3, true);
        backward(now + length / 3, (2 * length) / 3);
        now += length + MS;
      }
      places.forEach((_, w) => {
        const moment = now + (w / places.length) * 50 * MS;
        moments[w]?.push([moment, OP.load_store]);
        weights[w]?.push([moment + 3 * US, OP.load_store]);
      });
      now += 55 * MS;
      if (update % 8 < 7) continue;
      const length = between(random, 0.7, 1.2) * SECOND;
      places.forEach((_, w) => {
        weights[w]?.push([now + ((length / 3) * w) / places.length, OP.load]);
        moments[w]?.push([now + length / 3 + ((length / 2) * w) / places.length, OP.load]);
      });
      now += length;
      for (let batch = 0; batch < 10; batch++, now += 51 * MS) forward(now, 50 * MS, false);
    }
    const stop = between(random, 2, 25) * SECOND;
    return world(
      run,
      [
        part("weight", "layers", traces(weights, run), { repeats: 20 }),
        part("activation", "kept", traces(kept, run), { repeats: 8 }),
        part("unknown", "moments", traces(moments, run), { repeats: 40 }),
      ],
      { stopped_ns: [[stop, stop + between(random, 200, 900) * MS]] },
    );
  },
};
