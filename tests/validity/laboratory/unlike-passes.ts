/** Steps in which words are touched unlike often in one pass: norms beside weights that are read once, tiles of a prompt, passes of any length. */
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { OP } from "../../../src/schema/operation.ts";
import type { World, WorldKind } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { type Hit, MS, RUN_NS, SECOND, trace, words } from "./shapes.ts";

/** Time between two accesses of a pass, ns. */
const WITHIN_NS = 8_000;
const PROMPT_EVERY_NS = 3 * SECOND;

interface Unlike {
  /** Share of the words that are norms, and how often a pass accesses these; each other word it accesses once. */
  readonly norms: readonly [share: number, hits: number];
  /** Passes of a prompt over a word that is none. */
  readonly tiles: number;
  /** Where set: each pass of a decode step accesses a word up to so often. */
  readonly any?: number;
}

function unlikePasses(random: Random, { norms: [share, inNorm], tiles, any }: Unlike): World {
  const steps: StepSample[] = [];
  const length = (least: number): number => MS * least * (1 + random() / 2);
  for (let now = 0, last = 0; ; ) {
    const isPrompt = now - last > PROMPT_EVERY_NS;
    const end_ns = now + length(isPrompt ? 300 : 20);
    if (end_ns > RUN_NS) break;
    if (isPrompt) last = now;
    steps.push({
      ...{ step: isPrompt ? "prefill" : "decode", begin_ns: now, end_ns, n_tokens: isPrompt ? 64 : 1 },
    });
    now = end_ns + 5 * MS * random();
  }
  const list = words(() => {
    const place = 0.98 * random();
    const isNorm = random() < share;
    const usual = isNorm ? inNorm : 1;
    const hits = steps.flatMap(({ step, begin_ns, end_ns }): Hit[] => {
      const passes = step === "prefill" && !isNorm ? tiles : 1;
      return Array.from({ length: passes }).flatMap((_, tile) => {
        const begin = begin_ns + ((end_ns - begin_ns) * (tile + place)) / passes;
        const count = step === "decode" && any !== undefined ? 1 + Math.floor(any * random()) : usual;
        return Array.from({ length: count }, (_, hit): Hit => [begin + hit * WITHIN_NS, OP.load]);
      });
    });
    return trace(hits);
  });
  const strata = [{ stratum: "weight", region_type: "weight", words: list } as const];
  return { run_ns: RUN_NS, steps, token_period_ns: 25 * MS, strata };
}

const unlike = (name: string, given: Unlike): WorldKind => ({ name, make: (random) => unlikePasses(random, given) });

export const UNLIKE_PASSES: readonly WorldKind[] = [
  unlike("weights in prompts of 300 tiles, one word of 20 a norm that each pass reads 8 times", {
    ...{ norms: [0.05, 8], tiles: 300 },
  }),
  unlike("weights in prompts of 40 tiles, half of them read twice in a pass", { norms: [0.5, 2], tiles: 40 }),
  unlike("weights that a pass of a decode step reads 1 to 6 times", { norms: [0, 1], tiles: 10, any: 6 }),
];
