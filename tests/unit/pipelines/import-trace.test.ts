import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analyse } from "../../../src/pipelines/analyse.ts";
import { foreignTrace } from "../../../src/pipelines/import-trace.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-foreign-"));
afterAll(() => rmSync(root, { recursive: true }));

/** A folder with empty files of these names. */
function folderWith(...names: readonly string[]): string {
  const dir = mkdtempSync(join(root, "run-"));
  for (const name of names) writeFileSync(join(dir, name), "");
  return dir;
}

describe("a folder with a trace", () => {
  test("is that of another program where nothing of ours lies beside it", () => {
    const dir = folderWith("trace.parquet", "metadata.json", "metrics.csv");
    expect(foreignTrace(dir)).toBe(join(dir, "trace.parquet"));
    expect(foreignTrace(join(dir, "trace.parquet"))).toBe(join(dir, "trace.parquet"));
    mkdirSync(join(dir, "capture"));
    expect(foreignTrace(dir)).toBeNull();
  });

  test("is a run of ours without its capture too: analyse says what is missing, and takes nothing for a trace", async () => {
    const dir = folderWith("trace.parquet", "metrics.parquet");
    expect(foreignTrace(dir)).toBeNull();
    await expect(analyse(dir, { output: root, force: false, seed: 1, period: null })).rejects.toMatchObject({
      code: "usage",
      message: `the folder capture/ of ${dir} is missing: without what was recorded nothing can be derived again`,
      hint: `restore capture/ from a copy; what was derived before is still there: mrm-trace show ${dir}`,
    });
  });
});
