/** The most that the mean of amounts may be of which nearly all that were drawn are zero. */
import { clopperPearson } from "./clopper-pearson.ts";
import { CI_LEVEL } from "./interval.ts";

/**
 * Stringer's upper bound (Proceedings of the Business and Economic Statistics Section of the ASA, 1963; Bickel, International Statistical
 * Review 60, 1992): the largest amount stands for the share that one more than those seen may have, the next for what a second adds, and so
 * on. Where all amounts are alike it is Clopper and Pearson's upper end of their share times the amount.
 * @param amounts those above zero, in any order
 * @param drawn all that were drawn, the zeros too
 * @param size how many that count alike the drawn ones are worth, above 0
 * @param most what one may be that was not drawn; the largest amount counts where that is more
 */
export function stringerBound(amounts: readonly number[], drawn: number, size: number, most: number): number {
  const shareOf = (count: number): number => clopperPearson((count * size) / drawn, size, CI_LEVEL).hi ?? 1;
  const falling = [...amounts].sort((a, b) => b - a);
  let share = shareOf(0);
  let bound = share * Math.max(most, falling[0] ?? 0);
  falling.forEach((amount, i) => {
    const next = shareOf(i + 1);
    bound += (next - share) * amount;
    share = next;
  });
  return bound;
}
