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

/** Accesses of one kind by block, weighted by period, and how many samples they rest on. */
export interface KindSums {
  readonly kind: AccessKind | "accesses";
  readonly accesses: Float64Array;
  readonly rows: number;
}

export function kindSums(sum: AccessSums, kind: AccessKind): KindSums {
  return { kind, accesses: sum[kind], rows: kind === "loads" ? sum.load_rows : sum.store_rows };
}

/** Loads and stores together; what is both counts as both. */
export function bothSums(loads: KindSums, stores: KindSums): KindSums {
  return {
    kind: "accesses",
    accesses: loads.accesses.map((count, i) => count + (stores.accesses[i] ?? 0)),
    rows: loads.rows + stores.rows,
  };
}

/** The samples of a kind that all classes together have: what shadows move from class to class stays within it. */
export function ofAllClasses(one: AccessSums, kind: AccessKind, { accessSums }: AnalysisInput): KindSums {
  const accesses = new Float64Array(one[kind].length);
  let rows = 0;
  for (const sum of accessSums) {
    if (sum.source !== one.source || sum.step !== one.step) continue;
    const part = kindSums(sum, kind);
    for (let i = 0; i < accesses.length; i++) accesses[i] = (accesses[i] ?? 0) + (part.accesses[i] ?? 0);
    rows += part.rows;
  }
  return { kind, accesses, rows };
}

/** All that is known of a class by a rate of all classes: it has no more than that. */
export const atMost = ({ hi }: Interval): Interval => interval(null, null, hi);
