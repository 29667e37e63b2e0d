/** Pictures made in passes, in memory that takes turns. */
import { OP } from "../../../../src/schema/operation.ts";
import type { RegionType } from "../../../../src/schema/words.ts";
import type { WorldKind, WorldStratum } from "../../../../src/simulate/world.ts";
import { exponential, type Hit, loads, MS, SECOND, trace, words } from "../shapes.ts";
import { between, part, whole, world } from "./parts.ts";

export const pictures: WorldKind = {
  name: "pictures in 18 to 30 passes, two uses by turns of the memory that each has while it is made, 15 ms late",
  make: (random) => {
    const run = 25 * SECOND;
    const count = 150;
    const text: number[] = [];
    const passes: (readonly [number, number])[] = [];
    const decoded: (readonly [number, number])[] = [];
    const arenas: WorldStratum[] = [];
    const arena = (region_type: RegionType, life_ns: [number, number], use: () => Hit[]): WorldStratum => {
      const list = words(
        () =>
          trace(
            use().filter(([time]) => time > life_ns[0] && time < life_ns[1]),
            run,
          ),
        count,
      );
      return { stratum: region_type, region_type, words: list, life_ns, place: 3, repeats: 10 };
    };
    for (let now = (0.5 - random()) * SECOND; now < run; now += 1.2 * SECOND * exponential(random)) {
      text.push(now);
      const born = now + 42 * MS;
      const mine: (readonly [number, number])[] = [];
      now = born + MS;
      for (let left = 18 + whole(random, 13); left > 0; left--) {
        const length = 45 * MS * between(random, 0.96, 1.04);
        mine.push([now, length]);
        now += length + 0.3 * MS;
      }
      passes.push(...mine);
      const turn = now + MS;
      arenas.push(
        arena("activation", [born, turn], () => {
          // Kept on the way down, needed again on the way up.
          const depth = 0.48 * random();
          return mine.flatMap(([begin, length]): Hit[] => [
            [begin + depth * length, OP.store],
            [begin + depth * length + 0.2 * MS, OP.load],
            [begin + (1 - depth) * length, OP.load],
          ]);
        }),
      );
      const length = between(random, 250, 400) * MS;
      const from = turn + 4 * MS;
      decoded.push([from, length]);
      now = from + length + MS;
      arenas.push(
        arena("unknown", [turn + 2 * MS, now], () => {
          const place = 0.8 * random();
          return Array.from({ length: 16 }, (_, tile): Hit[] => {
            const moment = from + ((tile + place) * length) / 16;
            return [
              [moment, OP.store],
              [moment + 0.5 * MS, OP.load],
              [moment + 0.7 * MS, OP.load],
            ];
          }).flat();
        }),
      );
    }
    const encoder = words(() => {
      const place = 40 * MS * random();
      return loads(
        text.map((begin) => begin + place),
        run,
      );
    }, 60);
    const net = words(() => {
      const place = random() / 2;
      return loads(
        passes.flatMap(([begin, length]) => [begin + place * length, begin + (0.5 + place) * length]),
        run,
      );
    }, 300);
    const decoder = words(() => {
      const place = random();
      return loads(
        decoded.flatMap(([begin, length]) => Array.from({ length: 16 }, (_, k) => begin + ((k + place) * length) / 16)),
        run,
      );
    }, 80);
    return world(
      run,
      [
        part("weight", "text", encoder, { repeats: 12 }),
        part("weight", "net", net, { repeats: 60 }),
        part("weight", "decoder", decoder, { repeats: 4 }),
        ...arenas.filter(({ life_ns }) => (life_ns?.[0] ?? 0) < run),
      ],
      { map_lag_ns: 15 * MS },
    );
  },
};
