/** Every example does on a small run what its page says. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../../src/sql/database.ts";
import { pythonPackage } from "../../fixtures/python-package.ts";
import { writeHandMadeRun } from "../../unit/label/hand-made-run.ts";
import { runCli } from "../run/cli.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const EXAMPLES = join(ROOT, "examples");
const python = await pythonPackage();
let runDir = "";
beforeAll(async () => {
  runDir = writeHandMadeRun();
  expect((await runCli(["analyse", "--quiet", runDir])).exitCode).toBe(0);
});
afterAll(() => rmSync(runDir, { recursive: true }));

/** What a program prints; its complaints where it fails. */
async function printed(words: readonly string[]): Promise<string> {
  const child = Bun.spawn([...words], { cwd: ROOT, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, stderr]).toEqual([0, ""]);
  return stdout;
}

test("every file of the examples is on their page", () => {
  const page = readFileSync(join(EXAMPLES, "README.md"), "utf8");
  const files = readdirSync(EXAMPLES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "README.md")
    .map((entry) => join(entry.parentPath, entry.name).slice(EXAMPLES.length + 1));
  expect(files.filter((name) => !page.includes(`(${name})`))).toEqual([]);
});

describe("reading a run", () => {
  test("in SQL gives figures, regions and accesses", async () => {
    // Files are named from the folder of the run, where the page says to be.
    const sql = readFileSync(join(EXAMPLES, "answer.sql"), "utf8").replace(/'([\w/*]+\.parquet)'/g, `'${runDir}/$1'`);
    const statements = sql.split(";").filter((statement) => statement.includes("SELECT"));
    expect(statements).toHaveLength(3);
    await using database = await openDatabase();
    const answers = [];
    for (const statement of statements) answers.push(await database.rows(statement));
    expect(answers[0]).toContainEqual(expect.objectContaining({ metric: "allocated_bytes", region_type: "weight" }));
    expect(answers[1]).toContainEqual(expect.objectContaining({ name: "w", size_bytes: 4096n }));
    expect(answers[2]).toContainEqual(
      expect.objectContaining({ tensor: "cache_k_l0", source: "watch", op_type: "load" }),
    );
  });

  test("by the package gives figures, regions and accesses", async () => {
    const said = await printed([process.execPath, join(EXAMPLES, "answer.ts"), runDir]);
    expect(said).toMatch(/^allocated_bytes weight generation: 4096 /m);
    expect(said).toMatch(/^\d+ regions$/m);
    expect(said).toMatch(/^\d+ stores seen$/m);
  });

  /** Runs one script after the other in one interpreter, as each alone takes a second to begin. */
  const SCRIPTS = `import os, runpy, sys
run, *paths = sys.argv[1:]
for path in paths:
    print("\\0" + path)
    sys.argv = [path, run]
    runpy.run_path(path, run_name="__main__")
# As Jupyter has it: in the folder of the run, with arguments of its own.
sys.modules["ipykernel"] = sys
os.chdir(run)
for path in paths:
    if "notebooks" in path:
        sys.argv = ["ipykernel_launcher.py", "-f", "kernel.json"]
        print("\\0" + path)
        runpy.run_path(path, run_name="__main__")`;

  test.skipIf(!python.ok)("in pandas, polars and each notebook gives what it promises", async () => {
    if (!python.ok) throw new Error(python.reason);
    const promised = {
      "answer_pandas.py": /allocated_bytes +weight +generation +4096[\s\S]*cache_k_l0/,
      "answer_polars.py": /allocated_bytes[\s\S]*kv_cache/,
      "notebooks/retention.py": /kv_cache/,
      "notebooks/working_set.py": /weight +generation +allocated_bytes/,
      "notebooks/write_once.py": /rows +reads +kept_s/,
    };
    const paths = Object.keys(promised).map((name) => join(EXAMPLES, name));
    const said = (await printed([python.python, "-c", SCRIPTS, runDir, ...paths])).split("\0").slice(1);
    expect(said).toHaveLength(paths.length + 3);
    for (const [i, [name, says]] of Object.entries(promised).entries()) {
      expect(said[i]).toStartWith(join(EXAMPLES, name));
      expect(said[i]).toMatch(says);
      if (name.startsWith("notebooks")) expect(said.filter((text) => text === said[i])).toHaveLength(2);
    }
  });

  test.each(["retention", "working_set", "write_once"])("the notebook %s has cells of text and of code", (name) => {
    const text = readFileSync(join(EXAMPLES, "notebooks", `${name}.py`), "utf8");
    expect(text.match(/^# %% \[markdown\]$/gm)?.length).toBeGreaterThan(1);
    expect(text.match(/^# %%$/gm)?.length).toBeGreaterThan(1);
  });
});

test("the experiment of two contexts is valid, and has two combinations", async () => {
  const path = join(EXAMPLES, "compare-contexts.yaml");
  expect((await runCli(["validate", path])).exitCode).toBe(0);
  const planned = JSON.parse((await runCli(["plan", path, "--json"])).stdout);
  const contexts = new Set(planned.runs.map((run: { readonly context_length: number }) => run.context_length));
  expect([...contexts]).toEqual([256, 1024]);
});

test("the budget of the build is one that a run can be held against", async () => {
  const { exitCode, stdout } = await runCli(["check", runDir, "--against", join(EXAMPLES, "ci/budget.yaml")]);
  expect([0, 4, 5]).toContain(exitCode);
  expect(stdout).toContain("resident_bytes of weight");
  const workflow = readFileSync(join(EXAMPLES, "ci/memory.yaml"), "utf8");
  expect(workflow).toContain("mrm-trace check");
});
