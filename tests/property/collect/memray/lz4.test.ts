import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { bytesOf } from "../../../../src/collect/memray/format/byte-source.ts";
import { decodeLz4Block } from "../../../../src/collect/memray/format/lz4-block.ts";
import { lz4Content } from "../../../../src/collect/memray/format/lz4-frame.ts";

/** A frame of 64 KiB blocks that depend on each other, as memray writes them, around blocks that may be anything. */
function frame(blocks: readonly Uint8Array[]): Uint8Array {
  const descriptor = [0x40, 0x40];
  const check = (Bun.hash.xxHash32(Uint8Array.from(descriptor)) >>> 8) & 255;
  const words = (value: number): number[] => [value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24];
  const body = blocks.flatMap((block) => [...words(block.length), ...block]);
  return Uint8Array.from([0x04, 0x22, 0x4d, 0x18, ...descriptor, check, ...body, 0, 0, 0, 0]);
}

function contentOf(bytes: Uint8Array): { content: number[]; problem: string | null } {
  const source = lz4Content(bytesOf(bytes));
  const content: number[] = [];
  const part = new Uint8Array(1000);
  for (let got = source.read(part, 0); got > 0; got = source.read(part, 0)) content.push(...part.subarray(0, got));
  return { content, problem: source.problem };
}

/** Sequences that are sound: literals, and copies from what is there. */
const sequences = fc.array(
  fc.record({ literals: fc.uint8Array({ maxLength: 40 }), length: fc.integer({ min: 4, max: 90 }), back: fc.nat(200) }),
  { minLength: 1, maxLength: 30 },
);

function encode(parts: readonly { literals: Uint8Array; length: number; back: number }[], before: number[]) {
  const plain = [...before];
  const bytes: number[] = [];
  const extra = (value: number): number[] => (value < 15 ? [] : value - 15 < 255 ? [value - 15] : [255, value - 270]);
  for (const { literals, length, back } of parts) {
    plain.push(...literals);
    const distance = Math.min(plain.length, back + 1);
    if (distance === 0) continue;
    bytes.push((Math.min(15, literals.length) << 4) | Math.min(15, length - 4), ...extra(literals.length), ...literals);
    bytes.push(distance & 255, distance >> 8, ...extra(length - 4));
    for (let i = 0; i < length; i++) plain.push(plain[plain.length - distance] ?? 0);
  }
  bytes.push(0x30, 1, 2, 3);
  plain.push(1, 2, 3);
  return { bytes: Uint8Array.from(bytes), plain };
}

describe("LZ4", () => {
  test("blocks give their literals and copies, also copies out of the block before", () => {
    fc.assert(
      fc.property(sequences, sequences, (first, second) => {
        const one = encode(first, []);
        const two = encode(second, one.plain);
        expect(contentOf(frame([one.bytes, two.bytes]))).toEqual({ content: two.plain, problem: null });
      }),
    );
  });

  test("blocks of any bytes never write outside their room", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(64), fc.nat(128), (bytes, at, room) => {
        const into = new Uint8Array(64 + 128 + 64).fill(7);
        const end = decodeLz4Block(bytes, 0, bytes.length, into, at, at + room);
        expect(end).toBeLessThanOrEqual(at + room);
        expect(into.subarray(at + room).every((byte) => byte === 7)).toBe(true);
        expect(into.subarray(0, at).every((byte) => byte === 7)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test("frames of any bytes, or cut anywhere, end with a problem that names the byte", () => {
    const { bytes } = encode([{ literals: new Uint8Array(30).fill(9), length: 20, back: 3 }], []);
    const good = frame([bytes, bytes, bytes]);
    for (let cut = 1; cut < good.length; cut++) {
      expect(contentOf(good.subarray(0, cut)).problem).toMatch(/at byte \d+/);
    }
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1 }), (damage) => {
        const bad = good.slice();
        for (const [at, value] of damage) bad[at] = value;
        const { problem } = contentOf(bad);
        if (problem !== null) expect(problem).toMatch(/at byte \d+/);
      }),
      { numRuns: 2000 },
    );
  });
});
