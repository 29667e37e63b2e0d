import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { analyse } from "../../../src/pipelines/analyse.ts";
import { LOCK } from "../../../src/run-directory/folder-lock.ts";
import { writeHandMadeRun } from "../label/hand-made-run.ts";

test("a run directory is analysed by one process at a time, and again when that is done", async () => {
  const runDir = writeHandMadeRun();
  try {
    const options = { output: "results", period: null, force: false, seed: 1 };
    const first = analyse(runDir, options);
    await expect(analyse(runDir, options)).rejects.toThrow(`another mrm-trace is at work in ${runDir}: process`);
    expect((await first).report.metrics.length).toBeGreaterThan(0);
    expect(existsSync(join(runDir, LOCK))).toBe(false);
    expect(readFileSync(join(runDir, "manifest.json"), "utf8")).not.toContain(LOCK);
    await analyse(runDir, options);
  } finally {
    rmSync(runDir, { recursive: true });
  }
});
