#!/usr/bin/env bun
/**
 * Requests to Ollama, both generations of its engine, with several at once: which sequence each had, what of its prompt was in the cache, and what
 * it wrote, beside what the runner logs of its slots. Run by scripts/test-engines; MRM_TRACE_MINUTES says for how long in all (1.5).
 * Needs go, git, g++ and root.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../src/api/open-run.ts";
import { freePort } from "../../src/client/server-port.ts";
import { ensureDemoModel } from "../../src/demo/demo-model.ts";
import { monotonicNs, realtimeNs } from "../../src/kernel/libc.ts";
import { promptsOf } from "../../tests/validity/laboratory/random-serving.ts";
import { build, folder, program, say, strip, stripped, VERSION } from "../ollama-environment.ts";
import { settings, startOllama } from "../ollama-server.ts";

const RUNS = 4;
const SECONDS = (60 * Number(process.env.MRM_TRACE_MINUTES ?? "1.5")) / RUNS;
const CLI = new URL("../../src/cli.ts", import.meta.url).pathname;
/** A prompt and its answer fit into 512 tokens. */
const PROMPT_WORDS = 40;

/** Gives Ollama the one model that it is asked for. */
async function createModel(model: string): Promise<void> {
  const url = `http://127.0.0.1:${await freePort()}`;
  // At temperature 0 random weights repeat themselves until Ollama ends the answer.
  const parameters = { num_ctx: 512, temperature: 1 };
  await using _ = await startOllama(program, settings(url, {}), url, model, parameters);
}

/** A request that got a slot, as the runner logs it. */
interface Loaded {
  /** ms since 1970. */
  readonly time_ms: number;
  readonly slot: number;
  readonly prompt: number;
  readonly used: number;
}

function loadedSlots(log: string): Loaded[] {
  const pattern = /^time=(\S+) .*msg="loading cache slot" id=(\d+) cache=\d+ prompt=(\d+) used=(\d+) remaining=\d+/gm;
  return [...log.matchAll(pattern)].map(([, time = "", ...numbers]) => {
    const [slot = -1, prompt = -1, used = -1] = numbers.map(Number);
    return { time_ms: Date.parse(time), slot, prompt, used };
  });
}

/** Serves our client for some time. @returns the run and what the runner logged */
async function served(command: string, engine: Readonly<Record<string, string>>, seed: number) {
  const prompts = join(folder, "prompts.txt");
  writeFileSync(prompts, promptsOf(seed, PROMPT_WORDS));
  const log = join(folder, "clients.log");
  rmSync(log, { force: true });
  const asked = ["run", "--serve", `${SECONDS}s`, "--api", "ollama", "--clients", "4", "--request-tokens", "30"];
  const options = [...asked, "--prompts", prompts, "--json", "--output", join(folder, "results")];
  const server = ["env", "OLLAMA_HOST=127.0.0.1:{port}", command, "serve"];
  const tracer = Bun.spawn([process.execPath, CLI, ...options, "--", ...server], {
    env: settings("127.0.0.1:0", { OLLAMA_NUM_PARALLEL: "4", OLLAMA_DEBUG: "1", ...engine }),
    stdio: ["ignore", "pipe", Bun.file(log)],
  });
  const report = await new Response(tracer.stdout).text();
  if (report === "") throw new Error(`exit code ${await tracer.exited}: see ${log}`);
  const { run_dir } = JSON.parse(report) as { readonly run_dir: string };
  return { run_dir, slots: loadedSlots(readFileSync(log, "utf8")) };
}

/** The clock of the run's times less that of the log's, ms: both are of this machine. */
const sinceBoot_ms = Number(monotonicNs() - realtimeNs()) / 1e6;
/** The log has whole ms, and is written a little later. */
const SLACK_MS = 50;

/** Prints what was known beside what the runner logged. @returns whether nothing is wrong and most is known */
function tell({ run_dir, slots }: Awaited<ReturnType<typeof served>>): boolean {
  using opened = openRun(run_dir);
  const figures = opened.table("request_figures").toArray();
  const answered = figures.filter(({ status }) => status === "answered");
  let [right, wrong] = [0, 0];
  for (const { timestamp_ns, ttft_ns, prompt_tokens, sequence_id, reused_tokens } of answered) {
    if (sequence_id === null) continue;
    const sent_ms = Number(timestamp_ns) / 1e6 - sinceBoot_ms;
    const until_ms = sent_ms + Number(ttft_ns ?? 0n) / 1e6 + SLACK_MS;
    const mine = slots.filter(
      ({ time_ms, prompt }) => prompt === prompt_tokens && time_ms >= sent_ms - SLACK_MS && time_ms <= until_ms,
    );
    if (mine.some(({ slot, used }) => slot === sequence_id && used === reused_tokens)) right += 1;
    else wrong += 1;
  }
  const kept = answered.filter((one) => one.wait_ns !== null && one.kv_bytes !== null && one.retention_max_ns !== null);
  say(`  requests     ${figures.length}, ${answered.length} answered; ${slots.length} got a slot by the runner's log`);
  say(`  sequences    ${right} as the log says, ${wrong} not, ${answered.length - right - wrong} not told`);
  say(`  of these     ${kept.length} with their wait, bytes of KV, and how long these were needed`);
  for (const [why, some] of Map.groupBy(answered, (figure) => figure.why)) {
    if (why !== null) say(`  ${some.length}: ${why}`);
  }
  for (const text of opened.metadata.warnings) say(`  warning      ${text}`);
  return wrong === 0 && right > 0.8 * answered.length;
}

await build();
await strip();
await createModel(await ensureDemoModel(join(folder, "models"), { params: "15m", type: "q8_0", seed: 1 }));
let isKnown = true;
for (const command of [program, stripped]) {
  for (const [name, engine] of [
    ["llama.cpp's runner", {}],
    ["Ollama's own engine", { OLLAMA_NEW_ENGINE: "1" }],
  ] as const) {
    say(`ollama ${VERSION}${command === stripped ? ", stripped" : ""}, ${name}`);
    isKnown = tell(await served(command, engine, 1)) && isKnown;
  }
}
say(isKnown ? "ollama: the sequences of its requests are known" : "ollama: not all is known, see above");
process.exit(isKnown ? 0 : 1);
