import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "../../../src/api/open-run.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { compileProgram } from "../../fixtures/compile.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

setDefaultTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), "mrm-stripped-"));
const output = outputFolder();
afterEach(endLeftRuns);
afterAll(() => {
  for (const path of [folder, output]) rmSync(path, { recursive: true });
});

/** A store of models has names that do not say what a file is. */
const NAMES = ["model.gguf", "sha256-0f0f"] as const;
const models = NAMES.map((name) => join(folder, name));
beforeAll(async () => {
  for (const model of models) await writeModel({ params: "15m", type: "q4_0", seed: 1 }, model);
});

interface Report {
  readonly run_dir: string;
  readonly warnings: readonly string[];
}

test("a program without symbols that maps models has one line of warning for each, and figures by kinds of mappings", async () => {
  const program = compileProgram("map-model", ["-static", "-s"]);
  expect(Bun.spawnSync(["nm", program]).stdout.toString()).toBe("");
  const ended = await runCli(["run", "--json", ...QUICK, "--output", output, "--", program, "1", ...models]);
  expect([ended.exitCode, ended.stderr]).toEqual([0, expect.any(String)]);
  const report = jsonOf(ended) as unknown as Report;
  const lines = NAMES.map((name) =>
    expect.stringMatching(new RegExp(`^${name} is mapped by a process in which no engine is found, [^\n]+$`)),
  );
  const said = report.warnings.filter((text) => text.includes("engine") || NAMES.some((name) => text.includes(name)));
  expect(said.sort()).toEqual(lines);
  expect(report).toMatchObject({ engine: null, target: { decode_tokens: null } });
  using run = openRun(report.run_dir);
  const regions = run.table("region_map").toArray();
  const weights = regions.filter(({ region_type }) => region_type === "weight");
  const told = weights.map(({ name, size_bytes, mapping_kind, evidence, tensor }) => [
    name,
    Number(size_bytes),
    mapping_kind,
    evidence,
    tensor,
  ]);
  const pages = models.map((model) => 4096 * Math.ceil(statSync(model).size / 4096));
  expect(told.sort()).toEqual(models.map((model, i) => [model, pages[i], "file", "file", null]));
  const others = regions.filter(({ region_type }) => region_type !== "weight");
  expect([...new Set(others.map(({ region_type }) => region_type))]).toEqual(["unknown"]);
});
