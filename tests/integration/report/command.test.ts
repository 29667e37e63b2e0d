import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { jsonOf, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);
let runDir = "";
const folder = mkdtempSync(join(tmpdir(), "mrm-report-"));
beforeAll(async () => {
  runDir = writeHandMadeRun();
  expect((await runCli(["analyse", "--quiet", runDir])).exitCode).toBe(0);
});
afterAll(() => {
  rmSync(runDir, { recursive: true });
  rmSync(folder, { recursive: true });
});

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("report.html of a run", () => {
  test("is there when the run was derived, for its user alone, and in its manifest", async () => {
    const path = join(runDir, "report.html");
    expect(modeOf(path)).toBe(0o600);
    expect(readFileSync(path, "utf8")).toStartWith("<!doctype html>");
    const verified = await runCli(["verify", runDir]);
    expect([verified.exitCode, verified.stdout]).toEqual([0, expect.stringContaining("is what its manifest says")]);
  });

  test("is made again from the files of the run, the same but for nothing", async () => {
    const path = join(runDir, "report.html");
    const before = readFileSync(path, "utf8");
    writeFileSync(path, "lost");
    const made = await runCli(["report", runDir]);
    expect([made.exitCode, made.stdout]).toEqual([0, `${path}\n`]);
    expect(modeOf(path)).toBe(0o600);
    // The number of the run directory is in neither: a page is what the files say.
    expect(readFileSync(path, "utf8")).toBe(before);
    expect((await runCli(["verify", runDir])).exitCode).toBe(0);
  });
});

test("a run whose page cannot be written is worth no less, and says so", async () => {
  const path = join(runDir, "report.html");
  rmSync(path);
  mkdirSync(path);
  const ended = await runCli(["analyse", "--json", runDir]);
  expect(ended.exitCode).toBe(0);
  const warning = expect.stringMatching(/^report\.html was not written: /);
  expect(jsonOf(ended).warnings).toContainEqual(warning);
  expect(JSON.parse(readFileSync(join(runDir, "metadata.json"), "utf8")).warnings).toContainEqual(warning);
  expect(existsSync(path)).toBe(false);
  expect((await runCli(["verify", runDir])).exitCode).toBe(0);
});

test("a page for which the disk has no room ends the derivation with 3 and the command that makes it later", async () => {
  const small = join(folder, "small");
  mkdirSync(small);
  const copy = join(small, "run");
  const script = `mount -t tmpfs -o size=3m none "$0" && cp -r ${runDir} "$0"/run && cd "$0" && rm -rf run/report.html &&
    dd if=/dev/zero of=filler bs=1k 2>/dev/null; truncate -s -300k filler; "$@"; code=$?; rm filler
    MRM="$2 $3"; $MRM report run >&2; $MRM show run >&2; grep -c "was not written" run/report.html >&2; exit $code`;
  const prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, small, "env"];
  const ended = await runCli(["analyse", copy], { prefix });
  expect([ended.exitCode, ended.stdout]).toEqual([3, expect.stringContaining("no report.html")]);
  expect(ended.stderr).toMatch(/^mrm-trace: report.html was not written: the disk is full: .*no space left/m);
  expect(ended.stderr).toContain(`  fix: free space there; then: mrm-trace report ${copy}\n`);
  // Once it was made nobody is told that it was not.
  expect(ended.stderr).toMatch(/report.html there.*\n0\n$/s);
});

describe("mrm-trace report", () => {
  test("puts several runs side by side into a file of the user's choice", async () => {
    const out = join(folder, "two.html");
    const made = await runCli(["report", runDir, runDir, "--out", out]);
    expect([made.exitCode, made.stdout]).toEqual([0, `${out}\n`]);
    expect(modeOf(out)).toBe(0o600);
    expect(readFileSync(out, "utf8").match(/<h3>/g)?.length).toBeGreaterThan(10);
  });

  test("replaces a file that is there only where it is told to", async () => {
    const out = join(folder, "theirs.html");
    writeFileSync(out, "precious");
    const refused = await runCli(["report", runDir, "--out", out]);
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining("exists already\n  fix: give --force"),
    ]);
    expect(readFileSync(out, "utf8")).toBe("precious");
    expect((await runCli(["report", runDir, "--out", out, "--force"])).exitCode).toBe(0);
    expect(readFileSync(out, "utf8")).toStartWith("<!doctype html>");
  });

  test("refuses what is no run, and a place that is taken by what is no file, with a fix", async () => {
    const nowhere = await runCli(["report", join(folder, "nowhere")]);
    expect([nowhere.exitCode, nowhere.stderr]).toEqual([
      2,
      expect.stringMatching(/no such run directory.*\n {2}fix: /),
    ]);
    const bare = await runCli(["report", join(runDir, "capture")]);
    expect([bare.exitCode, bare.stderr]).toEqual([2, expect.stringContaining("is no run")]);
    mkdirSync(join(folder, "taken"));
    const taken = await runCli(["report", runDir, "--out", join(folder, "taken")]);
    expect([taken.exitCode, taken.stderr]).toEqual([2, expect.stringContaining("is no regular file")]);
    expect((await runCli(["report"])).exitCode).toBe(2);
  });

  test("takes its script from the package, whatever the folder holds in which it is started", async () => {
    const evil = join(folder, "evil");
    for (const name of ["@observablehq/plot", "d3-hierarchy"]) {
      const place = join(evil, "node_modules", name);
      mkdirSync(place, { recursive: true });
      writeFileSync(join(place, "package.json"), JSON.stringify({ name, version: "9.9.9", main: "index.js" }));
      writeFileSync(join(place, "index.js"), "export const plot = 'stranger';");
    }
    writeFileSync(join(evil, "stranger.js"), "export const plot = 'stranger';");
    const paths = { "@observablehq/plot": ["./stranger.js"], "*": ["./stranger.js"] };
    writeFileSync(join(evil, "tsconfig.json"), JSON.stringify({ compilerOptions: { baseUrl: ".", paths } }));
    writeFileSync(join(evil, "bunfig.toml"), 'preload = ["./stranger.js"]\n');
    const out = join(folder, "safe.html");
    const launcher = new URL("../../../bin/mrm-trace", import.meta.url).pathname;
    const ended = Bun.spawnSync([launcher, "report", runDir, "--out", out], { cwd: evil });
    expect([ended.exitCode, ended.stderr.toString()]).toEqual([0, ""]);
    expect(existsSync(out)).toBe(true);
    expect(readFileSync(out, "utf8")).not.toContain("stranger");
  });
});
