import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCK, lockFolder } from "../../../src/run-directory/folder-lock.ts";

const WORDS = { busy: "another experiment runs in", instead: "give another folder with --output" };

test("a folder is held by one process at a time, and taken over from one that is gone", () => {
  const folder = mkdtempSync(join(tmpdir(), "mrm-trace-lock-"));
  try {
    const output = join(folder, "new", "results");
    {
      using _held = lockFolder(output, WORDS);
      expect(() => lockFolder(output, WORDS)).toThrow(`another experiment runs in ${output}: process ${process.pid}`);
    }
    expect(existsSync(join(output, LOCK))).toBe(false);
    const gone = Bun.spawnSync(["true"]);
    writeFileSync(join(output, LOCK), `${gone.pid}\n`);
    using _taken = lockFolder(output, WORDS);
    expect(existsSync(join(output, LOCK))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a folder that cannot be written is refused as environment", () => {
  expect(() => lockFolder("/proc/nowhere", WORDS)).toThrow("cannot be written");
});
