/**
 * What PEBS may say of a class. Below its highest precise level it takes its sample from an access that retires some cycles after
 * the one that ran its counter over: a quick access beside a slow one then stands for both, and nothing in the samples tells.
 */
import { type Interval, interval } from "../../statistics/interval.ts";
import type { AccessSums, AnalysisInput } from "../input/input.ts";

export type AccessKind = "loads" | "stores";

export const SHADOW =
  "a PEBS sample may be of an access some cycles after the one that it counts, of another class: watches have no such shadow";

/** True where samples of this kind may stand for accesses to other classes. */
export function isShadowed({ source }: Pick<AccessSums, "source">, kind: AccessKind, input: AnalysisInput): boolean {
  return source === "pebs" && !(input.unshadowed ?? []).includes(kind);
}

/** The samples of a kind that all classes together have, by block: what shadows move from class to class stays within it. */
export function ofAllClasses(one: AccessSums, kind: AccessKind, { accessSums }: AnalysisInput): Float64Array {
  const total = new Float64Array(one[kind].length);
  for (const sum of accessSums) {
    if (sum.source !== one.source || sum.step !== one.step) continue;
    for (let i = 0; i < total.length; i++) total[i] = (total[i] ?? 0) + (sum[kind][i] ?? 0);
  }
  return total;
}

/** All that is known of a class by a rate of all classes: it has no more than that. */
export const atMost = ({ hi }: Interval): Interval => interval(null, null, hi);
