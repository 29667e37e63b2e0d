/** Watches of which a trap was lost: nothing is told by them, and they are those that had most to tell. */
import { lostPct } from "../../schema/loss.ts";
import type { AnalysisInput } from "../input/input.ts";

/**
 * Share of the watches, or of their traps where that is more, that was lost, in [0, 1); 0 where no trap was. A run in which it is more than a hundredth of
 * the traps has no figures. Watches are numbered as they are armed, and those of which a trap was lost have no row; those that were left have one.
 */
export function lostShare({
  ledger,
  watches,
  left_watches: left = [],
}: Pick<AnalysisInput, "ledger" | "watches" | "left_watches">): number {
  const traps = (lostPct(ledger, "watch") ?? 0) / 100;
  if (!(traps > 0) || traps >= 1) return 0;
  const lastOf = (some: readonly { readonly watch_id: number }[]): number =>
    some.reduce((last, { watch_id }) => Math.max(last, watch_id), 0);
  const armed = Math.max(lastOf(watches), lastOf(left));
  const count = watches.length + left.length;
  return Math.max(traps, armed > count ? 1 - count / armed : 0);
}

/** What such watches may have seen, over all that was seen: they may be those that see most or least. */
export const lostOver = (lost: number): number => lost / (1 - lost);
