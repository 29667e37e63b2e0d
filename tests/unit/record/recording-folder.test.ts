import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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

test("what was made above it is gone too, and what was there or holds something else stays", () => {
  const nothingIn = (above: string, act: () => void = () => {}): void => {
    using _ = openRecordingFolder({ output: join(output, above), run_id: "nothing", force: false }, "model", () => {});
    act();
  };
  nothingIn("made/by/us");
  expect(existsSync(join(output, "made"))).toBe(false);
  mkdirSync(join(output, "there"));
  nothingIn("there/too");
  expect(readdirSync(join(output, "there"))).toEqual([]);
  nothingIn("kept", () => writeFileSync(join(output, "kept", "note"), ""));
  expect(readdirSync(join(output, "kept"))).toEqual(["note"]);
});

test("the folder of a recording that began stays, and nobody holds it", () => {
  const path = pathAfter("begun", (runDir) => writeFileSync(factsPath(runDir), "{}"));
  expect(readdirSync(path)).toEqual(["capture"]);
});
