import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { endLeftRuns, jsonOf, outputFolder, runCli } from "../run/cli.ts";

setDefaultTimeout(120_000);
afterEach(endLeftRuns);
const folder = outputFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const server = await fetchLlamaServer(BUILDS.process);
if (!server.ok) process.stderr.write(`skipped: experiments in a server: ${server.reason}\n`);
const SERVE = new URL("../../fixtures/llama_server.py", import.meta.url).pathname;

/** The real server under the name and with the options of llama-server, in a folder for PATH. */
function serverOnPath(): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const options = "-m) model=$2 ;; --port) port=$2 ;; -c) context=$2 ;; -np) slots=$2 ;;";
  writeFileSync(
    join(bin, "llama-server"),
    `#!/bin/sh\nwhile [ $# -gt 0 ]; do case "$1" in ${options} esac; shift 2; done\nexec python3 ${SERVE} "$model" "$port" "$context" "$slots" 0 0\n`,
  );
  chmodSync(join(bin, "llama-server"), 0o755);
  return bin;
}

const model = join(folder, "model.gguf");
const config = {
  experiment: { name: "served" },
  models: [{ id: "tiny", engine: "llama-server", path: model }],
  sweep: { context_lengths: [128], output_tokens: [16], batch_sizes: [2] },
  prompts: { source: join(folder, "prompts.txt"), count: 3, tokens: 40 },
  run: { baseline: "100ms", collector: ["process"] },
  output: { base_dir: join(folder, "out") },
};
const path = join(folder, "served.yaml");

test.skipIf(!server.ok)(
  "an experiment serves real prompts in a llama-server, each of the length that was asked",
  async () => {
    if (!server.ok) return;
    await writeModel({ params: "1m", type: "f16", seed: 1 }, model, { force: true });
    writeFileSync(path, JSON.stringify(config));
    writeFileSync(config.prompts.source, "What is kept in a cache?\nAnd for how long is it kept there?\n");
    const env = { ...server.env, PATH: `${serverOnPath()}:${process.env.PATH}` };
    const ended = await runCli(["run", "--config", path, "--json"], { env });
    const { runs } = jsonOf(ended) as {
      readonly runs: readonly { readonly run_dir: string; readonly status: string; readonly why: string }[];
    };
    expect(runs).toMatchObject([{ status: "complete" }]);
    const metadata = JSON.parse(readFileSync(join(runs[0]?.run_dir ?? "", "metadata.json"), "utf8"));
    expect(metadata.generation).toMatchObject({ context_length: 128, batch_size: 2 });
    expect(metadata.requests).toMatchObject({ requests: 3, answered: 3, prompt_tokens: "120", output_tokens: "48" });
    expect(metadata.target.command.join(" ")).toContain("-c 256 -np 2 -fa on");
    expect(metadata.client).toMatchObject({ clients: 2, request_tokens: 16, answered: 3, prompts: 2 });
  },
);

const OLLAMA = new URL("../../fixtures/fake-ollama.ts", import.meta.url).pathname;

