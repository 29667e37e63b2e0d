import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { jsonOf, runCli } from "../run/cli.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-card-"));
let runDir = "";
beforeAll(async () => {
  runDir = writeHandMadeRun();
  expect((await runCli(["analyse", "--quiet", runDir])).exitCode).toBe(0);
});
afterAll(() => {
  for (const path of [runDir, folder]) rmSync(path, { recursive: true });
});

describe("card of a finished run", () => {
  test("has the hashes that the files have, printed or in a file of its maker's alone", async () => {
    const printed = await runCli(["card", runDir]);
    expect([printed.exitCode, printed.stderr]).toEqual([0, ""]);
    const sha256 = (file: string): string =>
      createHash("sha256")
        .update(readFileSync(join(runDir, file)))
        .digest("hex");
    for (const file of ["manifest.json", "metrics.parquet", "metadata.json"]) {
      expect(printed.stdout).toContain(sha256(file));
    }
    const out = join(folder, "card.md");
    const written = await runCli(["card", runDir, "--out", out]);
    expect([written.exitCode, written.stdout]).toEqual([0, expect.stringContaining(out)]);
    expect(readFileSync(out, "utf8")).toBe(printed.stdout);
    expect(jsonOf(await runCli(["card", runDir, "--json"]))).toMatchObject({ path: null, markdown: printed.stdout });
    expect(statSync(out).mode & 0o777).toBe(0o600);
  });

  test("replaces a file that is there only where it is told to", async () => {
    const out = join(folder, "theirs.md");
    writeFileSync(out, "precious");
    const refused = await runCli(["card", runDir, "--out", out]);
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining("exists already\n  fix: give --force"),
    ]);
    expect(readFileSync(out, "utf8")).toBe("precious");
    expect((await runCli(["card", runDir, "--out", out, "--force"])).exitCode).toBe(0);
    expect(readFileSync(out, "utf8")).toStartWith("# ");
  });

  test("is refused of what is no finished run, and writes over nothing but a file", async () => {
    const nowhere = await runCli(["card", join(folder, "none")]);
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([2, expect.stringContaining("no such run directory")]);
    const bare = await runCli(["card", join(runDir, "capture")]);
    expect([bare.exitCode, bare.stderr]).toEqual([2, expect.stringContaining("is no run")]);
    const device = await runCli(["card", runDir, "--out", "/dev/full"]);
    expect([device.exitCode, device.stderr]).toEqual([2, expect.stringContaining("name another file with --out")]);
  });
});
