import { expect, test } from "bun:test";
import { scriptOf } from "../../../src/experiment/script-run.ts";

const model = { id: "mine", engine: "transformers", path: "generate.py" } as const;
const cell = {
  ...{ model, model_id: "mine", context_length: 512, batch_size: 2, output_tokens: 128, prompt_tokens: 64, prompts: 8 },
};
const workload = { output_tokens: 128, prompts: 8, prompt_file: null, prompt_categories: [], is_prompt_exact: true };
const numbers = "--context-tokens 512 --sequences 2 --prompts 8 --prompt-tokens 64 --output-tokens 128 --seed 7".split(
  " ",
);

test("a script is told what to do by its arguments, with the file of prompts where there is one", () => {
  expect(scriptOf(cell, workload, 7)).toEqual(["python3", "generate.py", ...numbers]);
  const texts = { ...workload, prompt_file: "prompts.jsonl", prompt_categories: ["code", "a b"] };
  expect(scriptOf(cell, texts, 7)).toEqual([
    ...["python3", "generate.py", ...numbers, "--prompt-file", "prompts.jsonl"],
    ...["--prompt-category", "code", "--prompt-category", "a b"],
  ]);
});

test("models of other engines have no script", () => {
  expect(scriptOf({ ...cell, model: { id: "a", engine: "llamacpp", path: "m.gguf" } }, workload, 7)).toBeNull();
});
