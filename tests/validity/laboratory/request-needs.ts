/** How long what a request wrote into the cache was needed, by the log of its server. */
import { firstIndex } from "../../../src/statistics/first-index.ts";
import type { ServerLog, ServerRequest } from "./server-log.ts";

/** Median and longest, over the rows that its batches wrote, from the begin of the batch that wrote one to that of the last that needed it. */
export interface RequestNeeds {
  readonly p50_ns: bigint;
  readonly max_ns: bigint;
}

/**
 * Null where it wrote nothing.
 * @param beginOf when a batch of the log began, by the tracer
 */
export function requestNeeds(
  { rows, batches }: Pick<ServerLog, "rows" | "batches">,
  { slot, first_batch, end_batch }: ServerRequest,
  beginOf: (batch: number) => bigint,
): RequestNeeds | null {
  const begins = batches.map(({ begin_ns }) => begin_ns);
  const batchAt = (begin_ns: number): number =>
    firstIndex(begins.length, (i) => (begins[i] ?? Number.POSITIVE_INFINITY) < begin_ns);
  const needs = rows.flatMap((row) => {
    const writer = batchAt(row.written[0]);
    if (row.slot !== slot || row.isRestored || writer < first_batch || writer >= (end_batch ?? begins.length))
      return [];
    return [row.needed === null ? 0n : beginOf(batchAt(row.needed[0])) - beginOf(writer)];
  });
  needs.sort((one, other) => Number(one - other));
  const [middle, last] = [needs[Math.ceil(needs.length / 2) - 1], needs.at(-1)];
  return middle === undefined || last === undefined ? null : { p50_ns: middle, max_ns: last };
}
