/** Allocations as the metrics read them: lifetimes in bins, and the totals that were counted while reading. */
import type { DuckDBValue } from "@duckdb/node-api";
import { withAllocations } from "../../label/capture/allocation-database.ts";
import type { Capture } from "../../label/capture/capture.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { AllocationLives, AllocationSample } from "../input/input.ts";
import { ALLOCATION_LIVES } from "./allocation-lives.ts";
import { ALLOCATION_TOTALS } from "./allocation-totals.ts";

type Row = Record<string, DuckDBValue>;

/** Name of all functions together, as in the stream. */
const ALL = "all";
/** mapping_kind of what memray saw. */
const KIND = "allocation";

function livesOf(rows: readonly Row[]): AllocationLives {
  const column = (name: string): Float64Array => Float64Array.from(rows, (row) => Number(row[name]));
  return {
    n: column("n"),
    bytes: column("bytes"),
    middle_ns: column("middle_ns"),
    least_ns: column("least_ns"),
    most_ns: column("most_ns"),
    ended: Uint8Array.from(rows, (row) => Number(row.ended)),
  };
}

const numberOf = (value: DuckDBValue | undefined): number | null =>
  value === null || value === undefined ? null : Number(value);

/** True where a capture was not read to the writer's last record, or not at all: how much is missing is not known. */
function isCut(ledger: readonly LedgerRow[]): boolean {
  return ledger.some(({ source, stage, unseen_estimate }) => {
    return source === "allocation" && stage === "decode" && unseen_estimate !== 0;
  });
}

/**
 * One sample for all allocations of the run and one for each function; none where there are no allocations.
 * @param ledger says whether the captures are whole
 */
export async function loadAllocations(capture: Capture, ledger: readonly LedgerRow[]): Promise<AllocationSample[]> {
  const { allocation, allocation_total } = capture.segments;
  if (allocation.length === 0 && allocation_total.length === 0) return [];
  const [totals, lives] = await withAllocations(capture, async (database) => [
    await database.rows(ALLOCATION_TOTALS),
    await database.rows(ALLOCATION_LIVES),
  ]);
  const functions = new Set([...totals, ...lives].map((row) => String(row.allocator)));
  functions.delete(ALL);
  if (functions.size === 0 && totals.length === 0) return [];
  return [ALL, ...[...functions].sort()].map((name) => {
    const row = totals.find(({ allocator }) => allocator === name);
    const chosenLives = name === ALL ? lives : lives.filter(({ allocator }) => allocator === name);
    return {
      mapping_kind: name === ALL ? KIND : `${KIND}/${name}`,
      is_part: name !== ALL,
      lives: livesOf(chosenLives),
      processes: Number(row?.processes ?? 0),
      allocations: numberOf(row?.allocations),
      allocated_bytes: numberOf(row?.allocated_bytes),
      highest_peak_bytes: numberOf(row?.highest_peak_bytes),
      peaks_bytes: numberOf(row?.peaks_bytes),
      is_cut: isCut(ledger),
    };
  });
}
