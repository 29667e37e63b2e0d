import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { demoCommand } from "../../../src/demo/demo.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { modelFacts } from "../../../src/engine/gguf/model-facts.ts";
import { jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

setDefaultTimeout(120_000);

const folder = mkdtempSync(join(tmpdir(), "mrm-unnamed-"));
const model = join(folder, "model.gguf");
const script = join(folder, "script.sh");
const output = outputFolder();
afterAll(() => {
  for (const path of [folder, output]) rmSync(path, { recursive: true });
});

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

beforeAll(async () => {
  await writeModel({ params: "1m", type: "q8_0", seed: 1 }, model);
  const { command, env } = await demoCommand({ cacheDir: demoCacheDir(), model, threads: 1, tokens: 2000 });
  const words = [...Object.entries(env).map(([key, value]) => `${key}=${quoted(value)}`), ...command.map(quoted)];
  writeFileSync(script, `${words.join(" ")}\n`);
});

describe("a command that opens its model itself", () => {
  test("has the facts of the model in the report and in metadata.json, and its name in the first line", async () => {
    const ended = await runCli(["run", "--json", ...QUICK, "--output", output, "--", "sh", script]);
    expect([ended.exitCode, ended.stderr]).toEqual([0, expect.any(String)]);
    const report = jsonOf(ended) as { readonly run_dir: string; readonly model_id: string; readonly model: unknown };
    const facts = modelFacts(model);
    expect(facts?.name).toBe("random 1m q8_0 seed 1");
    // Its folder was made before anything of it was known.
    expect([report.model_id, report.model]).toEqual(["sh", facts]);
    const metadata: unknown = JSON.parse(readFileSync(join(report.run_dir, "metadata.json"), "utf8"));
    expect(metadata).toMatchObject({ model: { id: "sh", ...facts } });
    const shown = await runCli(["show", report.run_dir]);
    expect(shown.stdout).toMatch(/^random-1m-q8_0-seed-1 {2}[\d.]+[kM] parameters {2}\d{8}T/);
  });
});
