import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { watchedWord } from "../../../src/config/watched-word.ts";

describe("a word to watch", () => {
  test("is named as perf names it", () => {
    expect(watchedWord("mem:0x404080/8:rw")).toEqual({ addr: 0x404080n, sizeBytes: 8, mode: "rw" });
    expect(watchedWord("mem:0x7FFF00000001/1:w")).toEqual({ addr: 0x7fff00000001n, sizeBytes: 1, mode: "w" });
  });

  test("is none that a register cannot hold: not aligned, of the kernel, of another size or kind", () => {
    const refused = [
      "mem:0x404081/8:rw",
      "mem:0x8000000000000000/8:rw",
      "mem:0x10/3:rw",
      "mem:0x10/8:r",
      "mem:16/8:rw",
    ];
    for (const text of [...refused, "0x10", "mem:0x10", "faults", ""]) expect(watchedWord(text)).toBeNull();
  });

  test("keeps every address of a program that is a multiple of its size", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, (1n << 63n) - 1n), fc.constantFrom(1, 2, 4, 8), (any, sizeBytes) => {
        const addr = any - (any % BigInt(sizeBytes));
        expect(watchedWord(`mem:0x${addr.toString(16)}/${sizeBytes}:rw`)).toEqual({ addr, sizeBytes, mode: "rw" });
      }),
    );
  });

  test("is never made of other text", () => {
    fc.assert(fc.property(fc.string(), (text) => text.startsWith("mem:0x") || watchedWord(text) === null));
  });
});
