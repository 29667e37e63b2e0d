import { expect, test } from "bun:test";
import fc from "fast-check";
import { packValidity, unpackValidity } from "../../../src/columnar/bits.ts";

test("bytes packed to bits and unpacked are 1 where they were not 0, whatever their alignment", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(7), (bytes, skip) => {
      const view = bytes.subarray(Math.min(skip, bytes.length));
      const { bits, zeros } = packValidity(view, view.length);
      const expected = Array.from(view, (byte) => (byte === 0 ? 0 : 1));
      expect(Array.from(unpackValidity(bits, 0, view.length))).toEqual(expected);
      expect(zeros).toBe(expected.filter((bit) => bit === 0).length);
    }),
  );
});

test("bits are unpacked from any offset", () => {
  const { bits } = packValidity(Uint8Array.of(1, 0, 0, 1, 1, 0, 1, 0, 1, 1), 10);
  expect(Array.from(unpackValidity(bits, 3, 6))).toEqual([1, 1, 0, 1, 0, 1]);
});
