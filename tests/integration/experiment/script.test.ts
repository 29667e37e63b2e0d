import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endLeftRuns, jsonOf, outputFolder, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);
afterEach(endLeftRuns);
const folder = outputFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const script = join(folder, "generate.py");
const [config, prompts] = [join(folder, "scripted.yaml"), join(folder, "prompts.txt")];
const experiment = {
  experiment: { name: "scripted" },
  models: [{ id: "mine", engine: "transformers", path: script }],
  sweep: { context_lengths: [128, 256], output_tokens: [16] },
  prompts: { source: prompts, count: 3, tokens: 40 },
  run: { baseline: "100ms", collector: ["process"] },
  output: { base_dir: join(folder, "out") },
};

test("an experiment runs a script with what it is to do, and one that fails is told", async () => {
  const told = join(folder, "told.txt");
  // It has no model: what it is told is what is tried here.
  writeFileSync(
    script,
    `import sys\nopen("${told}", "a").write(" ".join(sys.argv[1:]) + "\\n")\nsys.exit("256" in sys.argv)\n`,
  );
  writeFileSync(prompts, "What is kept in a cache?\n");
  writeFileSync(config, JSON.stringify(experiment));
  const ended = await runCli(["run", "--config", config, "--json"]);
  const { runs } = jsonOf(ended) as { readonly runs: readonly { readonly run_dir: string; readonly why: string }[] };
  expect(runs).toMatchObject([
    { status: "complete" },
    { status: "failed", why: expect.stringContaining("the target") },
  ]);
  const numbers = (context: number): string =>
    `--context-tokens ${context} --sequences 1 --prompts 3 --prompt-tokens 40 --output-tokens 16 --seed 1`;
  expect(readFileSync(told, "utf8").split("\n")).toEqual([
    `${numbers(128)} --prompt-file ${prompts}`,
    `${numbers(256)} --prompt-file ${prompts}`,
    "",
  ]);
  const metadata = JSON.parse(readFileSync(join(runs[0]?.run_dir ?? "", "metadata.json"), "utf8"));
  expect(metadata.target.command.slice(0, 2)).toEqual(["python3", script]);
});

test("an experiment with a script is refused before anything runs where there is no Python", async () => {
  writeFileSync(script, "");
  writeFileSync(config, JSON.stringify(experiment));
  const empty = join(folder, "empty");
  mkdirSync(empty, { recursive: true });
  const ended = await runCli(["run", "--config", config], { env: { PATH: empty } });
  expect([ended.exitCode, ended.stderr]).toEqual([3, expect.stringContaining("there is no python3 on PATH")]);
});
