/** What says a region in its rows. */
import type { RowOf } from "../../schema/row.ts";
import type { AnalysisInput } from "../input/input.ts";

export type RegionIdentity = Pick<RowOf<"region_metrics">, "region_id" | "name" | "tensor" | "layer">;

/** @param row of the region, from 0 */
export function regionIdentity({ regions }: AnalysisInput, row: number): RegionIdentity {
  const { name = null, tensor = null, layer = null } = regions.facts[regions.what[row] as number] ?? {};
  return { region_id: row + 1, name, tensor, layer };
}
