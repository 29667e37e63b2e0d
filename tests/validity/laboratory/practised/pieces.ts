/** What several worlds of this folder are put together from. */
import type { WordTrace } from "../../../../src/simulate/world.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { exponential, loads, SECOND, words } from "../shapes.ts";

/** A number of this median whose logarithm has the standard deviation `sigma`. */
export const lognormal = (random: Random, median: number, sigma: number): number =>
  median * Math.exp(sigma * normalDraw(random));

/** A number of arrivals, `mean` in the mean. */
export function poisson(random: Random, mean: number): number {
  let count = 0;
  for (let left = mean - exponential(random); left > 0; left -= exponential(random)) count += 1;
  return count;
}

/** Moments of a Poisson process whose rates per second are `scale` times `rates`, each for one cell of `cell` ns. */
export function atRates(random: Random, rates: readonly number[], cell: number, scale: number): number[] {
  const out: number[] = [];
  let need = exponential(random);
  rates.forEach((rate, i) => {
    const mass = (rate * scale * cell) / SECOND;
    let used = 0;
    for (; need <= mass - used; need = exponential(random)) {
      used += need;
      out.push((i + used / mass) * cell);
    }
    need -= mass - used;
  });
  return out;
}

/** A step of an engine: when it begins and how long it takes. */
export type Span = readonly [begin: number, length: number];

/** Words that are read once in each span, each word at its own part of it. */
export const swept = (random: Random, spans: readonly Span[], count: number, run: number): WordTrace[] =>
  words(() => {
    const place = 0.97 * random();
    return loads(
      spans.map(([begin, length]) => begin + place * length),
      run,
    );
  }, count);
