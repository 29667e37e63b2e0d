/** A long prompt in chunks amid decoding. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { type Hit, loads, MS, SECOND, trace, traces, words } from "../shapes.ts";
import { between, inside, part, type Step, table, US, whole, world } from "./parts.ts";

export const longPrefill: WorldKind = {
  name: "a prompt of 4 s in chunks of a quarter of a second amid a run of 12 s of decoding",
  make: (random) => {
    const run = 12 * SECOND;
    const [layers, first, second] = [16, 560, 600];
    const rows = table(first + second);
    const steps: Step[] = [];
    const [from, chunks] = [between(random, 2.8, 4.2) * SECOND, 14 + whole(random, 4)];
    let length = 100 + whole(random, 60);
    let other = 0;
    const decodes: (readonly [number, number])[] = [];
    const prefills: (readonly [number, number])[] = [];
    for (let now = -8 * MS * random(); now < run; ) {
      if (now >= from && prefills.length < chunks) {
        const span = between(random, 230, 270) * MS;
        prefills.push([now, span]);
        steps.push({ step: "prefill", begin_ns: now, end_ns: now + span, n_tokens: 512 });
        const until = other + Math.floor(440 / chunks);
        for (let r = other; r < until; r++) rows[first + r]?.push([now + span * between(random, 0.02, 0.1), OP.store]);
        for (let r = 0; r < until; r++)
          for (let k = 0; k < 3; k++) rows[first + r]?.push([now + span * (0.2 + 0.2 * k) + r * 20 * US, OP.load]);
        other = until;
        now += span + 0.2 * MS;
        continue;
      }
      const span = (prefills.length === 0 ? 8 : 11) * MS * between(random, 0.93, 1.07);
      decodes.push([now, span]);
      steps.push({ step: "decode", begin_ns: now, end_ns: now + span, n_tokens: prefills.length === 0 ? 1 : 2 });
      rows[length]?.push([now + MS, OP.store]);
      for (let r = 0; r <= length; r++) rows[r]?.push([now + 2 * MS + r * US, OP.load]);
      if (length < first - 1 && random() < 0.8) length += 1;
      if (other > 0) {
        rows[first + other]?.push([now + 1.2 * MS, OP.store]);
        for (let r = 0; r <= other; r++) rows[first + r]?.push([now + 3 * MS + r * US, OP.load]);
        if (other < second - 1 && random() < 0.3) other += 1;
      }
      now += span + 0.1 * MS;
    }
    const weights = words((word) => {
      const layer = word % layers;
      const place = random();
      const inLayer = ([begin, span]: readonly [number, number], within: number): number =>
        begin + (span * (layer + within)) / layers;
      return loads(
        [
          ...decodes.map((step) => inLayer(step, place)),
          ...prefills.flatMap((chunk) => Array.from({ length: 12 }, (_, k) => inLayer(chunk, (k + place) / 12))),
        ],
        run,
      );
    }, 320);
    const scratch = words(() => {
      const place = 0.9 * random();
      return trace(
        [
          ...decodes.flatMap(([begin, span]): Hit[] => [
            [begin + place * span, OP.store],
            [begin + place * span + 80 * US, OP.load],
          ]),
          ...prefills.flatMap(([begin, span]) =>
            Array.from({ length: layers }, (_, k): Hit[] => {
              const moment = begin + (span * (k + place)) / layers;
              return [
                [moment, OP.store],
                [moment + 0.4 * MS, OP.load],
                [moment + 0.9 * MS, OP.load],
              ];
            }).flat(),
          ),
        ],
        run,
      );
    }, 120);
    return world(
      run,
      [
        part("weight", "layers", weights, { repeats: 100 }),
        part("activation", "scratch", scratch),
        part("kv_cache", "rows", traces(rows, run), { repeats: 3 }),
      ],
      { steps: inside(steps, run), token_period_ns: 9 * MS },
    );
  },
};
