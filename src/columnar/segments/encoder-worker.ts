/** The worker's side of encoder.ts: one message in, one file written, one message out. */
import { MrmTraceError } from "../../errors.ts";
import { writeParquetFile } from "../write/parquet-writer.ts";
import type { EncodeJob, EncodeResult } from "./encoder.ts";
import { arrayBorrower } from "./lent-arrays.ts";

declare const self: Worker;

const borrow = arrayBorrower();

function write(job: EncodeJob): Pick<EncodeResult, "bytes" | "failure"> {
  try {
    const batch = borrow(job.batch);
    const bytes = writeParquetFile(job.path, batch.table, [batch], new Map(job.keyValues));
    return { bytes, failure: null };
  } catch (error) {
    const cause = error instanceof MrmTraceError ? error.cause : error;
    const errno = (cause as NodeJS.ErrnoException | undefined)?.code ?? null;
    return { bytes: 0, failure: { message: error instanceof Error ? error.message : String(error), errno } };
  }
}

self.onmessage = ({ data: job }: MessageEvent<EncodeJob>) => {
  const result: EncodeResult = { id: job.id, ...write(job) };
  self.postMessage(result);
};
