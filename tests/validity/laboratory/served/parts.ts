/** What the worlds of this folder are put together from. */
import type { RegionType } from "../../../../src/schema/words.ts";
import type { WordTrace, World, WorldStratum } from "../../../../src/simulate/world.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import type { Hit } from "../shapes.ts";

export type Step = World["steps"][number];

export const US = 1e3;

export const between = (random: Random, least: number, most: number): number => least + (most - least) * random();
export const whole = (random: Random, below: number): number => Math.floor(below * random());

export const part = (
  region_type: RegionType,
  name: string,
  list: readonly WordTrace[],
  rest: Partial<WorldStratum> = {},
): WorldStratum => ({ stratum: `${region_type}/${name}`, region_type, words: list, ...rest });

export const world = (run_ns: number, strata: readonly WorldStratum[], rest: Partial<World> = {}): World => ({
  run_ns,
  token_period_ns: null,
  steps: [],
  strata,
  ...rest,
});

export const inside = (steps: readonly Step[], run: number): Step[] =>
  steps.filter(({ begin_ns, end_ns }) => begin_ns >= 0 && end_ns <= run);

export const table = (count: number): Hit[][] => Array.from({ length: count }, () => []);

/** Numbers that drift about 0, each of standard deviation `sigma`, and forget each other after some `memory` numbers. */
export function drift(random: Random, count: number, sigma: number, memory: number): number[] {
  const stay = Math.exp(-1 / memory);
  const out = [sigma * normalDraw(random)];
  while (out.length < count) out.push(stay * (out.at(-1) ?? 0) + sigma * Math.sqrt(1 - stay ** 2) * normalDraw(random));
  return out;
}
