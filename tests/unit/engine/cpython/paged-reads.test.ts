import { expect, test } from "bun:test";
import { pagedReads } from "../../../../src/engine/cpython/paged-reads.ts";

test("what lies on one page, or across two, is read as it is there, and each page once", () => {
  const memory = Uint8Array.from({ length: 3 * 4096 }, (_, i) => i % 251);
  const asked: bigint[] = [];
  const read = pagedReads((address, length) => {
    asked.push(address);
    const from = Number(address) - 4096;
    return from >= 0 && from + length <= memory.length ? memory.slice(from, from + length) : null;
  });
  const bytes = (address: number, length: number) => read(BigInt(address), length);
  expect(bytes(4096, 8)).toEqual(memory.slice(0, 8));
  expect(bytes(8188, 8)).toEqual(memory.slice(4092, 4100));
  expect(bytes(8192 + 100, 4096)).toEqual(memory.slice(4196, 8292));
  expect(asked).toEqual([4096n, 8192n, 12288n]);
  // More than a page is asked for as it is.
  expect(bytes(4100, 5000)).toEqual(memory.slice(4, 5004));
  expect(asked.at(-1)).toBe(4100n);
  for (const [address, length] of [
    [0, 8],
    [4092, 8],
    [16380, 8],
  ] as const)
    expect(bytes(address, length)).toBeNull();
});
