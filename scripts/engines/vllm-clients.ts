#!/usr/bin/env bun
/**
 * The server of vLLM on a CPU under `mrm-trace run --serve`, first asked for completions and then for chats, and beside our client others
 * that ask at random, of whom some hang up: steps, tokens, sequences and requests held against what its scheduler logs, and how many of our
 * requests are joined to the engine's. Run by scripts/test-engines; MRM_TRACE_MINUTES says for how long in all (3). 6.2 GB installed from PyPI; needs python3-venv, libnuma1 and root. Ends with
 * 1 where anything differs.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../src/api/open-run.ts";
import { namedSequences } from "../../src/label/kv/row-owners.ts";
import { runsOf } from "../../src/label/kv/step-runs.ts";
import { isBatch, stepRows } from "../../src/label/timeline/step-row.ts";
import { seededRandom } from "../../src/statistics/prng.ts";
import { CLI } from "../../tests/integration/run/cli.ts";
import { type Asking, askAtRandom } from "../../tests/validity/laboratory/random-clients.ts";
import { ENGINE_ENVIRONMENT, folder, install, MODES, type Mode, python, run, say } from "../vllm-environment.ts";

const APIS = ["openai", "openai-chat"] as const;
const SECONDS = (60 * Number(process.env.MRM_TRACE_MINUTES ?? "3")) / APIS.length / MODES.length;
const [OTHERS, SEED] = [3, 1];
/** The others end so long before our client. */
const BEFORE_END_S = 5;
/** Longer than a block of the cache, so that a prefix can be found. */
const BEGINNING = `${Array.from({ length: 70 }, (_, i) => `w${i + 1}`).join(" ")} `;
const WORDS = `import json, sys, torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
torch.manual_seed(1)
sizes = dict(hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2)
ids = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
LlamaForCausalLM(LlamaConfig(**sizes, **ids, vocab_size=1000, max_position_embeddings=2048)).save_pretrained(sys.argv[1])
words = ["<unk>", "<s>", "</s>"] + list("0123456789abcdefghijklmnopqrstuvwxyz")
words += [f"w{i}" for i in range(1000 - len(words))]
known = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
known.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=known, unk_token="<unk>", eos_token="</s>").save_pretrained(sys.argv[1])
`;

/** What the scheduler logs, see tests/fixtures/vllm_log. */
type Part = readonly [request: string, position: number, tokens: number];
type Line =
  | { readonly step: readonly Part[] }
  | { readonly ended: readonly [request: string, prompt: number, answer: number, how: string] };

const OPEN_AI = (model: string): Asking => ({
  path: "/v1/completions",
  body: (prompt, tokens) => ({ model, prompt: BEGINNING + prompt, max_tokens: tokens, ignore_eos: true, stream: true }),
});

/** The model has no template of its own. */
const TEMPLATE = "{% for one in messages %}{{ one.content }}{% endfor %}";

/** Runs the server with our client and the others, who ask for completions in any case; the run and the scheduler's log. */
async function served(
  model: string,
  api: (typeof APIS)[number],
  mode: Mode,
): Promise<{ readonly run_dir: string; readonly lines: readonly Line[]; readonly others: number }> {
  const [log, prompts, errors] = ["scheduler.jsonl", "prompts.txt", "vllm.log"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [log, errors]) rmSync(path, { force: true });
  const random = seededRandom(SEED, 1000);
  const words = () =>
    Array.from({ length: 1 + Math.floor(60 * random() ** 2) }, () => `w${Math.floor(900 * random())}`);
  const texts = Array.from({ length: 200 }, () => (random() < 0.5 ? BEGINNING : "") + words().join(" "));
  writeFileSync(prompts, texts.join("\n"));
  const env = {
    ...ENGINE_ENVIRONMENT,
    ...{ VLLM_CPU_OMP_THREADS_BIND: "0", VLLM_CPU_KVCACHE_SPACE: "1", HF_HUB_OFFLINE: "1", VLLM_NO_USAGE_STATS: "1" },
    MRM_VLLM_LOG: log,
    PYTHONPATH: new URL("../../tests/fixtures/vllm_log", import.meta.url).pathname,
  };
  const command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--host", "127.0.0.1"];
  command.push("--port", "{port}", "--max-model-len", "512", "--max-num-seqs", "8");
  command.push(
    "--dtype",
    "float32",
    "--block-size",
    "32",
    "--enable-prompt-tokens-details",
    "--chat-template",
    TEMPLATE,
  );
  if (mode === "eager") command.push("--enforce-eager");
  const asked = ["run", "--serve", `${SECONDS}s`, "--api", api, "--clients", "2", "--request-tokens", "40"];
  const options = [...asked, "--prompts", prompts, "--json", "--output", join(folder, "results")];
  const tracer = Bun.spawn([process.execPath, CLI, ...options, "--", ...command], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", Bun.file(errors)],
  });
  const stdout = new Response(tracer.stdout).text();
  const listening = (): string | undefined =>
    existsSync(errors)
      ? /Starting vLLM server on http:\/\/127\.0\.0\.1:(\d+)/.exec(readFileSync(errors, "utf8"))?.[1]
      : undefined;
  while (listening() === undefined && tracer.exitCode === null) await Bun.sleep(200);
  const port = Number(listening());
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => null))?.ok === true;
  while (tracer.exitCode === null && !(await isReady())) await Bun.sleep(200);
  if (tracer.exitCode !== null) throw new Error(`exit code ${tracer.exitCode}: see ${errors}`);
  const others = await askAtRandom(port, OTHERS, SECONDS - BEFORE_END_S, SEED, OPEN_AI(model));
  const report = await stdout;
  if (report === "") throw new Error(`exit code ${await tracer.exited}: see ${errors}`);
  const { run_dir } = JSON.parse(report) as { readonly run_dir: string };
  const lines = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  return { run_dir, lines, others };
}

