/** The small tables that the labelled rows are joined with: regions, slots of time, instructions. */
import type { CodeName } from "./code-map.ts";
import type { Database } from "./database.ts";
import { appendColumns } from "./derived-file.ts";
import { slotList } from "./label-functions.ts";
import type { Timeline } from "./phase.ts";
import type { Region } from "./region-map.ts";

/** Creates and fills `label_regions`, `label_slots` and `label_codes`; number 0 is what no region or engine claims. */
export async function createLabelTables(
  database: Database,
  regions: readonly Region[],
  timeline: Timeline,
  code: readonly CodeName[],
): Promise<void> {
  await database.run(
    "CREATE TABLE label_regions (place UINTEGER, region_id UINTEGER, region_type VARCHAR, logical_id VARCHAR, tensor VARCHAR, confidence FLOAT)",
  );
  await appendColumns(database, "label_regions", [
    [0, ...regions.map((_, index) => index + 1)],
    [0, ...regions.map((region) => region.region_id)],
    ["unknown", ...regions.map((region) => region.region_type)],
    [null, ...regions.map((region) => region.logical_id)],
    [null, ...regions.map((region) => region.tensor)],
    [0, ...regions.map((region) => region.confidence)],
  ]);
  const { slots } = slotList(timeline);
  await database.run(
    "CREATE TABLE label_slots (slot UINTEGER, phase VARCHAR, step VARCHAR, token_index UINTEGER, context_tokens UINTEGER)",
  );
  await appendColumns(database, "label_slots", [
    [0, ...slots.map((_, index) => index + 1)],
    [null, ...slots.map((slot) => slot.phase)],
    [null, ...slots.map((slot) => slot.step)],
    [null, ...slots.map((slot) => slot.token_index)],
    [null, ...slots.map((slot) => slot.context_tokens)],
  ]);
  await database.run("CREATE TABLE label_codes (code UINTEGER, dso VARCHAR, symbol VARCHAR)");
  await appendColumns(database, "label_codes", [
    [0, ...code.map((_, index) => index + 1)],
    ["", ...code.map((name) => name.dso)],
    ["", ...code.map((name) => name.symbol)],
  ]);
}
