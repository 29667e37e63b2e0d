import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCK, lockOutput } from "../../../src/experiment/output-lock.ts";

test("an output folder is held by one experiment at a time, and taken over from one that is gone", () => {
  const folder = mkdtempSync(join(tmpdir(), "mrm-trace-lock-"));
  try {
    const output = join(folder, "new", "results");
    {
      using _held = lockOutput(output);
      expect(() => lockOutput(output)).toThrow(`another experiment runs in ${output}: process ${process.pid}`);
    }
    expect(existsSync(join(output, LOCK))).toBe(false);
    const gone = Bun.spawnSync(["true"]);
    writeFileSync(join(output, LOCK), `${gone.pid}\n`);
    using _taken = lockOutput(output);
    expect(existsSync(join(output, LOCK))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a folder that cannot be written is refused as environment", () => {
  expect(() => lockOutput("/proc/nowhere")).toThrow("cannot be written");
});
