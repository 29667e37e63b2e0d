/** Compressed records: one zstd stream over all of them, unpacked record by record in bounded memory. */
import { createZstdDecompress } from "node:zlib";

export interface Unpacker extends Disposable {
  /**
   * Unpacks one payload, calling `take` with pieces of it in order.
   * @returns what is wrong with it, or null
   */
  unpack(payload: Uint8Array, take: (piece: Uint8Array) => void): Promise<string | null>;
}

/** @param limitBytes what one payload may unpack to: a few hostile bytes can claim gigabytes */
export function createUnpacker(limitBytes: number): Unpacker {
  const stream = createZstdDecompress({ chunkSize: 1 << 18 });
  let failure: string | null = null;
  let take: (piece: Uint8Array) => void = () => {};
  let unpacked = 0;
  let settle: () => void = () => {};
  stream.on("data", (piece: Buffer) => {
    unpacked += piece.length;
    if (unpacked <= limitBytes) take(piece);
    else {
      failure ??= `a compressed record unpacks to more than ${limitBytes} bytes`;
      stream.destroy();
      settle();
    }
  });
  stream.on("error", (error) => {
    failure ??= error.message;
    settle();
  });
  return {
    async unpack(payload, write) {
      if (failure !== null) return failure;
      take = write;
      unpacked = 0;
      await new Promise<void>((done) => {
        settle = done;
        stream.write(payload, () => done());
      });
      return failure;
    },
    [Symbol.dispose]() {
      stream.destroy();
    },
  };
}