/** What the scheduler's log says of each request, by its name. */
interface Logged {
  readonly prompt: number;
  /** Position of the first token that a step worked on. */
  readonly begin: number;
  /** Tokens that steps made: the one of a step that goes on when its client hangs up is thrown away, and not in `answer`. */
  made: number;
  readonly answer: number;
  readonly isAborted: boolean;
  readonly isWorkedOn: boolean;
}

function requestsIn(lines: readonly Line[]): Map<string, Logged> {
  const found = new Map<string, Logged>();
  const parts = Map.groupBy(
    lines.flatMap((line) => ("step" in line ? line.step : [])),
    ([name]) => name,
  );
  for (const line of lines) {
    if (!("ended" in line)) continue;
    const [name, prompt, answer, how] = line.ended;
    const own = parts.get(name) ?? [];
    const made = own.filter(([, position, tokens]) => position + tokens >= prompt).length;
    found.set(name, {
      prompt,
      begin: own[0]?.[1] ?? 0,
      made,
      answer,
      isAborted: how === "FINISHED_ABORTED",
      isWorkedOn: own.length > 0,
    });
  }
  return found;
}

/** The parts of a step in an order, with or without their names. */
const partsText = (parts: readonly Part[], isNamed: boolean): string =>
  parts
    .map(([name, ...rest]) => JSON.stringify(isNamed ? [name, ...rest] : rest))
    .sort()
    .join();

/** Prints what was known beside what the scheduler logged. @returns whether nothing differs */
function tell({ run_dir, lines, others }: Awaited<ReturnType<typeof served>>): boolean {
  using opened = openRun(run_dir);
  const all = stepRows(opened.table("step").toArray(), 0n);
  const named = namedSequences(all);
  const seen = all
    .filter(isBatch)
    .map((step) =>
      (runsOf(step) ?? []).map(
        ({ sequences, position, tokens }): Part => [named?.nameOf(sequences[0] ?? -1) ?? "", position, tokens],
      ),
    );
  const logged = lines.flatMap((line) => ("step" in line ? [line.step] : []));
  const requests = requestsIn(lines);
  const tokensOf = (steps: readonly (readonly Part[])[]): number =>
    steps.flat().reduce((total, [, , tokens]) => total + tokens, 0);
  const alike = (isNamed: boolean): number =>
    seen.filter((parts, i) => partsText(parts, isNamed) === partsText(logged[i] ?? [], isNamed)).length;
  const figures = opened.table("request_figures").toArray();
  const ours = figures.filter(({ status }) => status !== "served");
  const known = figures.filter(({ request }) => request !== null);
  const right = known.filter(({ request, prompt_tokens, reused_tokens, output_tokens }) => {
    const { prompt, begin, made } = requests.get(request ?? "") ?? {};
    return prompt_tokens === prompt && reused_tokens === begin && output_tokens === made;
  });
  const joined = ours.filter(({ request, ...one }) => request !== null && one.ttft_ns && one.wait_ns && one.kv_bytes);
  const aborted = [...requests.values()].filter(({ isAborted }) => isAborted);
  // One whose client hangs up while it waits is in no step, which is all that is seen.
  const worked = [...requests.values()].filter(({ isWorkedOn }) => isWorkedOn).length;
  const thrown = aborted.filter(({ made, answer }) => made === answer + 1).length;
  const checks: readonly (readonly [what: string, known: number, truth: number])[] = [
    ["steps", seen.length, logged.length],
    ["tokens of steps", tokensOf(seen), tokensOf(logged)],
    ["sequences in steps", seen.flat().length, logged.flat().length],
    ["steps with the positions and tokens of all their sequences", alike(false), logged.length],
    ["the same with the names of their requests", alike(true), logged.length],
    [`requests, ${others} of others; ${aborted.length} hung up`, ours.length + others, requests.size],
    ["requests with a name, and right tokens of prompt, cache and answer", right.length, worked],
    ["requests of our client with its times and the engine's", joined.length, ours.length],
  ];
  for (const [what, value, truth] of checks) {
    say(`  ${value === truth ? "alike " : "DIFFER"} ${what}: ${value}, by vLLM ${truth}`);
  }
  say(`  ${requests.size - worked} hung up before a step worked on them`);
  say(`  of ${thrown} that hung up vLLM threw the last token away, which a step had made`);
  for (const [why, some] of Map.groupBy(figures, (figure) => figure.why))
    if (why !== null) say(`  ${some.length}: ${why}`);
  for (const text of opened.metadata.warnings) say(`  warning ${text}`);
  return checks.every(([, value, truth]) => value === truth);
}

await install();
const model = join(folder, "served");
mkdirSync(folder, { recursive: true });
if (!existsSync(join(model, "tokenizer.json"))) await run(python, "-c", WORDS, model);
let isAlike = true;
for (const mode of MODES) {
  for (const api of APIS) {
    say(`${mode}, --api ${api}`);
    isAlike = tell(await served(model, api, mode)) && isAlike;
  }
}
say(isAlike ? "vllm-clients: all as vLLM has it" : "vllm-clients: not all is as vLLM has it, see above");
process.exit(isAlike ? 0 : 1);
