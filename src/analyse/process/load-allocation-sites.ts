/** The places in the program that held most, of an aggregated capture of memray. */
import type { DuckDBValue } from "@duckdb/node-api";
import { withAllocations } from "../../label/capture/allocation-database.ts";
import type { Capture } from "../../label/capture/capture.ts";
import type { AllocationSite } from "../../schema/run-metadata.ts";
import { ALLOCATION_SITES } from "./allocation-sites.ts";

const textOf = (value: DuckDBValue | undefined): string | null =>
  value === null || value === undefined ? null : String(value);

/** The largest of them (`ALLOCATION_SITES`); null where no aggregated capture was recorded. */
export async function loadAllocationSites(capture: Capture): Promise<AllocationSite[] | null> {
  if (capture.segments.allocation_site.length === 0) return null;
  const rows = await withAllocations(capture, (database) => database.rows(ALLOCATION_SITES));
  return rows.map((row) => ({
    pid: Number(row.pid),
    allocator: String(row.allocator),
    function: textOf(row.function),
    file: textOf(row.file),
    line: row.line === null || row.line === undefined ? null : Number(row.line),
    peak_allocations: Number(row.peak_allocations),
    peak_bytes: Number(row.peak_bytes),
    leaked_allocations: Number(row.leaked_allocations),
    leaked_bytes: Number(row.leaked_bytes),
  }));
}
