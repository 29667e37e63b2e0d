/** The worker's side of encoder.ts: one message in, one file written, one message out. */
import { MrmTraceError } from "../errors.ts";
import { type Batch, isStringColumn } from "./batch.ts";
import { type EncodeJob, type EncodeResult, transferables } from "./encoder.ts";
import { writeParquetFile } from "./write-parquet.ts";

declare const self: Worker;

/** Garbage of the encoder that may gather before it is collected: keeps the worker's memory flat. */
const COLLECT_AFTER_BYTES = 4 * 2 ** 20;
let garbageBytes = 0;

function write(job: EncodeJob): Pick<EncodeResult, "bytes" | "failure"> {
  try {
    const bytes = writeParquetFile(job.path, job.table, [job.batch], new Map(job.keyValues));
    return { bytes, failure: null };
  } catch (error) {
    const cause = error instanceof MrmTraceError ? error.cause : error;
    const errno = (cause as NodeJS.ErrnoException | undefined)?.code ?? null;
    return { bytes: 0, failure: { message: error instanceof Error ? error.message : String(error), errno } };
  }
}

/** The same arrays; the strings themselves are not worth a copy back. */
function withoutStrings(batch: Batch): Batch {
  const columns = Object.entries(batch.columns).map(([name, column]) => [
    name,
    isStringColumn(column) ? { codes: column.codes, values: [] } : column,
  ]);
  return { ...batch, columns: Object.fromEntries(columns) };
}

self.onmessage = (event: MessageEvent<EncodeJob>) => {
  const job = event.data;
  const done = write(job);
  const batch = withoutStrings(job.batch);
  const result: EncodeResult = { id: job.id, batch, ...done };
  const buffers = transferables(batch);
  garbageBytes += buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0);
  self.postMessage(result, buffers);
  if (garbageBytes < COLLECT_AFTER_BYTES) return;
  garbageBytes = 0;
  Bun.gc(true);
};
