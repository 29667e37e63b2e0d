import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { analyseCommand } from "../../../src/run-directory/shell-words.ts";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { type Ended, jsonOf, runCli } from "../run/cli.ts";

let runDir = "";
let analysed: Ended;
beforeAll(async () => {
  runDir = writeHandMadeRun();
  analysed = await runCli(["analyse", "--json", runDir]);
  expect(analysed.exitCode).toBe(0);
});
afterAll(() => rmSync(runDir, { recursive: true }));

describe("show of a finished run", () => {
  test("prints the object again that its derivation printed", async () => {
    expect(jsonOf(await runCli(["show", "--json", runDir]))).toEqual(jsonOf(analysed));
  });

  test("prints the answer, and with --table every figure, as the derivation does", async () => {
    const answer = await runCli(["show", runDir]);
    // An analysis that takes long says on stderr how far it is.
    const derived = async (...options: readonly string[]) => (await runCli(["analyse", ...options, runDir])).stdout;
    expect(answer).toEqual({ exitCode: 0, stderr: "", stdout: await derived() });
    expect(answer.stdout.split("\n").length).toBeLessThanOrEqual(25);
    const table = await runCli(["show", "--table", runDir]);
    expect(table).toEqual({ exitCode: 0, stderr: "", stdout: await derived("--table") });
    expect(table.stdout).toContain("a cell reads: value");
  });

  test("prints one class alone", async () => {
    const shown = jsonOf(await runCli(["show", "--json", "--class", "weight", runDir])) as unknown as {
      metrics: { scope: string; region_type: string }[];
    };
    const classes = shown.metrics.filter(({ scope }) => scope === "class").map(({ region_type }) => region_type);
    expect(new Set(classes)).toEqual(new Set(["weight"]));
  });

  test("refuses a class that the run does not have, and a folder that is no run", async () => {
    const stranger = await runCli(["show", "--class", "wieght", runDir]);
    expect(stranger.exitCode).toBe(2);
    expect(stranger.stderr).toMatch(/the run has no class "wieght"\n {2}fix: give one of: .*weight/);
    const nowhere = await runCli(["show", join(runDir, "nowhere")]);
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([2, expect.stringContaining("no such run directory")]);
    const bare = await runCli(["show", join(runDir, "capture")]);
    expect([bare.exitCode, bare.stderr]).toEqual([2, expect.stringContaining("capture is no run: it has no")]);
  });

  test("of a run that was cut names the command that derives its figures, as the shell takes it", async () => {
    const cut = join(mkdtempSync(join(tmpdir(), "mrm show ")), "it's a run");
    cpSync(join(runDir, "capture"), join(cut, "capture"), { recursive: true });
    const shown = await runCli(["show", cut]);
    expect([shown.exitCode, shown.stderr]).toEqual([4, expect.stringContaining("has no figures yet")]);
    expect(shown.stderr).toContain(`: ${analyseCommand(cut)}\n`);
    rmSync(dirname(cut), { recursive: true });
  });
});
