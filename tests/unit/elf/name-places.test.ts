import { expect, test } from "bun:test";
import { bytesInMemory, byteView } from "../../../src/elf/byte-view.ts";
import { namePlaces } from "../../../src/elf/name-places.ts";

const WINDOW_BYTES = 1 << 20;
const NAMES = [
  "llama_decode",
  "llama_decode_more",
  "llama_free",
  "ab",
  "ab",
  "_ZN2at4_ops6linear4callE",
  "_ZN2at4_ops6argmax4callE",
];

/** A table of more than one window, with a name over the border of two. */
function table(): Buffer {
  const begin = "\0llama_free\0xllama_decode\0_ZN2at4_ops6linear4callE\0llama_dec\0_ZN2at\0";
  const border = `${"-".repeat(WINDOW_BYTES - begin.length - 4)}\0llama_decode_more\0`;
  return Buffer.from(`${begin}${border}ab\0`, "latin1");
}

test("a name is found wherever its text ends, though others begin like it and it lies over the border of two windows", () => {
  const bytes = table();
  const text = bytes.toString("latin1");
  const expected = new Map<number, string>();
  for (const name of NAMES) {
    for (let i = text.indexOf(`${name}\0`); i >= 0; i = text.indexOf(`${name}\0`, i + 1)) expected.set(i, name);
  }
  expect(expected.size).toBe(5);
  const found = namePlaces(byteView(bytesInMemory(bytes)), 0, bytes.length, NAMES);
  expect([...found].sort()).toEqual([...expected].sort());
});

test("names that are written alike in a table do not keep the search from its end", () => {
  const bytes = Buffer.from("\0a-long-name\0", "latin1");
  expect(
    namePlaces(byteView(bytesInMemory(bytes)), 0, bytes.length, ["a-long-n\u0161me", "a-long-name", "a-long-n\u0261me"])
      .size,
  ).toBe(1);
});
