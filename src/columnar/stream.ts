/** The rows of a stream in a run directory, segment by segment; what cannot be read is counted, never fatal. */
import { MrmTraceError } from "../errors.ts";
import { listSegments } from "../run-directory/segment-files.ts";
import type { TableName } from "../schema/columns.ts";
import type { Batch } from "./batch.ts";
import { readParquetFile } from "./parquet.ts";

/** The batches of a stream, and what could not be read of it. */
export interface StreamReader extends Iterable<Batch> {
  readonly segments: number;
  /** Segments skipped so far, each with the reason. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * One batch per segment, in order, each read when it is asked for; no batches where the run has no such stream.
 *
 * @throws MrmTraceError environment, while iterating, at a segment of another major schema version
 */
export function readStream(runDir: string, table: TableName): StreamReader {
  const segments = listSegments(runDir, table);
  const unreadable: { path: string; reason: string }[] = [];
  return {
    segments: segments.length,
    unreadable,
    *[Symbol.iterator]() {
      unreadable.length = 0;
      for (const { path } of segments) {
        const batch = readSegment(path, table);
        if (typeof batch === "string") unreadable.push({ path, reason: batch });
        else yield batch;
      }
    },
  };
}

function readSegment(path: string, table: TableName): Batch | string {
  try {
    const batch = readParquetFile(path);
    return batch.table === table ? batch : `it holds rows of ${batch.table}`;
  } catch (error) {
    if (error instanceof MrmTraceError && error.code === "data_quality") return error.message;
    throw error;
  }
}
