/** A Parquet file as its bytes lie on disk: the footer, and the bytes of one column of one row group at a time. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { type FileChunk, type FileFooter, footerBytes, readFooter, TAIL_BYTES } from "./footer.ts";
import { LARGEST_COLUMN_BYTES, TooLarge } from "./refusal.ts";

/** Beyond it no footer is one of ours, or of anybody's who wants it read. */
const LARGEST_FOOTER_BYTES = 2 ** 26;

export interface ParquetSource extends Disposable {
  readonly footer: FileFooter;
  /**
   * The bytes of a chunk, at the start of `room` where that is large enough, else in memory of their own.
   * @throws TooLarge where it claims more than a column has; Error where the file has become shorter
   */
  bytes(chunk: FileChunk, room?: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>;
}

function readAll(fd: number, into: Uint8Array, from: number): void {
  for (let done = 0; done < into.length; ) {
    const read = readSync(fd, into, done, into.length - done, from + done);
    if (read === 0) throw new Error("it ends before what its footer names");
    done += read;
  }
}

/** @throws Error where the file is missing, is no Parquet file, or has columns that are not decoded here */
export function openParquetSource(path: string): ParquetSource {
  // A pipe in its place is not waited for.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(fd);
    if (!status.isFile()) throw new Error("it is no regular file");
    const { size } = status;
    if (size < TAIL_BYTES) throw new Error("it is too short");
    const tail = new Uint8Array(TAIL_BYTES);
    readAll(fd, tail, size - TAIL_BYTES);
    const length = footerBytes(tail);
    if (length > Math.min(LARGEST_FOOTER_BYTES, size - TAIL_BYTES)) throw new Error("its footer is longer than it is");
    const bytes = new Uint8Array(length);
    readAll(fd, bytes, size - TAIL_BYTES - length);
    const footer = readFooter(bytes, size);
    return {
      footer,
      bytes(chunk, room) {
        if (chunk.bytes > LARGEST_COLUMN_BYTES) throw new TooLarge(`a column of ${chunk.bytes} bytes`);
        const into = room && room.length >= chunk.bytes ? room.subarray(0, chunk.bytes) : new Uint8Array(chunk.bytes);
        readAll(fd, into, chunk.at);
        return into;
      },
      [Symbol.dispose]: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
