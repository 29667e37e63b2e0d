/** The worker's side of encoder.ts: one message in, its files written, one message out. */
import { closeSync, constants, fsyncSync, openSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { writeFileAtomic } from "../../run-directory/atomic-file.ts";
import type { Batch } from "../batch.ts";
import { openParquetWriter, type ParquetWriter } from "../write/parquet-writer.ts";
import type { EncodeJob, EncodeResult, SegmentJob } from "./encoder.ts";
import { arrayBorrower } from "./lent-arrays.ts";

declare const self: Worker;

const borrow = arrayBorrower();

/** What a folder lists is on the disk when this returns. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Puts sealed files in place, in their order; where one cannot be, none is. */
function placeAll(files: readonly { readonly path: string; readonly writer: ParquetWriter }[]): void {
  const placed: string[] = [];
  try {
    for (const { path, writer } of files) {
      writer.place();
      placed.push(path);
    }
  } catch (error) {
    for (const path of placed.toReversed()) unlinkSync(path);
    throw error;
  }
}

/** Writes segments: all of them are on the disk before the first has its name. @returns bytes of each */
function writeSegments(segments: readonly SegmentJob[]): number[] {
  using unfinished = new DisposableStack();
  // First of all: what was sent once will not come again, whatever becomes of these.
  const batches = segments.map(({ batch }) => borrow(batch));
  const files = segments.map(({ path, keyValues }, i) => {
    const batch = batches[i] as Batch;
    const writer = unfinished.use(openParquetWriter(path, batch.table, new Map(keyValues)));
    writer.add(batch);
    return { path, writer };
  });
  const bytes = files.map(({ writer }) => writer.seal());
  placeAll(files);
  // Those of the streams may be new in theirs.
  const folders = files.map(({ path }) => dirname(path));
  for (const folder of new Set([...folders, ...folders.map((folder) => dirname(folder))])) syncFolder(folder);
  return bytes;
}

function write({ segments, text }: EncodeJob): Pick<EncodeResult, "bytes" | "failure"> {
  try {
    const bytes = writeSegments(segments);
    if (text !== null) {
      writeFileAtomic(text.path, text.text);
      syncFolder(dirname(text.path));
    }
    return { bytes, failure: null };
  } catch (error) {
    const cause = error instanceof MrmTraceError ? error.cause : error;
    const errno = (cause as NodeJS.ErrnoException | undefined)?.code ?? null;
    return { bytes: [], failure: { message: error instanceof Error ? error.message : String(error), errno } };
  }
}

self.onmessage = ({ data: job }: MessageEvent<EncodeJob>) => {
  const result: EncodeResult = { id: job.id, ...write(job) };
  self.postMessage(result);
};
