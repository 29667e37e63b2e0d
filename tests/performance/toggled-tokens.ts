/** Tokens of one decoding in blocks of ABBA: a tracer that is stopped and let go on by turns, faster than a machine's moods. */
import type { BlockCosts } from "../../src/overhead/ab.ts";
import { median } from "./bench-row.ts";
import type { Decodes } from "./pass-decoder.ts";

/** One turn of an arm, CLOCK_MONOTONIC in ns. */
export interface Turn {
  readonly on: boolean;
  readonly begin_ns: number;
  readonly end_ns: number;
}

/**
 * Costs of each four turns: the mean time of a token over the median time of its position in the context, for tokens that
 * lie in one turn as a whole.
 * @param settle_ns what is left out at the start of each turn that is off: what was armed before it may still be hit
 */
export function blocksOf(decodes: Decodes, turns: readonly Turn[], settle_ns: number): BlockCosts[] {
  const usual = usualTimes(decodes);
  const costs = turns.map((turn) => {
    const from = turn.begin_ns + (turn.on ? 0 : settle_ns);
    let [sum, count] = [0, 0];
    for (
      let i = firstAfter(decodes.begin_ns, from);
      (decodes.end_ns[i] ?? Number.POSITIVE_INFINITY) <= turn.end_ns;
      i++
    ) {
      sum += timeOf(decodes, i) / (usual[decodes.position[i] ?? 0] ?? Number.NaN);
      count += 1;
    }
    return { on: turn.on, cost: sum / count };
  });
  const blocks: BlockCosts[] = [];
  for (let i = 0; i + 4 <= costs.length; i += 4) {
    const four = costs.slice(i, i + 4);
    const arm = (on: boolean): number[] => four.filter((turn) => turn.on === on).map((turn) => turn.cost);
    blocks.push({ off: arm(false), on: arm(true) });
  }
  return blocks;
}

function timeOf(decodes: Decodes, i: number): number {
  return (decodes.end_ns[i] ?? Number.NaN) - (decodes.begin_ns[i] ?? Number.NaN);
}

/** Median time of each position: a longer context takes longer. */
function usualTimes(decodes: Decodes): number[] {
  const times: number[][] = [];
  for (const [i, position] of decodes.position.entries()) {
    times[position] ??= [];
    times[position].push(timeOf(decodes, i));
  }
  return Array.from(times, (of) => median(of ?? []));
}

/** The first index whose value, of ascending ones, is not below `value`. */
function firstAfter(values: readonly number[], value: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
