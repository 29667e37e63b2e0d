/** Accesses gathered in memory, in buckets by page: small enough to sort and read within a CPU's own cache. */
import { radixPass, varyingBits } from "../../columnar/keys/radix-pass.ts";
import { twoWords } from "../../columnar/two-words.ts";
import { type AccessColumns, CODE_BITS, classOf } from "./trace-columns.ts";

const WORD = 2 ** 32;
const PAGE_SHIFT = 12;
const BUCKET_BITS = 8;
const BUCKETS = 1 << BUCKET_BITS;
/** Knuth's multiplier. */
const SPREAD = 0x9e3779b1;
const BLOCK_ROWS = 1024;
/** Words of a row: address, low and high; time, low and high with the code above it. */
const ROW_WORDS = 4;
/** Times relative to the first access are below 2^53, so that their high word leaves the code room. */
const CODE_SHIFT = 24;
const CODE_MASK = (1 << CODE_BITS) - 1;
const DIGIT_BITS = 9;
const DIGITS = 1 << DIGIT_BITS;

export interface AccessBuckets {
  add(columns: AccessColumns, first_ns: bigint): void;
  /** Hands over each bucket once, and forgets it; a 4 KiB page lies in one bucket. */
  drain(take: (rows: SortedAccesses) => void): void;
}

/** Rows of a bucket in order of class, address and time; arrays may be longer than `rows`. */
export interface SortedAccesses {
  readonly rows: number;
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  /** ns since the first access of the stream. */
  readonly time_ns: Float64Array;
  readonly code: Uint8Array;
}

interface Unsorted extends SortedAccesses {
  readonly class: Uint32Array;
}

interface SortRoom {
  readonly orders: readonly [Uint32Array, Uint32Array];
  readonly packed: Uint32Array;
}

function room(rows: number): Unsorted {
  return {
    rows,
    low: new Uint32Array(rows),
    high: new Uint32Array(rows),
    time_ns: new Float64Array(rows),
    code: new Uint8Array(rows),
    class: new Uint32Array(rows),
  };
}

const places = new Uint32Array(DIGITS);

/** Where the bits that vary lie: from the lowest of them on. */
interface Field {
  readonly keys: Uint32Array;
  readonly shift: number;
  readonly bits: number;
}

function fieldOf(keys: Uint32Array, rows: number): Field {
  const differ = varyingBits(keys, rows, 1, 0) >>> 0;
  const shift = differ === 0 ? 0 : 31 - Math.clz32(differ & -differ);
  return { keys, shift, bits: 32 - Math.clz32(differ) - shift };
}

/** The fields side by side in one word, the first one lowest; false where they do not fit. */
function pack(fields: readonly [Field, Field, Field], into: Uint32Array, rows: number): boolean {
  const [low, high, kind] = fields;
  const bits = low.bits + high.bits;
  if (bits + kind.bits > 32) return false;
  // A shift by 32 is one by 0: a field without bits must not be shifted to where no bits are left.
  const highAt = low.bits % 32;
  const kindAt = bits % 32;
  const [lowMask, highMask, kindMask] = [maskOf(low), maskOf(high), maskOf(kind)];
  for (let i = 0; i < rows; i++) {
    into[i] =
      (((low.keys[i] as number) >>> low.shift) & lowMask) |
      ((((high.keys[i] as number) >>> high.shift) & highMask) << highAt) |
      ((((kind.keys[i] as number) >>> kind.shift) & kindMask) << kindAt);
  }
  return true;
}

function maskOf({ bits }: Field): number {
  return bits === 0 ? 0 : 0xffffffff >>> (32 - bits);
}

