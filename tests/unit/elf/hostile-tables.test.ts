/** Files that claim tables of any size: the reader goes through none that no library has. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ElfFile, readElf } from "../../../src/elf/elf.ts";
import { type FileBytes, openFileBytes } from "../../../src/elf/file-bytes.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-hostile-elf-"));
afterAll(() => rmSync(folder, { recursive: true }));

const [SECTIONS_AT, NAMES_AT, DATA_AT] = [64, 0x800, 0x1000];
const TERABYTE = 2 ** 40;
const [PROGBITS, STRTAB, DYNSYM, COMPRESSED] = [1, 3, 11, 0x800];

interface Section {
  readonly name?: string;
  readonly type: number;
  readonly offset?: number;
  readonly size: number;
  readonly link?: number;
  readonly flags?: number;
}

/** A file with these sections behind an empty one and the table of names, and what lies in them. */
function elfBytes(sections: readonly Section[], data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(DATA_AT + data.length);
  const view = new DataView(bytes.buffer);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(18, 62, true);
  view.setBigUint64(40, BigInt(SECTIONS_AT), true);
  view.setUint16(54, 56, true);
  for (const [place, value] of [
    [58, 64],
    [60, sections.length + 2],
    [62, 1],
  ] as const)
    view.setUint16(place, value, true);
  const all: Section[] = [{ type: 0, size: 0 }, { type: STRTAB, offset: NAMES_AT, size: 0x800 }, ...sections];
  let nameAt = 1;
  for (const [i, { name = "", type, offset = DATA_AT, size, link = 0, flags = 0 }] of all.entries()) {
    const header = SECTIONS_AT + 64 * i;
    bytes.set(Buffer.from(`${name}\0`), NAMES_AT + nameAt);
    view.setUint32(header, nameAt, true);
    nameAt += name.length + 1;
    view.setUint32(header + 4, type, true);
    view.setBigUint64(header + 8, BigInt(flags), true);
    view.setBigUint64(header + 24, BigInt(offset), true);
    view.setBigUint64(header + 32, BigInt(size), true);
    view.setUint32(header + 40, link, true);
  }
  bytes.set(data, DATA_AT);
  return bytes;
}

/** The file with a hole behind it, which makes it a terabyte long and takes no room. */
function asTerabyte(bytes: Uint8Array): { readonly elf: ElfFile; readonly file: FileBytes } {
  const path = join(folder, "terabyte");
  writeFileSync(path, bytes);
  truncateSync(path, TERABYTE);
  const file = openFileBytes(path);
  const elf = file === null ? null : readElf(file);
  if (file === null || elf === null || !elf.ok) throw new Error("it was not opened");
  return { elf, file };
}

test("a table of symbols as long as a terabyte of holes is left alone", () => {
  const { elf, file } = asTerabyte(elfBytes([{ type: DYNSYM, size: TERABYTE, link: 1 }], new Uint8Array(64)));
  using _ = file;
  expect(elf.dynamicSymbol("llama_decode")).toBeUndefined();
  expect(elf.dynamicSymbols().size).toBe(0);
});

test("symbols whose names lie over each other, and take more than any library's, are left alone", () => {
  const count = 40_000;
  const data = new Uint8Array(count * 24 + 4001).fill(0x61);
  const view = new DataView(data.buffer);
  data[data.length - 1] = 0;
  for (let i = 0; i < count; i++) {
    view.setUint32(24 * i, i % 3999, true);
    data.set([0x12, 0, 1, 0], 24 * i + 4);
    view.setBigUint64(24 * i + 8, 0x1000n, true);
    view.setBigUint64(24 * i + 16, 16n, true);
  }
  const tables = (rows: number): Section[] => [
    { type: DYNSYM, size: 24 * rows, link: 3 },
    { type: STRTAB, offset: DATA_AT + 24 * count, size: 4001 },
  ];
  const few = readElf(elfBytes(tables(1000), data));
  const many = readElf(elfBytes(tables(count), data));
  expect([few.ok && few.dynamicSymbols().size, many.ok && many.dynamicSymbols().size]).toEqual([999, 0]);
}, 30_000);

test("debugging data that takes a terabyte where it is packed is refused, not read", () => {
  const packed = new Uint8Array(64);
  new DataView(packed.buffer).setUint32(0, 1, true);
  new DataView(packed.buffer).setBigUint64(8, 100n, true);
  const named = (name: string): Section => ({ name, type: PROGBITS, size: TERABYTE - DATA_AT, flags: COMPRESSED });
  const { elf, file } = asTerabyte(elfBytes([named(".debug_info"), named(".debug_abbrev")], packed));
  using _ = file;
  expect(elf.definitions(["x"])).toMatchObject({ ok: false, reason: expect.stringContaining(".debug_info") });
});
