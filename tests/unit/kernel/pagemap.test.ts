import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PAGE_BYTES } from "../../../src/kernel/libc.ts";
import { openPagemap } from "../../../src/kernel/pagemap.ts";

const [PRESENT, SWAPPED, GUARD, FILE] = [1n << 63n, 1n << 62n, 1n << 58n, 1n << 61n];

test("a page that was swapped out holds what the program put there, and one that nobody touched, or that guards others, holds nothing", () => {
  const proc = mkdtempSync(join(tmpdir(), "mrm-pagemap-"));
  try {
    mkdirSync(join(proc, "7"));
    // Of a page that is in memory the low bits are its number, of one that is not the place in the swap file.
    const pages = [0n, PRESENT | 4711n, PRESENT | FILE | 3n, SWAPPED | 4711n, SWAPPED | GUARD, FILE, PRESENT | GUARD];
    writeFileSync(join(proc, "7", "pagemap"), BigUint64Array.from(pages));
    using pagemap = openPagemap(7, undefined, proc);
    const held = pages.map((_, page) => pagemap?.isResident(BigInt(page * PAGE_BYTES + 8)));
    expect(held).toEqual([false, true, true, true, false, false, true]);
    // Behind the end of what is mapped.
    expect(pagemap?.isResident(BigInt(pages.length * PAGE_BYTES))).toBe(false);
  } finally {
    rmSync(proc, { recursive: true });
  }
});
