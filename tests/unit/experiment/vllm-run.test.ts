import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vllmCommand, vllmProblem, vocabularyOf } from "../../../src/experiment/vllm-run.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-vllm-run-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the vocabulary is what the model's folder says, and a folder that says none is refused", () => {
  expect(vocabularyOf(join(folder, "none"))).toBeNull();
  for (const text of ["", "{", "{}", '{"vocab_size":0}', '{"vocab_size":"many"}', "[]"]) {
    writeFileSync(join(folder, "config.json"), text);
    expect(vocabularyOf(folder)).toBeNull();
    expect(vllmProblem(folder)).toMatchObject({ key: "path", isEnvironment: false });
  }
  const pipe = join(folder, "pipe");
  mkdirSync(pipe);
  Bun.spawnSync(["mkfifo", join(pipe, "config.json")]);
  expect(vocabularyOf(pipe)).toBeNull();
  expect(vllmProblem(undefined)).toMatchObject({ key: "engine", isEnvironment: false });
  writeFileSync(join(folder, "config.json"), '{"vocab_size":1000}');
  expect(vocabularyOf(folder)).toBe(1000);
});

test("a cell is told by flags, without a tokenizer where the folder has none, and nothing is asked of a hub", () => {
  const command = vllmCommand({ path: folder }, { context_length: 512, batch_size: 4 });
  expect(command.slice(0, 6)).toEqual([
    ...["env", "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "python3", "-m", "vllm.entrypoints.openai.api_server"],
  ]);
  expect(command.join(" ")).toEndWith("--max-model-len 512 --max-num-seqs 4 --skip-tokenizer-init");
  writeFileSync(join(folder, "tokenizer.json"), "{}");
  const told = vllmCommand({ path: folder, dtype: "bfloat16" }, { context_length: 512, batch_size: 4 });
  expect(told.join(" ")).toEndWith("--max-num-seqs 4 --dtype bfloat16");
});
