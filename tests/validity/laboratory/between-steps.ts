/** Outputs of steps that the program reads between them, as one that samples words from logits does, while the times between steps are uneven. */
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { OP } from "../../../src/schema/operation.ts";
import type { World, WorldKind } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { type Hit, MS, RUN_NS, trace, words } from "./shapes.ts";

interface Between {
  /** Every so many of the times between steps is a long one. */
  readonly every: number;
  readonly short_ms: readonly [least: number, most: number];
  readonly long_ms: readonly [least: number, most: number];
  /** True where words are read once more at any moment up to the next step. */
  readonly again: boolean;
}

function outputs(random: Random, { every, short_ms, long_ms, again }: Between): World {
  const from = ([least, most]: readonly [number, number]): number => MS * (least + (most - least) * random());
  const steps: StepSample[] = [];
  const pauses: number[] = [];
  for (let now = 0; ; ) {
    const end_ns = now + from([5, 8]);
    const pause = from(random() * every < 1 ? long_ms : short_ms);
    if (end_ns + pause > RUN_NS) break;
    steps.push({ step: "decode", begin_ns: now, end_ns, n_tokens: 1 + Math.floor(12 * random()) });
    pauses.push(pause);
    now = end_ns + pause;
  }
  const logits = words(() => {
    const place = random();
    const hits = steps.flatMap(({ end_ns }, k): Hit[] => {
      const pause = pauses[k] ?? 0;
      const first: Hit[] = [
        [end_ns - place * MS, OP.store],
        [end_ns + place * Math.min(2 * MS, pause), OP.load],
      ];
      return again ? [...first, [end_ns + place * pause, OP.load]] : first;
    });
    return trace(hits);
  }, 130);
  const strata = [{ stratum: "logits", region_type: "activation", words: logits } as const];
  return { run_ns: RUN_NS, steps, token_period_ns: 13 * MS, strata };
}

const between = (name: string, given: Between): WorldKind => ({ name, make: (random) => outputs(random, given) });

export const BETWEEN_STEPS: readonly WorldKind[] = [
  between("outputs of steps read twice in the 2 to 25 ms between them", {
    ...{ every: 5, short_ms: [2, 5], long_ms: [12, 25], again: true },
  }),
  between("outputs of steps read once in the 1 to 2 ms between them, one of ten 30 to 60", {
    ...{ every: 10, short_ms: [1, 2], long_ms: [30, 60], again: false },
  }),
];
