/** request_figures.parquet, and what it says in sum; or why nothing can be said of requests. */
import { rmSync } from "node:fs";
import { batchFromRows } from "../../columnar/rows.ts";
import { writeParquetFile } from "../../columnar/write/parquet-writer.ts";
import { readStreamRows } from "../../label/capture/stream-rows.ts";
import type { Labelled } from "../../label/label-run.ts";
import { isBatch } from "../../label/timeline/step-row.ts";
import { runPaths } from "../../run-directory/run-directory.ts";
import type { RequestSummary } from "../../schema/run-json.ts";
import type { Database } from "../../sql/database.ts";
import { engineRequests } from "./engine-requests.ts";
import { withFitted } from "./fitting-sequence.ts";
import { heldBytes, type Moment } from "./held-bytes.ts";
import { joinedRequests } from "./join-requests.ts";
import { requestBatches } from "./request-batches.ts";
import { heldTokens, type RequestFigure, requestFigure, UNKNOWN_ROWS } from "./request-figures.ts";
import { namedSummary, notOurs, summaryOf, waitedInVain } from "./request-summary.ts";
import { servedRequests, withRetention } from "./request-writers.ts";
import { decodingPid, type RequestBatches, type RequestRow } from "./sequence-batches.ts";

/** When the last batch of each request began, of which that was seen. */
function lastBatches(
  requests: readonly RequestRow[],
  batches: readonly (RequestBatches | null)[],
  pid: number | null,
): Moment[] {
  return requests.flatMap((request, i) => {
    const { request_id: id, sequence_id: sequence } = request;
    const last_ns = batches[i]?.last_ns ?? null;
    if (last_ns === null || sequence === null || pid === null) return [];
    return [{ id, pid, sequence, tokens: heldTokens(request), time_ns: last_ns }];
  });
}

/** What is known of requests of our client, in the order of their numbers, and behind them of those of others that the engine names. */
export function figuresOfRequests(
  rows: readonly RequestRow[],
  { steps, kvRows, origin_ns }: Pick<Labelled, "steps" | "kvRows" | "origin_ns">,
): RequestFigure[] {
  const batches = requestBatches(rows, steps, origin_ns);
  const fitted = rows.map((row, i) => withFitted(row, batches[i] ?? null));
  const held = heldBytes(kvRows, lastBatches(fitted, batches, decodingPid(steps)));
  const whyNoRows = (kvRows.has_no_room ? kvRows.untold : null) ?? UNKNOWN_ROWS;
  const ours = rows.map((row, i) => ({
    row,
    figure: requestFigure(row, batches[i] ?? null, origin_ns, held.get(row.request_id) ?? null, whyNoRows),
  }));
  const figures = joinedRequests(ours, engineRequests(steps, kvRows.tensors, origin_ns).figures, whyNoRows);
  return withRetention(figures, kvRows, servedRequests(fitted, batches), decodingPid(steps));
}

/**
 * Writes the figures of requests where the client was ours, or the engine names them, and removes what is there where neither is so.
 * @returns their sum; null where there was neither such a client nor an engine that decoded
 * @throws MrmTraceError failure where the file cannot be written
 */
export async function deriveRequests(
  database: Database,
  runDir: string,
  labelled: Pick<Labelled, "capture" | "steps" | "kvRows" | "origin_ns">,
): Promise<RequestSummary | null> {
  const { capture, steps, kvRows, origin_ns } = labelled;
  const path = runPaths(runDir).request_figures;
  const { rows } = await readStreamRows(database, capture, "request");
  if (rows.length === 0) {
    const { figures, ...beside } = engineRequests(steps, kvRows.tensors, origin_ns);
    if (figures.length > 0) {
      const named = withRetention(figures, kvRows, new Map(), null);
      writeParquetFile(path, "request_figures", [batchFromRows("request_figures", named)]);
      return namedSummary(named, beside);
    }
    rmSync(path, { force: true });
    return steps.some(isBatch) ? notOurs() : null;
  }
  rows.sort((left, right) => left.request_id - right.request_id);
  const figures = figuresOfRequests(rows, labelled);
  writeParquetFile(path, "request_figures", [batchFromRows("request_figures", figures)]);
  return summaryOf(figures, waitedInVain(rows));
}
