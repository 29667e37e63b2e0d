import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decodeMmap2 } from "../../../src/kernel/mapping-names.ts";

const LEAST_BYTES = 72 + 24;
const u32 = fc.nat({ max: 0xffffffff });
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });

describe("a MMAP2 record of the side band", () => {
  test("of any bytes never throws, and is refused only where it is too short", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (content) => {
        const mapping = decodeMmap2(new DataView(content.buffer, content.byteOffset, content.byteLength));
        expect(mapping === null).toBe(content.length < LEAST_BYTES);
        if (mapping === null) return;
        expect(mapping.dev).toBeGreaterThanOrEqual(0);
        expect(mapping.path).not.toContain("\0");
        expect(mapping.path.length).toBeLessThanOrEqual(content.length - LEAST_BYTES);
      }),
      { numRuns: 500 },
    );
  });

  test("gives back what the kernel wrote, whatever the name", () => {
    const name = fc.string({ unit: "grapheme", maxLength: 100 }).filter((text) => !text.includes("\0"));
    const ids = fc.tuple(u32, u32, u32, u32);
    const words = fc.tuple(u64, u64, u64, u64, u64);
    const dev = fc.tuple(fc.nat({ max: 0xfff }), fc.nat({ max: 0xfffff }));
    fc.assert(
      fc.property(
        ids,
        words,
        dev,
        name,
        ([pid, tid, prot, flags], [addr, size, offset, inode, time], [major, minor], path) => {
          const text = new TextEncoder().encode(path);
          // The kernel pads the name with at least one NUL to a multiple of 8.
          const pathBytes = Math.ceil((text.length + 1) / 8) * 8;
          const content = new Uint8Array(LEAST_BYTES + pathBytes);
          const view = new DataView(content.buffer);
          for (const [at, value] of [
            [8, pid],
            [12, tid],
            [40, major],
            [44, minor],
            [64, prot],
            [68, flags],
          ] as const) {
            view.setUint32(at, value, true);
          }
          for (const [at, value] of [
            [16, addr],
            [24, size],
            [32, offset],
            [48, inode],
          ] as const) {
            view.setBigUint64(at, value, true);
          }
          content.set(text, 72);
          view.setBigUint64(72 + pathBytes + 8, time, true);
          expect(decodeMmap2(view)).toEqual({
            pid,
            tid,
            prot,
            flags,
            addr,
            size_bytes: size,
            file_offset_bytes: offset,
            inode,
            dev: major * 2 ** 20 + minor,
            path,
            timestamp_ns: time,
          });
        },
      ),
    );
  });
});