/** Brings rows, given in order of time, into order of class and address. */
function sortInto(sorted: Unsorted, unsorted: Unsorted, rows: number, room: SortRoom): void {
  let [from, target] = room.orders;
  for (let i = 0; i < rows; i++) from[i] = i;
  const fields = [
    fieldOf(unsorted.low, rows),
    fieldOf(unsorted.high, rows),
    fieldOf(unsorted.class, rows),
  ] as const satisfies readonly Field[];
  const bits = fields.reduce((sum, field) => sum + field.bits, 0);
  // The bits that vary seldom exceed a word: fewer passes than one for every digit of every key.
  const keys: readonly Field[] = pack(fields, room.packed, rows) ? [{ keys: room.packed, shift: 0, bits }] : fields;
  for (const field of keys) {
    for (let done = 0; done < field.bits; done += DIGIT_BITS) {
      radixPass(from, target, { words: field.keys, stride: 1, offset: 0, shift: field.shift + done }, rows, places);
      [from, target] = [target, from];
    }
  }
  for (let i = 0; i < rows; i++) {
    const row = from[i] as number;
    sorted.low[i] = unsorted.low[row] as number;
    sorted.high[i] = unsorted.high[row] as number;
    sorted.time_ns[i] = unsorted.time_ns[row] as number;
    sorted.code[i] = unsorted.code[row] as number;
  }
}

/** Empty buckets. Rows must come in order of time. */
export function accessBuckets(): AccessBuckets {
  const blocks: Uint32Array[][] = Array.from({ length: BUCKETS }, () => []);
  const last: Uint32Array[] = Array.from({ length: BUCKETS }, () => new Uint32Array(0));
  /** Rows in the last block of each bucket. */
  const fill = new Uint32Array(BUCKETS).fill(BLOCK_ROWS);

  function unpack(bucket: number, into: Unsorted): void {
    let row = 0;
    const pieces = blocks[bucket] ?? [];
    for (const block of pieces) {
      const rows = block === pieces[pieces.length - 1] ? (fill[bucket] as number) : BLOCK_ROWS;
      for (let i = 0; i < rows; i++, row++) {
        const position = i * ROW_WORDS;
        const packed = block[position + 3] as number;
        const code = packed >>> CODE_SHIFT;
        into.low[row] = block[position] as number;
        into.high[row] = block[position + 1] as number;
        into.time_ns[row] = (block[position + 2] as number) + (packed & ((1 << CODE_SHIFT) - 1)) * WORD;
        into.code[row] = code;
        into.class[row] = classOf(code);
      }
    }
  }

  return {
    add({ rows, address, time_ns, code }, first_ns) {
      const { low: firstLow, high: firstHigh } = twoWords(first_ns);
      for (let i = 0; i < rows; i++) {
        const low = address[2 * i] as number;
        const high = address[2 * i + 1] as number;
        const bucket = Math.imul((low >>> PAGE_SHIFT) ^ Math.imul(high, SPREAD), SPREAD) >>> (32 - BUCKET_BITS);
        let next = fill[bucket] as number;
        if (next === BLOCK_ROWS) {
          const block = new Uint32Array(BLOCK_ROWS * ROW_WORDS);
          blocks[bucket]?.push(block);
          last[bucket] = block;
          next = 0;
        }
        fill[bucket] = next + 1;
        const block = last[bucket] as Uint32Array;
        next *= ROW_WORDS;
        const timeLow = (time_ns[2 * i] as number) - firstLow;
        const borrow = timeLow < 0 ? 1 : 0;
        block[next] = low;
        block[next + 1] = high;
        block[next + 2] = timeLow;
        block[next + 3] =
          (((time_ns[2 * i + 1] as number) - firstHigh - borrow) |
            (((code[i] as number) & CODE_MASK) << CODE_SHIFT)) >>>
          0;
      }
    },
    drain(take) {
      const counts = blocks.map((parts, bucket) =>
        parts.length === 0 ? 0 : (parts.length - 1) * BLOCK_ROWS + (fill[bucket] as number),
      );
      const most = Math.max(...counts);
      const [unsorted, sorted] = [room(most), room(most)];
      const sortRoom: SortRoom = {
        orders: [new Uint32Array(most), new Uint32Array(most)],
        packed: new Uint32Array(most),
      };
      for (const [bucket, rows] of counts.entries()) {
        if (rows === 0) continue;
        unpack(bucket, unsorted);
        blocks[bucket] = [];
        last[bucket] = new Uint32Array(0);
        fill[bucket] = BLOCK_ROWS;
        sortInto(sorted, unsorted, rows, sortRoom);
        take({ ...sorted, rows });
      }
    },
  };
}
