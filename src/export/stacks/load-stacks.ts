/** All that a run tells by code: allocations, page faults and sampled accesses. */
import { MrmTraceError } from "../../errors.ts";
import { formatCounted } from "../../units.ts";
import { openExportDatabase } from "../database.ts";
import type { ExportTask } from "../export-format.ts";
import { accessStacks } from "./access-stacks.ts";
import { allocationStacks } from "./allocation-stacks.ts";
import { faultStacks } from "./fault-stacks.ts";
import type { Stack } from "./stack.ts";

/** @throws MrmTraceError usage, where the run tells nothing by code */
export async function loadStacks(task: ExportTask): Promise<Stack[]> {
  const allocations = await allocationStacks(task);
  await using database = await openExportDatabase(task);
  const faults = await faultStacks(database, task);
  const accesses = await accessStacks(database, task);
  const stacks = [...allocations, ...faults, ...accesses.stacks];
  if (stacks.length > 0) return stacks;
  if (accesses.unweighed > 0) {
    throw new MrmTraceError(
      "usage",
      `the run has no allocations and no page faults, and of its ${formatCounted(accesses.unweighed, "sampled access")} nobody knows how many they stand for`,
      "export them one by one: mrm-trace export RUN_DIR --format arrow --table trace",
    );
  }
  throw new MrmTraceError(
    "usage",
    "the run has no allocations, page faults or sampled accesses, which this format is made of",
    "record them, such as: mrm-trace run --collector ebpf,memray -- COMMAND; or choose another --format",
  );
}
