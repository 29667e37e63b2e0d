/** Many runs of one world: how far the figures are from the truth, and how often their intervals hold it. */
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { truthOf } from "./reference.ts";
import { tryWorld } from "./trial.ts";
import type { WorldKind } from "./world.ts";

/** What many runs said of one metric in one world. */
export interface CoverageRow {
  readonly world: string;
  readonly metric: string;
  readonly runs: number;
  readonly ok: number;
  readonly bound: number;
  /** Runs that refused: insufficient or not identifiable. */
  readonly refused: number;
  /** Of the runs that said ok: those whose interval holds the truth, and the median of value over truth; null where that is none. */
  readonly held: number;
  readonly ratio: number | null;
  /** Median of half of the interval over the truth. */
  readonly half_width: number | null;
  /** Of the runs that gave a bound: those whose bound is right. */
  readonly right: number;
}

/** Times are written as whole ns. */
const ROUNDING = 1e-6;

interface Tally {
  ok: number;
  bound: number;
  refused: number;
  held: number;
  right: number;
  readonly ratios: number[];
  readonly widths: number[];
}

const median = (values: readonly number[]): number | null =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;

/** Runs a world with the seeds 1 to `seeds`. */
export function coverageOf(kind: WorldKind, seeds: number): CoverageRow[] {
  const tallies = new Map<string, Tally>();
  for (let seed = 1; seed <= seeds; seed++) {
    const world = kind.make(seededRandom(seed, 77));
    const truth = truthOf(world);
    const { input } = tryWorld(world, seed);
    for (const row of computeMetrics(input)) {
      if (row.source !== "watch" || !truth.has(row.metric) || row.step !== "all") continue;
      if (row.metric === "write_once_ratio" && row.grain_bytes !== 8) continue;
      const tally = tallies.get(row.metric) ?? {
        ok: 0,
        bound: 0,
        refused: 0,
        held: 0,
        right: 0,
        ratios: [],
        widths: [],
      };
      tallies.set(row.metric, tally);
      const real = truth.get(row.metric) ?? null;
      const { lo, hi, value } = row;
      // What a world has none of cannot be held.
      const inside =
        real !== null &&
        (lo ?? Number.NEGATIVE_INFINITY) <= real.hi * (1 + ROUNDING) &&
        real.lo * (1 - ROUNDING) <= (hi ?? Number.POSITIVE_INFINITY);
      if (row.status === "ok" && value !== null) {
        tally.ok += 1;
        if (inside) tally.held += 1;
        const near = real === null ? Number.NaN : Math.min(Math.max(value, real.lo), real.hi);
        if (Number.isFinite(near) && near > 0) {
          tally.ratios.push(value / near);
          tally.widths.push(((hi ?? value) - (lo ?? value)) / 2 / near);
        }
      } else if (row.status === "bound") {
        tally.bound += 1;
        if (inside) tally.right += 1;
      } else tally.refused += 1;
    }
  }
  return [...tallies].map(([metric, { ratios, widths, ...counts }]) => ({
    world: kind.name,
    metric,
    runs: seeds,
    ...counts,
    ratio: median(ratios),
    half_width: median(widths),
  }));
}
