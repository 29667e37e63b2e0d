import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRegularFile, readRegularText } from "../../../src/run-directory/regular-file.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-regular-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a file is read whole, also behind a link", () => {
  const path = join(folder, "text");
  writeFileSync(path, "é\n".repeat(100_000));
  expect(readRegularText(path)).toBe("é\n".repeat(100_000));
  expect(
    readRegularFile("/proc/self/exe", 2 ** 30)
      .subarray(1, 4)
      .toString(),
  ).toBe("ELF");
});

test("a pipe, a device, a folder, what is missing and what is too large are refused at once, and not read", () => {
  const pipe = join(folder, "pipe");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  for (const path of [pipe, "/dev/zero", folder]) {
    expect(() => readRegularFile(path)).toThrow("it is no regular file");
  }
  expect(() => readRegularFile(join(folder, "absent"))).toThrow("ENOENT");
  const large = join(folder, "large");
  writeFileSync(large, "x");
  truncateSync(large, 2 ** 40);
  expect(() => readRegularFile(large)).toThrow("are more than the 268435456 that such a file has");
  expect(() => readRegularFile(large, 10)).toThrow("are more than the 10 that");
});
