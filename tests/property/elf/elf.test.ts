import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { readElf } from "../../../src/elf/elf.ts";

/** A real library of a few kilobytes, so that every table is near every change. */
function smallLibrary(): Uint8Array {
  const dir = mkdtempSync(join(tmpdir(), "elf-"));
  writeFileSync(join(dir, "a.c"), "int a(int x) { return x + 1; } int b(int x) { return a(x) * 2; } int c;");
  const { exitCode } = Bun.spawnSync(["cc", "-O1", "-shared", "-fPIC", "-o", join(dir, "a.so"), join(dir, "a.c")]);
  if (exitCode !== 0) throw new Error("cc failed");
  return new Uint8Array(readFileSync(join(dir, "a.so")));
}
const library = smallLibrary();

/** Asks everything that can be asked; true when every answer lies within bounds. */
function askAll(bytes: Uint8Array): boolean {
  const elf = readElf(bytes);
  if (!elf.ok) return elf.reason.length > 0;
  elf.buildId();
  elf.soname();
  elf.dynamicSymbol("a");
  elf.localFunctions(["a", "b"]);
  for (const symbol of elf.dynamicSymbols().values()) {
    if (symbol.fileOffset !== null && !(symbol.fileOffset >= 0)) return false;
    elf.vaddr(symbol.fileOffset ?? 0);
  }
  const starts = elf.functionStarts();
  for (let i = 0; starts && i < Math.min(starts.count, 64); i++) {
    const start = starts.start(i);
    const range = start === null ? null : starts.at(start);
    if (range?.end != null && range.end <= range.start) return false;
  }
  return true;
}

test("a library with any bytes changed never makes the reader fail", () => {
  const change = fc.tuple(fc.nat(library.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 40 }), (changes) => {
      const bytes = library.slice();
      for (const [at, value] of changes) bytes[at] = value;
      expect(askAll(bytes)).toBe(true);
    }),
    { numRuns: 500 },
  );
});
test("a library whose header fields are extreme never makes the reader fail or search for long", () => {
  const word = fc.constantFrom(0, 1, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 4, max: 0x300 }), word), { minLength: 1, maxLength: 8 }),
      (words) => {
        const bytes = library.slice();
        const view = new DataView(bytes.buffer);
        for (const [at, value] of words) view.setUint32(at * 4, value, true);
        expect(askAll(bytes)).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
test("a library cut anywhere never makes the reader fail", () => {
  fc.assert(
    fc.property(fc.nat(library.length), (size) => {
      expect(askAll(library.subarray(0, size))).toBe(true);
    }),
    { numRuns: 300 },
  );
});
test("random bytes after a good file header never make the reader fail", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4096 }), (tail) => {
      const bytes = new Uint8Array(64 + tail.length);
      bytes.set(library.subarray(0, 64));
      bytes.set(tail, 64);
      expect(askAll(bytes)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test("a hash table that begins behind four billion symbols is not searched for them", () => {
  const bytes = library.slice();
  const view = new DataView(bytes.buffer);
  const sections = Number(view.getBigUint64(40, true));
  const hash = Array.from({ length: view.getUint16(60, true) }, (_, i) => sections + i * 64).find(
    (at) => view.getUint32(at + 4, true) === 0x6ffffff6,
  );
  const at = Number(view.getBigUint64((hash ?? 0) + 24, true));
  const bloomWords = view.getUint32(at + 8, true);
  view.setUint32(at, 1, true);
  view.setUint32(at + 4, 0xffff_fff0, true);
  view.setUint32(at + 16 + bloomWords * 8, 0, true);
  // Without its sections the table of symbols is as long as the hash table says.
  view.setBigUint64(40, 0n, true);
  view.setUint16(60, 0, true);
  const before = process.cpuUsage();
  expect(askAll(bytes)).toBe(true);
  expect(process.cpuUsage(before).user).toBeLessThan(2e6);
});