test("an experiment gives Ollama the model, and asks it each prompt once", async () => {
  const bin = join(folder, "ollama-bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "ollama"), `#!/bin/sh\nexec ${process.execPath} ${OLLAMA}\n`);
  chmodSync(join(bin, "ollama"), 0o755);
  await writeModel({ params: "1m", type: "f16", seed: 1 }, model, { force: true });
  writeFileSync(config.prompts.source, "one two\nthree four five\n");
  const { tokens: _, ...prompts } = config.prompts;
  writeFileSync(path, JSON.stringify({ ...config, models: [{ id: "o", engine: "ollama", path: model }], prompts }));
  const env = { PATH: `${bin}:${process.env.PATH}`, MRM_TRACE_CACHE: join(folder, "cache") };
  const ended = await runCli(["run", "--config", path, "--json"], { env });
  const { runs } = jsonOf(ended) as { readonly runs: readonly { readonly run_dir: string; readonly why: string }[] };
  expect(runs).toMatchObject([{ status: "complete" }]);
  const metadata = JSON.parse(readFileSync(join(runs[0]?.run_dir ?? "", "metadata.json"), "utf8"));
  // Two words, then three, then the first prompt again.
  expect(metadata.requests).toMatchObject({ requests: 3, answered: 3, prompt_tokens: "7", output_tokens: "48" });
  expect(metadata.client).toMatchObject({ api: "ollama", clients: 2, request_tokens: 16, prompts: 2 });
  expect(metadata.target.command).toContain("OLLAMA_CONTEXT_LENGTH=128");
});

const VLLM = new URL("../../fixtures/fake-vllm-server.ts", import.meta.url).pathname;

test("an experiment starts vLLM's server by its module, and asks it each prompt once, in its own tokens", async () => {
  const environment = join(folder, "venv");
  const weights = join(folder, "weights");
  for (const made of [join(environment, "bin"), join(environment, "lib/python3.11/site-packages/vllm"), weights])
    mkdirSync(made, { recursive: true });
  writeFileSync(join(weights, "config.json"), JSON.stringify({ vocab_size: 1000 }));
  writeFileSync(join(environment, "bin/python3"), `#!/bin/sh\nexec ${process.execPath} ${VLLM} "$@"\n`);
  chmodSync(join(environment, "bin/python3"), 0o755);
  writeFileSync(config.prompts.source, "one two\nthree four five\n");
  const models = [{ id: "v", engine: "vllm", path: weights, dtype: "float32" }];
  writeFileSync(path, JSON.stringify({ ...config, models }));
  const env = { PATH: `${join(environment, "bin")}:${process.env.PATH}` };
  const ended = await runCli(["run", "--config", path, "--json"], { env });
  const { runs } = jsonOf(ended) as { readonly runs: readonly { readonly run_dir: string; readonly why: string }[] };
  expect(runs).toMatchObject([{ status: "complete" }]);
  const metadata = JSON.parse(readFileSync(join(runs[0]?.run_dir ?? "", "metadata.json"), "utf8"));
  expect(metadata.requests).toMatchObject({ requests: 3, answered: 3, prompt_tokens: "120", output_tokens: "48" });
  expect(metadata.client).toMatchObject({ api: "openai", clients: 2, request_tokens: 16, prompts: 2 });
  expect(metadata.target.command.join(" ")).toMatch(
    /python3 -m vllm\.entrypoints\.openai\.api_server .*--max-model-len 128 --max-num-seqs 2 --dtype float32 --skip-tokenizer-init/,
  );
});

test("an experiment in a server that is not there is refused before anything runs, as is what we cannot be the client of", async () => {
  await writeModel({ params: "1m", type: "f16", seed: 1 }, model, { force: true });
  writeFileSync(config.prompts.source, "one\n");
  const refused = async (models: unknown, words: string, code = 3): Promise<void> => {
    writeFileSync(path, JSON.stringify({ ...config, models }));
    const ended = await runCli(["run", "--config", path], { env: { PATH: folder } });
    expect([ended.exitCode, ended.stderr]).toEqual([code, expect.stringContaining(words)]);
  };
  await refused(config.models, "there is no llama-server on PATH");
  await refused(
    [{ id: "a", engine: "vllm", path: "m" }],
    "there is no folder with a config.json that says vocab_size",
    2,
  );
  const weights = join(folder, "weights");
  mkdirSync(weights, { recursive: true });
  writeFileSync(join(weights, "config.json"), JSON.stringify({ vocab_size: 1000 }));
  await refused([{ id: "a", engine: "vllm", path: weights }], "the python3 on PATH has no vllm");
  const ollama = [{ id: "a", engine: "ollama", path: model }];
  await refused(ollama, "there is no ollama on PATH", 2);
  await refused(ollama, "ollama does not tell the tokens of a text", 2);
});
