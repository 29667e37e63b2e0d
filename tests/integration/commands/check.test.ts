import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXIT_CODES } from "../../../src/errors.ts";
import { budgetCheckSchema } from "../../../src/schema/budget-check.ts";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { jsonOf, runCli } from "../run/cli.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-check-"));
const EVIL = "</testsuite><x>&\"'";
let runDir = "";
beforeAll(async () => {
  runDir = writeHandMadeRun();
  expect((await runCli(["analyse", "--quiet", runDir])).exitCode).toBe(0);
});
afterAll(() => {
  for (const path of [runDir, folder]) rmSync(path, { recursive: true });
});

function budget(text: string): string {
  const path = join(folder, "budget.yaml");
  writeFileSync(path, text);
  return path;
}
const WITHIN = "{ metric: allocated_bytes, class: weight, max: 1GiB }";
const BEYOND = "{ metric: allocated_bytes, class: weight, max: 1B }";
const OPEN = "{ metric: retention_p99_ns, class: weight, max: 1h }";

describe("check of a finished run", () => {
  test.each([
    ["kept", WITHIN, EXIT_CODES.ok],
    ["beyond", `${WITHIN}, ${OPEN}, ${BEYOND}`, EXIT_CODES.budget],
    ["open", `${WITHIN}, ${OPEN}`, EXIT_CODES.data_quality],
  ])("ends with the code of what is %s, in each form", async (_what, limits, code) => {
    const path = budget(`metrics: [${limits}]`);
    const json = await runCli(["check", runDir, "--against", path, "--json"]);
    const check = budgetCheckSchema.parse(jsonOf(json));
    expect([json.exitCode, check.exit_code]).toEqual([code, code]);
    const table = await runCli(["check", runDir, "--against", path]);
    expect([table.exitCode, table.stderr]).toEqual([code, ""]);
    expect(table.stdout).toContain("allocated_bytes of weight");
    const github = await runCli(["check", runDir, "--against", path, "--github"]);
    expect(github.exitCode).toBe(code);
    expect(github.stdout.split("\n").filter((line) => line.startsWith("::"))).toHaveLength(
      check.checks.filter(({ verdict }) => verdict !== "within").length,
    );
    const quiet = await runCli(["check", runDir, "--against", path, "--quiet"]);
    expect([quiet.exitCode, quiet.stdout]).toEqual([code, ""]);
  });

  test("writes XML that another program reads, for its maker alone, whatever the names are", async () => {
    const path = budget(`name: ${JSON.stringify(EVIL)}\nmetrics: [${WITHIN}, ${OPEN}, ${BEYOND}]`);
    const out = join(folder, "junit.xml");
    expect((await runCli(["check", runDir, "--against", path, "--junit", out])).exitCode).toBe(EXIT_CODES.budget);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const read = [
      "import json, sys, xml.etree.ElementTree as tree",
      "root = tree.parse(sys.argv[1]).getroot()",
      "cases = root.findall('./testsuite/testcase')",
      "kinds = [[child.tag for child in case] for case in cases]",
      "print(json.dumps([root.tag, root[0].get('name'), root.get('failures'), root.get('errors'), kinds]))",
    ].join("\n");
    const { stdout, exitCode } = Bun.spawnSync(["python3", "-c", read, out]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout.toString())).toEqual(["testsuites", EVIL, "1", "1", [[], ["error"], ["failure"]]]);
    expect(readFileSync(out, "utf8")).toContain("allocated_bytes of weight");
  });

  test("writes over nothing but a file, and tells what else it cannot do", async () => {
    const path = budget(`metrics: [${WITHIN}]`);
    const device = await runCli(["check", runDir, "--against", path, "--junit", "/dev/full"]);
    expect([device.exitCode, device.stderr]).toEqual([2, expect.stringContaining("name another file with --junit")]);
    const before = join(folder, "before.xml");
    writeFileSync(before, "of the last build");
    expect((await runCli(["check", runDir, "--against", path, "--junit", before])).exitCode).toBe(0);
    expect(readFileSync(before, "utf8")).toStartWith("<?xml");
    const nowhere = await runCli(["check", runDir, "--against", path, "--junit", join(folder, "none", "x.xml")]);
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([3, expect.stringContaining("--junit")]);
    const both = await runCli(["check", runDir, "--against", path, "--json", "--github"]);
    expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining("leave one of them out")]);
    const noRun = await runCli(["check", join(folder, "none"), "--against", path]);
    expect([noRun.exitCode, noRun.stderr]).toEqual([2, expect.stringContaining("no such run directory")]);
  });
});
