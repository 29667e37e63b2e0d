import { type Pointer, toArrayBuffer } from "bun:ffi";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { addressOf, stableBytes } from "../../../src/kernel/foreign-memory.ts";

const BYTES = 128;

/** Addresses of four blocks that nothing in this program refers to any more. */
function addresses(): Pointer[] {
  return Array.from({ length: 4 }, () => addressOf(stableBytes(BYTES).fill(0xa5)));
}

test("memory whose address was given out is not freed by a collection before the call that takes it", () => {
  for (let round = 0; round < 20; round++) {
    const given = addresses();
    Bun.gc(true);
    const others = Array.from({ length: 2000 }, () => new Uint8Array(new ArrayBuffer(BYTES)).fill(round));
    for (const address of given) {
      expect(new Uint8Array(toArrayBuffer(address, 0, BYTES)).every((byte) => byte === 0xa5)).toBe(true);
    }
    expect(others.length).toBe(2000);
  }
});

test("no other file takes an address, whose memory could be freed before its call", async () => {
  const source = join(import.meta.dir, "../../../src");
  const takers: string[] = [];
  for (const file of new Glob("**/*.ts").scanSync(source)) {
    const text = await Bun.file(join(source, file)).text();
    if (/import \{[^}]*\bptr\b[^}]*\} from "bun:ffi"/.test(text)) takers.push(file);
  }
  expect(takers).toEqual(["kernel/foreign-memory.ts"]);
});
