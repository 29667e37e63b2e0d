/** Small files that somebody else may have made, or put in the place of ours: a pipe is not waited for, and not all is taken. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** Far more than any text of a run has. */
const MOST_BYTES = 2 ** 28;

/**
 * The bytes of a file as it was when it was opened, which is looked at once it is open: nobody can put another in its place.
 * @param most bytes that it may have
 * @throws Error where it is no regular file or larger; as openSync does
 */
export function readRegularFile(path: string, most = MOST_BYTES): Buffer {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const status = fstatSync(fd);
    if (!status.isFile()) throw new Error("it is no regular file");
    if (status.size > most) throw new Error(`its ${status.size} bytes are more than the ${most} that such a file has`);
    const bytes = Buffer.alloc(status.size);
    let done = 0;
    while (done < bytes.length) {
      const got = readSync(fd, bytes, done, bytes.length - done, done);
      if (got === 0) break;
      done += got;
    }
    return bytes.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}

/** Its text. @throws as `readRegularFile` */
export const readRegularText = (path: string, most = MOST_BYTES): string =>
  readRegularFile(path, most).toString("utf8");
