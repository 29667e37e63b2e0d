import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readElf } from "../../../src/elf/elf.ts";
import { type FileBytes, openFileBytes } from "../../../src/elf/file-bytes.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-file-bytes-"));
afterAll(() => rmSync(folder, { recursive: true }));

function opened(path: string): FileBytes {
  const bytes = openFileBytes(path);
  if (bytes === null) throw new Error(`${path} was not opened`);
  return bytes;
}

describe("the bytes of a file", () => {
  test("are those of the file, wherever a slice begins and ends", () => {
    const path = join(folder, "numbers");
    const whole = Uint8Array.from({ length: 100_001 }, (_, i) => (i * 31) ^ (i >> 8));
    writeFileSync(path, whole);
    using bytes = opened(path);
    expect(bytes.length).toBe(whole.length);
    for (const [offset, size] of [
      [0, 1],
      [16_380, 8],
      [16_383, 1],
      [10, 70_000],
      [99_990, 64],
      [100_000, 1],
      [100_001, 4],
      [1e9, 4],
    ] as const) {
      expect(Buffer.from(bytes.slice(offset, size))).toEqual(Buffer.from(whole.subarray(offset, offset + size)));
    }
  });

  test("are fewer where the file was cut short since: its reader goes on", () => {
    const path = join(folder, "cut");
    writeFileSync(path, new Uint8Array(200_000).fill(7));
    using bytes = opened(path);
    expect(bytes.slice(0, 4)).toEqual(Uint8Array.of(7, 7, 7, 7));
    truncateSync(path, 0);
    expect(bytes.slice(150_000, 4)).toHaveLength(0);
    expect(bytes.slice(16_000, 40_000).length).toBeLessThan(1000);
  });

  test("tell of a library what its bytes in memory tell, and nothing more once it was overwritten", () => {
    const path = join(folder, "library.so");
    copyFileSync(process.execPath, path);
    const inMemory = readElf(new Uint8Array(readFileSync(path)));
    using bytes = opened(path);
    const inFile = readElf(bytes);
    if (!inMemory.ok || !inFile.ok) throw new Error("the runtime is no ELF file");
    expect(inFile.buildId()).toEqual(inMemory.buildId());
    expect(inFile.dynamicSymbol("malloc")).toEqual(inMemory.dynamicSymbol("malloc"));
    expect(inFile.functionStarts()?.count).toEqual(inMemory.functionStarts()?.count);
    writeFileSync(path, "");
    expect(inFile.dynamicSymbols().size).toBeLessThan(inMemory.dynamicSymbols().size);
  });

  test("are not waited for: a pipe, a device, a folder, an empty file and none at all are refused at once", () => {
    const pipe = join(folder, "pipe");
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    const empty = join(folder, "empty");
    writeFileSync(empty, "");
    for (const path of [pipe, "/dev/zero", folder, empty, join(folder, "absent")]) {
      expect([path, openFileBytes(path)]).toEqual([path, null]);
    }
  });
});
