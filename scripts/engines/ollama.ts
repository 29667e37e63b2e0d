#!/usr/bin/env bun
/**
 * Ollama under `mrm-trace attach`, both generations of its engine: built from its Go module, a model of random weights, and what
 * the tracer knew of it beside what Ollama and the model's file say. Run by scripts/test-engines; needs go, git, g++ and root.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../src/api/open-run.ts";
import { freePort } from "../../src/client/server-port.ts";
import { ensureDemoModel } from "../../src/demo/demo-model.ts";
import { readGgufFile } from "../../src/engine/gguf/file.ts";
import { type Started, startCli } from "../../tests/integration/run/cli.ts";
import { type Answer, askChats, type Chats, type How } from "../ollama-chats.ts";
import { build, folder, program, say, strip, stripped, VERSION } from "../ollama-environment.ts";
import { MODEL, settings, startOllama } from "../ollama-server.ts";

/** Requests while the tracer looks, and tokens of each. */
const [REQUESTS, TOKENS] = [3, 100];
/**
 * Answers of `/v1/chat/completions`, and tokens of each. Our client asks for streamed ones at temperature 0, and Ollama ends an answer
 * that repeats a token more often than 30 times.
 */
const CHATS = { whole: [3, 100], streamed: [8, 30] } as const;
const CONTEXT = 512;

interface Served extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  ask(tokens: number, prompt: string): Promise<Answer>;
}

/** Pids of the children of a process. */
function children(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((tid) =>
    readFileSync(`/proc/${pid}/task/${tid}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
}

/** Ollama with the model, loaded. */
async function serve(started: string, model: string, engine: Readonly<Record<string, string>>): Promise<Served> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const env = settings(url, { OLLAMA_NUM_PARALLEL: "1", ...engine });
  const server = await startOllama(started, env, url, model, { num_ctx: CONTEXT });
  const served: Served = {
    ...{ pid: server.pid, url },
    async ask(tokens, prompt) {
      // At temperature 0 random weights repeat themselves until Ollama ends the answer.
      const options = { num_predict: tokens, temperature: 1, seed: 1, num_ctx: CONTEXT, num_thread: 1 };
      const body = JSON.stringify({ model: MODEL, prompt, raw: true, stream: false, options });
      const response = await fetch(`${url}/api/generate`, { method: "POST", body });
      if (!response.ok) throw new Error(`ollama answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
      return (await response.json()) as Answer;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  await served.ask(8, "warm up");
  return served;
}

interface Report {
  readonly run_dir: string;
  /** What tokens took by the places between which Ollama counts. */
  readonly engine: { readonly engine_time?: { readonly tokens: number; readonly tokens_per_s: number } } | null;
  readonly warnings: readonly string[];
  readonly target: Readonly<
    Record<"prompt_tokens" | "decode_tokens" | "decode_tokens_per_s" | "decode_call_tokens_per_s", number | null>
  >;
  readonly labels: readonly { readonly region_type: string; readonly bytes: string }[];
}

interface Tried {
  readonly report: Report;
  readonly answers: readonly Answer[];
  readonly runner: string;
}

/** By Ollama's own API, and how its answers count themselves. */
async function askItsOwn(served: Served): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let i = 0; i < REQUESTS; i++) answers.push(await served.ask(TOKENS, `${i} ${"the fox sleeps ".repeat(3)}`));
  return answers;
}

/** Attaches to the server with its runner, asks, and ends the recording. */
async function traced(served: Served, ask: (command: readonly string[]) => Promise<readonly Answer[]>): Promise<Tried> {
  const [runner = 0] = children(served.pid);
  const args = ["attach", String(served.pid), "--json", "--verbose", "--baseline", "100ms", ...process.argv.slice(2)];
  const tracer: Started = startCli([...args, "--output", join(folder, "results")]);
  await tracer.said("recording");
  const command = readFileSync(`/proc/${runner}/cmdline`, "utf8").split("\0");
  const answers = await ask(command);
  await Bun.sleep(500);
  tracer.signal("SIGINT");
  const ended = await tracer.ended;
  const words = command.slice(1, 3).filter((word) => !word.startsWith("/") && word !== "--model");
  return { report: JSON.parse(ended.stdout) as Report, answers, runner: ["ollama", ...words].join(" ") };
}

interface Tensor {
  readonly kind: string;
  readonly name: string | null;
  readonly logical_id: string | null;
  readonly region_type: string | null;
  readonly size_bytes: bigint;
}

interface KvBlock {
  readonly layer: number | null;
  readonly position: number | null;
  readonly write_ns: bigint;
}

/**
 * Prints what was known beside what is true.
 * @param ahead steps of each answer that are computed before it is known that it has ended: their token is thrown away
 */
