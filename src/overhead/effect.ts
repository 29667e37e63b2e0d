/** From the runs of an experiment to what may be said of each arm. */

import {
  EFFECT_FIGURES,
  type EffectFigure,
  FIGURE_NAMES,
  type FigureEffect,
  type FigureValues,
  OFF,
  OFF_AGAIN,
} from "../schema/observer-effect.ts";
import type { Verdict } from "../schema/words.ts";
import { signedRankP } from "../statistics/wilcoxon.ts";
import { type AbResult, type BlockCosts, blocksNeeded, compareArms, logRatio, MIN_BLOCKS } from "./ab.ts";

/** The runs of one block by arm; each arm has two in a whole block. */
export type EffectBlock = ReadonlyMap<string, readonly FigureValues[]>;

/** Runs of each arm in a block. */
export const RUNS_PER_BLOCK = 2;

/** A figure as a cost: more is worse; NaN where it is missing. */
function costOf(values: FigureValues, figure: EffectFigure): number {
  const value = values[figure] ?? Number.NaN;
  return EFFECT_FIGURES[figure].better === "more" ? 1 / value : value;
}

function costsOf(block: EffectBlock, arm: string, figure: EffectFigure): BlockCosts {
  const costs = (name: string): number[] => (block.get(name) ?? []).map((values) => costOf(values, figure));
  return { off: costs(OFF), on: costs(arm) };
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/**
 * The machine is quiet enough for a margin when two equal arms are shown to differ by less than it, both ways (two
 * one-sided tests, alpha 0.05).
 */
function isQuiet(noise: AbResult): boolean {
  const { blocks, lower_bound_pct, upper_bound_pct, margin_pct } = noise;
  return blocks >= MIN_BLOCKS && upper_bound_pct < margin_pct && lower_bound_pct > -margin_pct;
}

/** Repeats with which equal arms pass in 9 of 10 experiments: both sides must, so each at a power of 0.95. */
function quietRepeats({ sd_pct, margin_pct }: AbResult): number | null {
  if (!Number.isFinite(sd_pct)) return null;
  return RUNS_PER_BLOCK * Math.max(MIN_BLOCKS, blocksNeeded(sd_pct, margin_pct, { power: 0.95 }));
}

/** Repeats with which a slowdown of this size is told from the margin in 9 of 10 experiments. */
function decidingRepeats({ sd_pct, margin_pct, slowdown_pct }: AbResult): number | null {
  const distance = Math.abs(margin_pct - slowdown_pct.value);
  if (!Number.isFinite(sd_pct) || !(distance > 0)) return null;
  const blocks = blocksNeeded(sd_pct, distance);
  return Number.isSafeInteger(blocks) ? RUNS_PER_BLOCK * Math.max(MIN_BLOCKS, blocks) : null;
}

interface Judged {
  readonly verdict: Verdict;
  readonly why: string | null;
  readonly repeats_needed: number | null;
}

/** Too few blocks for any verdict, whatever the machine; null where there are enough. */
function judgeCount({ blocks }: AbResult): Judged | null {
  if (blocks >= MIN_BLOCKS) return null;
  const usable = `${blocks} usable ${blocks === 1 ? "block is" : "blocks are"}`;
  const why = `${usable} too few for a verdict: it takes ${MIN_BLOCKS}`;
  return { verdict: "INCONCLUSIVE", why, repeats_needed: RUNS_PER_BLOCK * MIN_BLOCKS };
}

function judgeNoise(noise: AbResult): Judged {
  if (isQuiet(noise)) return { verdict: "PASS", why: null, repeats_needed: null };
  const few = judgeCount(noise);
  if (few !== null) return few;
  const shown = noise.lower_bound_pct > noise.margin_pct || noise.upper_bound_pct < -noise.margin_pct;
  return {
    verdict: shown ? "FAIL" : "INCONCLUSIVE",
    why: shown
      ? "two equal arms differ by more than the margin: something else changes between runs"
      : `two equal arms could not be shown to differ by less than ${noise.margin_pct} %: the machine is too noisy`,
    repeats_needed: shown ? null : quietRepeats(noise),
  };
}

function judge(result: AbResult, noise: AbResult): Judged {
  const few = judgeCount(noise) ?? judgeCount(result);
  if (few !== null) return few;
  if (!isQuiet(noise)) {
    const why = "off against off did not pass: the machine is too noisy for a claim";
    return { verdict: "INCONCLUSIVE", why, repeats_needed: quietRepeats(noise) };
  }
  if (result.verdict !== "INCONCLUSIVE") return { verdict: result.verdict, why: null, repeats_needed: null };
  const [lower, upper] = [result.lower_bound_pct, result.upper_bound_pct].map((bound) => bound.toFixed(2));
  const why = `the margin lies inside the interval: between ${lower} and ${upper} %`;
  return { verdict: "INCONCLUSIVE", why, repeats_needed: decidingRepeats(result) };
}

function effectOf(
  blocks: readonly EffectBlock[],
  arm: string,
  figure: EffectFigure,
  { marginPct, seed }: EffectOptions,
): FigureEffect {
  const costs = blocks.map((block) => costsOf(block, arm, figure));
  const usable = costs.filter((block) => logRatio(block) !== null);
  const result = compareArms(costs, marginPct, seed);
  const again = blocks.map((block) => costsOf(block, OFF_AGAIN, figure));
  const noise = arm === OFF_AGAIN ? result : compareArms(again, marginPct, seed);
  const shown = (cost: number): number => (EFFECT_FIGURES[figure].better === "more" ? 1 / cost : cost);
  return {
    figure,
    unit: EFFECT_FIGURES[figure].unit,
    blocks: result.blocks,
    unusable: result.unusable,
    sd_pct: result.sd_pct,
    slowdown_pct: result.slowdown_pct,
    lower_bound_pct: result.lower_bound_pct,
    upper_bound_pct: result.upper_bound_pct,
    hodges_lehmann_pct: result.hodges_lehmann_pct,
    off: shown(geometricMean(usable.flatMap(({ off }) => off))),
    on: shown(geometricMean(usable.flatMap(({ on }) => on))),
    wilcoxon_p: signedRankP(usable.map((block) => logRatio(block) ?? 0)),
    ...(arm === OFF_AGAIN ? judgeNoise(noise) : judge(result, noise)),
  };
}

export interface EffectOptions {
  /** Largest slowdown in % that is acceptable, declared before the first run. */
  readonly marginPct: number;
  readonly seed: number;
}

/** Effects of one arm, by figure; figures that no run of `off` told are left out. */
export function armEffects(blocks: readonly EffectBlock[], arm: string, options: EffectOptions): FigureEffect[] {
  const stated = FIGURE_NAMES.filter((figure) =>
    blocks.some((block) => (block.get(OFF) ?? []).some((values) => Number.isFinite(costOf(values, figure)))),
  );
  return stated.map((figure) => effectOf(blocks, arm, figure, options));
}
