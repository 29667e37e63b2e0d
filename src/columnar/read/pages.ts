/** The pages of one column of one row group. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { CODEC, PAGE } from "../parquet-format.ts";
import type { FileChunk } from "./footer.ts";
import { LARGEST_COLUMN_BYTES, TooLarge } from "./refusal.ts";
import { numberOf, readThrift, structOf, type ThriftStruct } from "./thrift.ts";

const ZSTD_MAGIC = 0xfd2fb528;

/** A page as it lies in the file. */
export interface StoredPage {
  readonly isDictionary: boolean;
  readonly values: number;
  readonly encoding: number;
  readonly codec: number;
  readonly stored: Uint8Array<ArrayBuffer>;
  /** Bytes of its body. */
  readonly length: number;
}

/** A page with its body, which begins with the levels of an optional column. */
export interface Page extends StoredPage {
  readonly body: Uint8Array;
}

/** What a zstd frame says of its length; null where it does not. Source: RFC 8878, 3.1.1.1. */
function frameBytes(frame: Uint8Array): number | null {
  if (frame.length < 18) return null;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (view.getUint32(0, true) !== ZSTD_MAGIC) return null;
  const descriptor = view.getUint8(4);
  const single = (descriptor & 0x20) !== 0;
  const offset = 5 + (single ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  const kind = descriptor >>> 6;
  if (kind === 0) return single ? view.getUint8(offset) : null;
  if (kind === 1) return view.getUint16(offset, true) + 256;
  return kind === 2 ? view.getUint32(offset, true) : Number(view.getBigUint64(offset, true));
}

const [CHECKSUM, RUN_BLOCK, NO_BLOCK] = [4, 1, 3];

/** Where a frame that says its length ends; null where it is cut. Source: RFC 8878, 3.1.1.2. */
function frameEnd(frame: Uint8Array): number | null {
  const descriptor = frame[4] ?? 0;
  const single = (descriptor & 0x20) !== 0;
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >>> 6] ?? 0;
  let offset = 5 + (single ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0) + sizeBytes;
  for (let isLast = false; !isLast; ) {
    if (offset + 3 > frame.length) return null;
    const head =
      (frame[offset] as number) | ((frame[offset + 1] as number) << 8) | ((frame[offset + 2] as number) << 16);
    const type = (head >>> 1) & 3;
    if (type === NO_BLOCK) return null;
    isLast = (head & 1) === 1;
    offset += 3 + (type === RUN_BLOCK ? 1 : head >>> 3);
  }
  return offset + ((descriptor & CHECKSUM) === 0 ? 0 : 4);
}

/**
 * True where the faster way may be taken: it takes all the memory that frames ask for, those behind the first too, of which the page
 * says nothing.
 */
const isHonest = ({ codec, stored, length }: StoredPage): boolean =>
  codec === CODEC.ZSTD && frameBytes(stored) === length && frameEnd(stored) === stored.length;

/** What takes no more memory than a page says that it needs. */
const BOUNDED: Readonly<Record<number, typeof zstdDecompressSync>> = {
  [CODEC.GZIP]: gunzipSync,
  [CODEC.BROTLI]: brotliDecompressSync,
  [CODEC.ZSTD]: zstdDecompressSync,
};

function slowly({ codec, stored, length }: StoredPage): Uint8Array {
  if (codec === CODEC.UNCOMPRESSED) return stored;
  const unpack = BOUNDED[codec];
  if (unpack === undefined) throw new Error(`codec ${codec}`);
  try {
    return unpack(stored, { maxOutputLength: Math.max(1, length) });
  } catch (cause) {
    const isOver = cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    throw isOver ? new TooLarge(`a page unpacks to more than the ${length} bytes that it says`, { cause }) : cause;
  }
}

function whole(page: StoredPage, body: Uint8Array): Page {
  if (body.length !== page.length) throw new Error("a page has not the length that it says");
  return { ...page, body };
}

/** The page with its body. @throws TooLarge where it unpacks to more than it says; Error where it cannot be decompressed */
export function unpackPage(page: StoredPage): Page {
  return whole(page, isHonest(page) ? Bun.zstdDecompressSync(page.stored) : slowly(page));
}

/** The same on another thread. */
export async function unpackAside(page: StoredPage): Promise<Page> {
  return whole(page, isHonest(page) ? await Bun.zstdDecompress(page.stored) : slowly(page));
}

/**
 * The pages of a chunk in their order.
 * @param bytes of the chunk alone; the pages lie in them
 * @throws TooLarge where they unpack to more than a column has; Error where they are no pages, or of a kind that is not decoded here
 */
export function storedPages(bytes: Uint8Array<ArrayBuffer>, { codec }: FileChunk): StoredPage[] {
  const pages: StoredPage[] = [];
  let unpacked = 0;
  for (let offset = 0; offset < bytes.length; ) {
    const { struct, end } = readThrift(bytes, offset);
    const type = numberOf(struct, 1);
    const length = numberOf(struct, 2) ?? -1;
    const size = numberOf(struct, 3) ?? -1;
    if (length < 0 || size < 0 || size > bytes.length - end) {
      throw new Error("a page is longer than its column");
    }
    unpacked += length;
    if (unpacked > LARGEST_COLUMN_BYTES)
      throw new TooLarge(`a column unpacks to more than ${LARGEST_COLUMN_BYTES} bytes`);
    offset = end + size;
    if (type === PAGE.INDEX) continue;
    if (type !== PAGE.DATA && type !== PAGE.DICTIONARY) throw new Error(`a page of kind ${type}`);
    const isDictionary = type === PAGE.DICTIONARY;
    const header: ThriftStruct = structOf(struct, isDictionary ? 7 : 5) ?? new Map();
    const values = numberOf(header, 1) ?? -1;
    const encoding = numberOf(header, 2) ?? -1;
    if (values < 0) throw new Error("a page does not say how many values it has");
    pages.push({ isDictionary, values, encoding, codec, stored: bytes.subarray(end, offset), length });
  }
  return pages;
}
