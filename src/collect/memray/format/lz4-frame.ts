/**
 * LZ4 frames as a stream: a window of 64 KiB behind the block being decoded is all that is held
 * (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md).
 *
 * Checksums of the descriptor and of blocks are verified; the one of the whole content is read over.
 */
import type { ByteSource } from "./byte-source.ts";
import { decodeLz4Block } from "./lz4-block.ts";

export const LZ4_MAGIC = 0x184d2204;
const SKIPPABLE = 0x184d2a50;
const WINDOW_BYTES = 1 << 16;
const BLOCK_BYTES: Readonly<Record<number, number>> = { 4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22 };
const INPUT_BYTES = 1 << 18;

interface Frame {
  readonly blockBytes: number;
  readonly independent: boolean;
  readonly blockChecksums: boolean;
  readonly contentChecksum: boolean;
}

/** The content of the frames of `compressed`, one after the other; damage ends it with a `problem` that names the byte. */
export function lz4Content(compressed: ByteSource): ByteSource {
  const input = { bytes: new Uint8Array(INPUT_BYTES), at: 0, end: 0, before: 0 };
  let output = new Uint8Array(0);
  /** Decoded and not given out yet: `given .. decoded-1`; the window is in front of it. */
  let given = 0;
  let decoded = 0;
  let windowFrom = 0;
  let frame: Frame | null = null;
  let done = false;
  let problem: string | null = null;

  const fail = (what: string): false => {
    problem = compressed.problem ?? `${what} at byte ${input.before + input.at} of the compressed file`;
    done = true;
    return false;
  };

  /** True when `length` bytes stand at input.at. */
  function need(length: number): boolean {
    if (input.end - input.at >= length) return true;
    input.bytes.copyWithin(0, input.at, input.end);
    input.before += input.at;
    input.end -= input.at;
    input.at = 0;
    if (length > input.bytes.length) {
      const larger = new Uint8Array(length + INPUT_BYTES);
      larger.set(input.bytes.subarray(0, input.end));
      input.bytes = larger;
    }
    while (input.end < length) {
      const got = compressed.read(input.bytes, input.end);
      if (got === 0) return false;
      input.end += got;
    }
    return true;
  }

  function word(): number {
    const { bytes, at: start } = input;
    input.at += 4;
    return (
      ((bytes[start] ?? 0) |
        ((bytes[start + 1] ?? 0) << 8) |
        ((bytes[start + 2] ?? 0) << 16) |
        ((bytes[start + 3] ?? 0) << 24)) >>>
      0
    );
  }

  function skip(length: number): boolean {
    let left = length;
    while (left > 0) {
      if (!need(1)) return fail("cut inside a skippable frame");
      const step = Math.min(left, input.end - input.at);
      input.at += step;
      left -= step;
    }
    return true;
  }

  function begin(): boolean {
    for (;;) {
      if (!need(4)) {
        if (input.end > input.at || compressed.problem !== null) return fail("cut inside the magic of a frame");
        done = true;
        return false;
      }
      const magic = word();
      if (magic === LZ4_MAGIC) return describe();
      if (magic >>> 4 !== SKIPPABLE >>> 4) return fail("no LZ4 frame");
      if (!need(4)) return fail("cut inside a skippable frame");
      if (!skip(word())) return false;
    }
  }

  function describe(): boolean {
    if (!need(3)) return fail("cut inside the header of a frame");
    const { bytes, at: start } = input;
    const flags = bytes[start] ?? 0;
    const blockBytes = BLOCK_BYTES[((bytes[start + 1] ?? 0) >>> 4) & 7];
    const length = 2 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0);
    if (flags >>> 6 !== 1 || blockBytes === undefined) return fail("a frame of an unknown version or block size");
    if (flags & 1) return fail("a frame that needs a dictionary");
    if (!need(length + 1)) return fail("cut inside the header of a frame");
    const descriptor = input.bytes.subarray(input.at, input.at + length);
    if (((Bun.hash.xxHash32(descriptor) >>> 8) & 255) !== input.bytes[input.at + length]) {
      return fail("a wrong checksum of a frame's header");
    }
    input.at += length + 1;
    frame = {
      blockBytes,
      independent: (flags & 32) !== 0,
      blockChecksums: (flags & 16) !== 0,
      contentChecksum: (flags & 4) !== 0,
    };
    if (output.length < WINDOW_BYTES + 2 * blockBytes) output = new Uint8Array(WINDOW_BYTES + 2 * blockBytes);
    given = 0;
    decoded = 0;
    windowFrom = 0;
    return true;
  }

  /** Makes room for one more block, keeping the window; called when all that was decoded is given out. */
  function makeRoom(blockBytes: number): void {
    if (decoded + blockBytes <= output.length) return;
    const keep = Math.min(WINDOW_BYTES, decoded);
    output.copyWithin(0, decoded - keep, decoded);
    decoded = keep;
    given = keep;
    windowFrom = 0;
  }

  /** Decodes the next block; false at the end. */
  function block({ blockBytes, independent, blockChecksums, contentChecksum }: Frame): boolean {
    if (!need(4)) return fail("cut between blocks");
    const header = word();
    if (header === 0) {
      frame = null;
      if (contentChecksum && !need(4)) return fail("cut inside the checksum of the content");
      if (contentChecksum) input.at += 4;
      return true;
    }
    const length = header & 0x7fffffff;
    if (length > blockBytes) return fail(`a block of ${length} bytes`);
    if (!need(length + (blockChecksums ? 4 : 0))) return fail("cut inside a block");
    makeRoom(blockBytes);
    const { bytes, at: start } = input;
    if (header >>> 31 === 1) {
      output.set(bytes.subarray(start, start + length), decoded);
      decoded += length;
    } else {
      if (independent) windowFrom = decoded;
      const into = windowFrom === 0 ? output : output.subarray(windowFrom);
      const shift = windowFrom;
      const after = decodeLz4Block(bytes, start, start + length, into, decoded - shift, decoded - shift + blockBytes);
      if (after < 0) return fail("a damaged block");
      decoded = after + shift;
    }
    input.at += length;
    if (blockChecksums && word() !== Bun.hash.xxHash32(bytes.subarray(start, start + length))) {
      return fail("a wrong checksum of a block");
    }
    return true;
  }

  return {
    get problem() {
      return problem;
    },
    read(into, position) {
      while (given === decoded && !done) {
        if (frame === null ? !begin() : !block(frame)) break;
      }
      const length = Math.min(decoded - given, into.length - position);
      into.set(output.subarray(given, given + length), position);
      given += length;
      return length;
    },
  };
}
