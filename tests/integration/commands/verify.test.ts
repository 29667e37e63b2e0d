import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSegments } from "../../../src/run-directory/segment-files.ts";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { jsonOf, runCli } from "../run/cli.ts";

let runDir = "";
beforeAll(async () => {
  runDir = writeHandMadeRun();
  expect((await runCli(["analyse", "--quiet", runDir])).exitCode).toBe(0);
});
afterAll(() => rmSync(runDir, { recursive: true }));

test("a run directory that nobody touched is what its manifest says", async () => {
  const { exitCode, stdout } = await runCli(["verify", runDir]);
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/ is what its manifest says: \d+ files of [\d.]+ KiB\n$/),
  ]);
});

test("what differs is printed, and told by the exit code", async () => {
  const [access] = listSegments(runDir, "access");
  const [step] = listSegments(runDir, "step");
  truncateSync(access?.path ?? "", 100);
  rmSync(step?.path ?? "");
  writeFileSync(join(runDir, "capture", "planted"), "");
  writeFileSync(join(runDir, "notes of mine"), "");
  const { exitCode, stdout } = await runCli(["verify", runDir]);
  expect(exitCode).toBe(4);
  expect(stdout).toContain("differs from its manifest in 3 files");
  expect(stdout).not.toContain("notes of mine");
  const printed = await runCli(["verify", "--json", runDir]);
  expect(jsonOf(printed)).toMatchObject({
    missing: [expect.stringContaining("capture/step/")],
    changed: [expect.stringContaining("capture/access/")],
    unlisted: ["capture/planted"],
    exit_code: 4,
  });
  expect(printed.exitCode).toBe(4);
});

test("an analysis of what is left derives it, and says with its exit code that it is not all", async () => {
  const { exitCode, stderr } = await runCli(["analyse", "--quiet", runDir]);
  expect(exitCode).toBe(4);
  expect(stderr).toContain("segments of capture/ cannot be read or are missing: no figures of ");
  expect(stderr).toContain(`fix: mrm-trace verify ${runDir}`);
  const printed = await runCli(["analyse", "--json", runDir]);
  expect(printed.exitCode).toBe(4);
  expect(jsonOf(printed)).toMatchObject({ validity: "contaminated" });
  const shown = await runCli(["analyse", runDir]);
  expect(shown.stdout).toContain("nobody knows how much of");
  expect((await runCli(["verify", runDir])).exitCode).toBe(4);
});

test("a run without a manifest, or with a hostile one, is refused with what helps", async () => {
  writeFileSync(join(runDir, "manifest.json"), '{"files": [{"path": "../x"}]}');
  const { exitCode, stderr } = await runCli(["verify", runDir]);
  expect([exitCode, stderr]).toEqual([4, expect.stringContaining("cannot be read as a manifest")]);
  rmSync(join(runDir, "manifest.json"));
  expect((await runCli(["verify", runDir])).stderr).toContain("mrm-trace analyse");
  expect((await runCli(["verify", join(runDir, "none")])).exitCode).toBe(2);
});
