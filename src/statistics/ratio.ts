/** Ratios of weighted sums over units: means per byte, totals over totals; interval by BCa over the units. */
import { bcaInterval, type Resamples } from "./bootstrap.ts";
import { expandedLevel } from "./expanded-tail.ts";
import { CI_LEVEL, type Interval, interval } from "./interval.ts";

/**
 * The ratio sum(top) / sum(bottom) with its BCa interval; both arrays hold one weighted entry per unit.
 * @param carrying how many units that count alike would carry as much: few have wider tails; absent where they are many
 * @returns no value where the bottom is not above 0
 */
export function ratioInterval(
  top: Float64Array,
  bottom: Float64Array,
  resamples: Resamples,
  carrying: number | null = null,
): Interval {
  let t = 0;
  let b = 0;
  for (let i = 0; i < top.length; i++) {
    t += top[i] ?? 0;
    b += bottom[i] ?? 0;
  }
  if (!(b > 0)) return interval(null, null, null);
  const jackknife = new Float64Array(top.length);
  for (let i = 0; i < top.length; i++) {
    const rest = b - (bottom[i] ?? 0);
    jackknife[i] = rest > 0 ? (t - (top[i] ?? 0)) / rest : t / b;
  }
  const replicates = new Float64Array(resamples.length);
  for (let r = 0; r < resamples.length; r++) {
    const times = resamples[r] ?? new Uint16Array();
    let rt = 0;
    let rb = 0;
    for (let i = 0; i < times.length; i++) {
      const m = times[i] ?? 0;
      if (m === 0) continue;
      rt += m * (top[i] ?? 0);
      rb += m * (bottom[i] ?? 0);
    }
    replicates[r] = rb > 0 ? rt / rb : Number.NaN;
  }
  const level = carrying === null ? CI_LEVEL : expandedLevel(CI_LEVEL, carrying);
  return bcaInterval(t / b, replicates, jackknife, level);
}