function tell({ report, answers, runner }: Tried, model: string, ahead: number): boolean {
  const gguf = readGgufFile(model);
  if (!gguf.ok) throw new Error(gguf.reason);
  using opened = openRun(report.run_dir);
  const rows = (table: "tensor" | "step" | "kv_block_lifecycle") =>
    opened.table(table).toArray() as unknown as Record<string, unknown>[];
  const tensors = rows("tensor") as unknown as Tensor[];
  const names = (type: string) =>
    new Set(
      tensors.filter(({ region_type }) => region_type === type).map(({ name, logical_id }) => name ?? logical_id),
    );
  const inFile = gguf.directory.tensors.map(({ name }) => name);
  const found = names("weight");
  const engines = rows("step").filter(({ kind }) => kind === "engine");
  const decodes = rows("step").filter(({ kind }) => kind === "decode");
  const sum = (of: (answer: Answer) => number) => answers.reduce((total, answer) => total + of(answer), 0);
  const generated = sum(({ eval_count }) => eval_count);
  // The first token of an answer comes from the step of its prompt.
  const stepped = generated - answers.length + ahead * answers.length;
  const blocks = rows("kv_block_lifecycle") as unknown as KvBlock[];
  const begins = new Set(decodes.map(({ timestamp_ns }) => timestamp_ns));
  const written = new Set(
    blocks.filter((row) => begins.has(row.write_ns)).map((row) => `${row.write_ns}/${row.position}`),
  );
  const named = inFile.filter((name) => found.has(name)).length;
  const bytes = (type: string) =>
    report.labels.filter((row) => row.region_type === type).reduce((total, row) => total + Number(row.bytes), 0);
  say(`  process      ${runner}`);
  say(`  engine       ${engines.length === 0 ? "not recognised" : engines.map(({ detail }) => detail).join("; ")}`);
  const fileBytes = gguf.directory.tensors.reduce((total, tensor) => total + (tensor.bytes ?? 0), 0);
  say(
    `  weights      ${named} of the file's ${inFile.length} tensors by name; ${bytes("weight")} of ${fileBytes} bytes`,
  );
  say(`  KV cache     ${names("kv_cache").size} tensors by name or layer; ${bytes("kv_cache")} bytes`);
  say(`  activations  ${bytes("activation")} bytes`);
  say(`  steps        ${decodes.length} seen`);
  say(`  tokens       ${report.target.decode_tokens} decoded, ${report.target.prompt_tokens} of prompt seen`);
  say(
    `  by Ollama    ${generated} generated, the first of ${answers.length} answers in the step of its prompt, ${ahead * answers.length} thrown away: ${stepped} in a step of their own; ${sum((a) => a.prompt_eval_count)} of prompt, with those that were in its cache`,
  );
  const steppedTokens = (report.target.decode_tokens ?? 0) + (report.target.prompt_tokens ?? 0);
  say(`  KV rows      of ${written.size} tokens in each tensor, of ${steppedTokens} in steps`);
  const { decode_tokens_per_s: wall, decode_call_tokens_per_s: calls } = report.target;
  const eval_s = sum((a) => a.eval_duration) / 1e9;
  say(
    `  per second   ${wall?.toFixed(1)} seen, ${calls?.toFixed(1)} in the calls; ${(generated / eval_s).toFixed(1)} by Ollama, ${((generated - answers.length) / eval_s).toFixed(1)} without the first of each answer`,
  );
  const later = (generated - answers.length) / eval_s;
  const { tokens: paced = 0, tokens_per_s: pace = 0 } = report.engine?.engine_time ?? {};
  say(
    `  as it counts ${pace.toFixed(2)} per second of ${paced} tokens, ${(100 * (pace / later - 1)).toFixed(2)} % from it`,
  );
  for (const text of report.warnings) say(`  warning      ${text}`);
  const tokens = report.target.decode_tokens ?? 0;
  return (
    named === inFile.length &&
    bytes("weight") === fileBytes &&
    Math.abs(tokens - stepped) <= 0.01 * stepped &&
    Math.abs(pace / later - 1) <= 0.01 &&
    written.size === steppedTokens
  );
}

/** Attaches again, asks for chats, and prints what these say by themselves beside what the runner counts of them. */
async function triedChats(served: Served, how: How, model: string, ahead: number): Promise<boolean> {
  say(`  ${how} answers of /v1/chat/completions`);
  const [count, tokens] = CHATS[how];
  let chats: Chats = { answers: [], said: [] };
  const tried = await traced(served, async (command) => {
    chats = await askChats(how, served.url, command, count, tokens);
    return chats.answers;
  });
  const isKnown = tell(tried, model, ahead);
  const { answers, said } = chats;
  const total = (counts: readonly (number | null)[]) => counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const isNear = (told: number, counted: number) => counted > 0 && Math.abs(told - counted) <= 0.01 * counted;
  const prompt = total(said.map(({ prompt_tokens }) => prompt_tokens));
  const output = total(said.map(({ output_tokens }) => output_tokens));
  const came = how === "whole" ? output : total(said.map(({ came }) => came));
  const byRunner = total(answers.map(({ eval_count }) => eval_count));
  const promptByRunner = total(answers.map(({ prompt_eval_count }) => prompt_eval_count));
  const seen = how === "whole" ? "" : `, ${came} of them as our client saw them come`;
  say(
    `  by /v1       ${prompt} of prompt, ${output} generated${seen}; by the runner ${promptByRunner} and ${byRunner}`,
  );
  return isKnown && isNear(prompt, promptByRunner) && isNear(output, byRunner) && isNear(came, byRunner);
}

await build();
await strip();
const model = await ensureDemoModel(join(folder, "models"), { params: "15m", type: "q8_0", seed: 1 });
let isKnown = true;
for (const started of [program, stripped]) {
  for (const [name, ahead, engine] of [
    ["llama.cpp's runner", 0, {}],
    ["Ollama's own engine", 1, { OLLAMA_NEW_ENGINE: "1" }],
  ] as const) {
    say(`ollama ${VERSION}${started === stripped ? ", stripped" : ""}, ${name}`);
    await using served = await serve(started, model, engine);
    isKnown = tell(await traced(served, () => askItsOwn(served)), model, ahead) && isKnown;
    for (const how of ["whole", "streamed"] as const) {
      isKnown = (await triedChats(served, how, model, ahead)) && isKnown;
    }
  }
}
say(isKnown ? "ollama: all weights by name, all tokens" : "ollama: not all is known, see above");
process.exit(isKnown ? 0 : 1);
