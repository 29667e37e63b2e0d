import { afterAll, expect, test } from "bun:test";
import { copyFileSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importTrace } from "../../../src/pipelines/import-trace.ts";
import { GOLDEN_TRACE } from "../../fixtures/python-package.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-import-trace-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a trace that is named by a link is kept as a file of the run, wherever the link leads from", () => {
  mkdirSync(join(folder, "data"));
  copyFileSync(GOLDEN_TRACE, join(folder, "data", "trace.parquet"));
  symlinkSync("data/trace.parquet", join(folder, "relative"));
  symlinkSync(join(folder, "data", "trace.parquet"), join(folder, "absolute"));
  for (const name of ["relative", "absolute"]) {
    const options = { output: join(folder, "out"), run_id: name, force: false, seed: 1, period: null };
    using run = importTrace(join(folder, name), options).run;
    const kept = join(run.directory.raw, "trace.parquet");
    expect(lstatSync(kept).isFile()).toBe(true);
    expect(readFileSync(kept).equals(readFileSync(GOLDEN_TRACE))).toBe(true);
  }
});
