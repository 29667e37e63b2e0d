#!/usr/bin/env bun
/**
 * Steps, tokens, sequences, rows of the cache and requests of a real llama-server of 4 slots, whose clients ask at random and some of
 * whom hang up, as `mrm-trace run --serve` has them, held against the server's own log:
 * `bun scripts/truth-requests.ts [--minutes N] [--seed N] [--build decode|process] [--keep FOLDER]`, where the build hands batches over by
 * `llama_decode` (the default) or by `llama_process`. It needs root, and PyPI once. Ends with 1 where anything differs.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeModel } from "../src/demo/model/write-model.ts";
import { BUILDS, fetchLlamaServer } from "../tests/fixtures/llama-server.ts";
import { randomServing } from "../tests/validity/laboratory/random-serving.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    build: { type: "string", default: "decode" },
    keep: { type: "string" },
  },
});
const { build } = values;
if (build !== "decode" && build !== "process") throw new Error(`--build is decode or process, not ${build}`);
const folder = values.keep ?? mkdtempSync(join(tmpdir(), "mrm-truth-requests-"));
const server = await fetchLlamaServer(BUILDS[build]);
if (!server.ok) throw new Error(server.reason);
let differs = false;
try {
  mkdirSync(folder, { recursive: true });
  const model = join(folder, "model.gguf");
  if (!existsSync(model)) await writeModel({ params: "15m", type: "q8_0", seed: 1 }, model);
  const asked = { model, folder, seconds: 60 * Number(values.minutes), seed: Number(values.seed) };
  const { checks, fitted, warnings, run_dir } = await randomServing(server, asked);
  for (const { what, seen, logged, alike } of checks) {
    differs ||= alike !== seen || alike !== logged;
    process.stdout.write(`${what}: ${seen}, by the server ${logged}, alike ${alike}\n`);
  }
  differs ||= fitted.wrong > 0;
  process.stdout.write(
    `sequences that would fit requests alone: right ${fitted.right} of ${fitted.requests}, wrong ${fitted.wrong}\n`,
  );
  for (const text of warnings) process.stdout.write(`warning: ${text}\n`);
  if (values.keep !== undefined) process.stdout.write(`${run_dir}\n`);
} finally {
  if (values.keep === undefined) rmSync(folder, { recursive: true });
}
process.exit(differs ? 1 : 0);
