/** What a reader must know of mappings and processes that were not seen as they came and went. */
import { formatCount, formatNs } from "../../../units.ts";
import type { LifecycleSource } from "./lifecycle.ts";
import { otherWaysWarning } from "./other-ways.ts";

export type LifecycleAccount = Pick<LifecycleSource, "found" | "gaps" | "lost" | "unfollowed" | "otherWays">;

export function lifecycleWarnings({ found, gaps, lost, unfollowed, otherWays }: LifecycleAccount): string[] {
  const warnings: string[] = [];
  if (lost() > 0) {
    warnings.push(
      `${formatCount(lost())} records of mappings and processes were lost, in ${gaps.gaps} gaps of ${formatNs(gaps.covered_ns)} together: maps were looked at anew after each, and the watches on those processes ended where it began`,
    );
  }
  const { births, execs, ends } = found;
  if (births + execs + ends > 0) {
    warnings.push(
      `of processes, ${births} births, ${execs} execs and ${ends} ends came to no record and were found by looking at the tree, so their times are late, by up to a second`,
    );
  }
  if (unfollowed.table_full > 0) {
    warnings.push(
      `processes were not followed (${unfollowed.table_full}), nor what they began: more than 16,384 lived at a time`,
    );
  }
  if (unfollowed.of_32_bits > 0) {
    warnings.push(
      `programs of 32 bits ran (${unfollowed.of_32_bits}): their calls are not seen, and their maps are looked at once a second`,
    );
  }
  return [...warnings, ...otherWaysWarning(otherWays())];
}
