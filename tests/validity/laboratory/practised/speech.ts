/** Speech that is heard in pieces. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, inside, part, type Step, table, US, whole, world } from "../served/parts.ts";
import { exponential, MS, SECOND, traces } from "../shapes.ts";
import { lognormal, poisson, type Span, swept } from "./pieces.ts";

export const speech: WorldKind = {
  name: "speech in pieces of 480 ms: one pass of the encoder, then no word in a silence and up to 40 in talk, 45 s",
  make: (random) => {
    const [run, piece, frames] = [45 * SECOND, 480 * MS, 48];
    const steps: Step[] = [];
    const encoded: Span[] = [];
    const decoded: Span[] = [];
    const sound = table(2 * frames);
    const cross = table(120);
    const text = table(40);
    const phase = piece * random();
    for (let t = phase - piece, frame = 0; t < run; t += piece / frames, frame++) {
      sound[frame % (2 * frames)]?.push([t, OP.store]);
      sound[(frame + 2 * frames - 1) % (2 * frames)]?.push([t + 60 * US, OP.load]);
    }
    let talks = random() < 0.5;
    let free = 0;
    for (let n = 0, arrival = phase; arrival < run; n++, arrival += piece) {
      if (random() < (talks ? 0.12 : 0.2)) talks = !talks;
      let now = Math.max(free, arrival + 0.5 * MS * exponential(random));
      const length = between(random, 60, 90) * MS;
      steps.push({ step: "prefill", begin_ns: now, end_ns: now + length, n_tokens: 24 });
      encoded.push([now, length]);
      for (let f = 0; f < frames; f++) sound[((n % 2) * frames + f) % (2 * frames)]?.push([now + 10 * US * f, OP.load]);
      cross.forEach((hits, c) => {
        hits.push([now + length * (0.85 + (0.14 * c) / cross.length), OP.store]);
      });
      now += length + 0.1 * MS;
      const many = talks ? Math.min(40, 2 + poisson(random, lognormal(random, 11, 0.5))) : whole(random, 2);
      for (let k = 0; k < many; k++) {
        const step = between(random, 7, 9) * MS + 50 * US * k;
        steps.push({ step: "decode", begin_ns: now, end_ns: now + step, n_tokens: 1 });
        decoded.push([now, step]);
        cross.forEach((hits, c) => {
          hits.push([now + step * (0.2 + (0.6 * c) / cross.length), OP.load]);
        });
        text[k]?.push([now + 0.3 * step, OP.store]);
        for (let before = 0; before <= k; before++) text[before]?.push([now + 0.5 * step + before * 5 * US, OP.load]);
        now += step + 0.1 * MS;
      }
      free = now;
    }
    return world(
      run,
      [
        part("weight", "encoder", swept(random, encoded, 300, run), { repeats: 150 }),
        part("weight", "decoder", swept(random, decoded, 200, run), { repeats: 100 }),
        part("kv_cache", "of the sound", traces(cross, run), { repeats: 20 }),
        part("kv_cache", "of the text", traces(text, run), { repeats: 4 }),
        part("runtime", "sound", traces(sound, run)),
      ],
      { steps: inside(steps, run), token_period_ns: 8 * MS },
    );
  },
};
