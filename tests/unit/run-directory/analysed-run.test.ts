import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireAnalysed } from "../../../src/run-directory/analysed-run.ts";

const root = mkdtempSync(join(tmpdir(), "mrm-analysed-"));
afterAll(() => rmSync(root, { recursive: true }));

function newRun(path: string, seconds: number): string {
  const run = join(root, path);
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, "metadata.json"), "{}");
  utimesSync(join(run, "metadata.json"), seconds, seconds);
  return run;
}

function refusalOf(path: string): unknown {
  try {
    requireAnalysed(path);
    return null;
  } catch (error) {
    return error;
  }
}

describe("a folder that is no run", () => {
  test("has the newest run below it for an example, one or two folders deep", () => {
    newRun("results/model-a/20261101T000000Z-0001", 1000);
    const newest = newRun("results/model-b/20261101T000000Z-0002", 2000);
    newRun("results/model-b/20261101T000000Z-0003", 1500);
    for (const above of ["results", "results/model-b"]) {
      expect(refusalOf(join(root, above))).toMatchObject({
        code: "usage",
        message: `${join(root, above)} is no run: it has no metadata.json and no capture folder`,
        hint: `give the folder of a run, such as its newest: ${newest}`,
      });
    }
    expect(refusalOf(newest)).toBeNull();
  });

  test("has the words for one where it holds none, or one with a name that we do not make", () => {
    mkdirSync(join(root, "empty"));
    newRun("foreign/\u001b[2J/run", 1000);
    newRun("far/a/b/c/run", 1000);
    for (const name of ["empty", "foreign", "far"]) {
      expect(refusalOf(join(root, name))).toMatchObject({
        hint: "give the folder of a run, such as results/MODEL/RUN_ID",
      });
    }
  });
});
