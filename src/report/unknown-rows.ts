/** Rows of the class table that would say the same of every class: that nothing here identifies them, and why. */
import type { DataClass } from "./classes.ts";
import type { SECTIONS } from "./table-order.ts";

export interface UnknownRows {
  readonly metrics: ReadonlySet<string>;
  /** A sentence per reason: `not identifiable (no PMU sampled the accesses): loads, stores`. */
  readonly texts: readonly string[];
}

/** The one reason that all rows of a metric give; null where one is known, or where reasons differ. */
function sharedReason(classes: readonly DataClass[], metric: string): string | null {
  const rows = classes.flatMap((dataClass) => dataClass.metrics.filter((row) => row.metric === metric));
  const [first] = rows;
  if (first === undefined || first.why === null) return null;
  return rows.every(({ status, why }) => status === "not_identifiable" && why === first.why) ? first.why : null;
}

/** The metrics that no class can have for one and the same reason, which a sentence says better than a row of the same words. */
export function unknownRows(classes: readonly DataClass[], sections: typeof SECTIONS): UnknownRows {
  const metrics = new Set<string>();
  const namesOf = new Map<string, string[]>();
  for (const [heading, members] of sections) {
    const unknown = members.flatMap(([metric, label]) => {
      const why = sharedReason(classes, metric);
      return why === null ? [] : [{ metric, label, why }];
    });
    for (const why of new Set(unknown.map((row) => row.why))) {
      const labels = unknown.filter((row) => row.why === why).map(({ label }) => label);
      namesOf.set(why, [...(namesOf.get(why) ?? []), `${heading} ${labels.join(", ")}`]);
    }
    for (const { metric } of unknown) metrics.add(metric);
  }
  return { metrics, texts: [...namesOf].map(([why, names]) => `not identifiable (${why}): ${names.join("; ")}`) };
}
