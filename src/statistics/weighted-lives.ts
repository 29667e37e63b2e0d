/** Quantiles of millions of weighted lives, each seen once, whole or in part: of the product-limit curve, and of what was seen. */
import { collectAround } from "../columnar/collect-after.ts";
import { positionsInOrder } from "../columnar/keys/number-order.ts";

/** Lives by number, from 0; nothing of them is copied. */
export interface Lives {
  readonly count: number;
  /** 0 or more, whole. */
  time(life: number): number;
  /** False where its begin or its end was not seen: it lasted at least so long. */
  isWhole(life: number): boolean;
  weight(life: number): number;
}

export interface LifeQuantiles {
  /** Of the product-limit curve by q; null where it does not fall that far, or there is no weight. */
  readonly curve: readonly (number | null)[];
  /** Least times at which the weight of the lives seen up to them reaches q: no whole life is shorter. */
  readonly seen: readonly (number | null)[];
  /** Least times by which whole lives alone have the share q of all weight, as if none of the others ever ended; null where they have not. */
  readonly endless: readonly (number | null)[];
  readonly n_censored: number;
  /** Weight of the lives not seen whole over that of all. */
  readonly censored: number;
}

/** @param qs ascending, in (0, 1) */
export function lifeQuantiles(lives: Lives, qs: readonly number[]): LifeQuantiles {
  collectAround(lives.count);
  const keys = new Float64Array(lives.count);
  let all = 0;
  let censored = 0;
  let n_censored = 0;
  for (let life = 0; life < lives.count; life++) {
    const weight = lives.weight(life);
    const isWhole = lives.isWhole(life);
    // Of one time whole lives come first.
    keys[life] = 2 * lives.time(life) + (isWhole ? 0 : 1);
    all += weight;
    if (isWhole) continue;
    n_censored += 1;
    censored += weight;
  }
  const curve: (number | null)[] = qs.map(() => null);
  const seen: (number | null)[] = qs.map(() => null);
  const endless: (number | null)[] = qs.map(() => null);
  if (!(all > 0)) return { curve, seen, endless, n_censored, censored: 0 };
  const nothing = all * 1e-9;
  let atRisk = all;
  let survival = 1;
  let sum = 0;
  let whole = 0;
  let fallen = 0;
  let reached = 0;
  let ended = 0;
  const order = positionsInOrder(keys);
  for (let i = 0; i < order.length; i++) {
    const life = order[i] as number;
    const weight = lives.weight(life);
    sum += weight;
    while (reached < qs.length && sum >= (qs[reached] as number) * all * (1 - 1e-12))
      seen[reached++] = lives.time(life);
    if (weight > 0 && lives.isWhole(life)) {
      whole += weight;
      while (ended < qs.length && whole >= (qs[ended] as number) * all * (1 - 1e-12))
        endless[ended++] = lives.time(life);
      survival = atRisk - weight <= nothing ? 0 : survival * (1 - weight / atRisk);
      while (fallen < qs.length && survival <= 1 - (qs[fallen] as number) + 1e-9) curve[fallen++] = lives.time(life);
    }
    atRisk -= weight;
  }
  return { curve, seen, endless, n_censored, censored: censored / all };
}
