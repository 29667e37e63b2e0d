import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRecordingFolder } from "../../../src/record/recording-folder.ts";
import { factsPath } from "../../../src/run-directory/facts.ts";

const output = mkdtempSync(join(tmpdir(), "mrm-folder-"));
afterAll(() => rmSync(output, { recursive: true }));

function pathAfter(run_id: string, act: (runDir: string) => void): string {
  using folder = openRecordingFolder({ output, run_id, force: false }, "model", () => {});
  act(folder.directory.heldPath);
  return folder.directory.path;
}

test("the folder of a run of which nothing was recorded is gone with it", () => {
  const path = pathAfter("nothing", (runDir) => writeFileSync(join(runDir, "left"), ""));
  expect(existsSync(path)).toBe(false);
});

test("the folder of a recording that began stays, and nobody holds it", () => {
  const path = pathAfter("begun", (runDir) => writeFileSync(factsPath(runDir), "{}"));
  expect(readdirSync(path)).toEqual(["capture"]);
});
