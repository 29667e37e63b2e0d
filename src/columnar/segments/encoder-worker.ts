/** The worker's side of encoder.ts: one message in, its files written, one message out. */
import { closeSync, constants, fsyncSync, openSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { MrmTraceError } from "../../errors.ts";
import { PARTIAL } from "../../run-directory/atomic-file.ts";
import type { Batch } from "../batch.ts";
import { openParquetWriter } from "../write/parquet-writer.ts";
import type { EncodeJob, EncodeResult, NoteText } from "./encoder.ts";
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

/** A file on the disk that has not got its name. */
interface Sealed {
  readonly path: string;
  place(): void;
}

function sealedNote({ path, text }: NoteText): Sealed {
  const partial = `${path}${PARTIAL}`;
  const fd = openSync(partial, "w", 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return { path, place: () => renameSync(partial, path) };
}

/** Puts files in place, in their order; where one cannot be, none is. */
function placeAll(files: readonly Sealed[]): void {
  const placed: string[] = [];
  try {
    for (const file of files) {
      file.place();
      placed.push(file.path);
    }
  } catch (error) {
    for (const path of placed.toReversed()) unlinkSync(path);
    throw error;
  }
}

/** Writes the files of a job: all are on the disk before the first has its name. @returns bytes of each segment */
function writeAll({ segments, note }: EncodeJob): number[] {
  using unfinished = new DisposableStack();
  // First of all: what was sent once will not come again, whatever becomes of these.
  const batches = segments.map(({ batch }) => borrow(batch));
  const writers = segments.map(({ path, keyValues }, i) => {
    const batch = batches[i] as Batch;
    const writer = unfinished.use(openParquetWriter(path, batch.table, new Map(keyValues)));
    writer.add(batch);
    return { path, seal: () => writer.seal(), place: () => writer.place() };
  });
  const bytes = writers.map((writer) => writer.seal());
  // The note comes last: what it tells of is there.
  const files: Sealed[] = note === null ? writers : [...writers, sealedNote(note)];
  placeAll(files);
  // Folders of streams may be new in theirs.
  const folders = files.map(({ path }) => dirname(path));
  for (const folder of new Set([...folders, ...folders.map((one) => dirname(one))])) syncFolder(folder);
  return bytes;
}

function write(job: EncodeJob): Pick<EncodeResult, "bytes" | "failure"> {
  try {
    return { bytes: writeAll(job), failure: null };
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
