/** A real llama-server of several slots under `mrm-trace run --serve` with others asking beside our client at random, held against its own log. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { requestBatches } from "../../../src/analyse/requests/request-batches.ts";
import { openRun } from "../../../src/api/open-run.ts";
import { runsOf } from "../../../src/label/kv/step-runs.ts";
import { isBatch, stepRows } from "../../../src/label/timeline/step-row.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import { normalDraw } from "../../../src/statistics/normal.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import type { LlamaServer } from "../../fixtures/llama-server.ts";
import { askAtRandom } from "./random-clients.ts";
import { requestNeeds } from "./request-needs.ts";
import { agreeingRows, type ServerLog, type ServerRequest, seenRows, serverLogOf } from "./server-log.ts";
import { tracedRun } from "./traced-program.ts";

const SLOTS = 4;
const CONTEXT_TOKENS = 4096;
/** Clients of the server that are not ours, beside ours. */
const [OTHERS, OURS] = [4, 2];
const ANSWER_TOKENS = 40;
/** The others end so long before our client does: what the server does last may not reach its log. */
const BEFORE_END_S = 3;
const PROMPTS = 200;
const PROMPT_WORDS = 60;
const BEGINNINGS = ["", "You answer in short words, and you count to ten before you do. ", "Say it again: "];

export interface Check {
  readonly what: string;
  readonly seen: number;
  readonly logged: number;
  /** How many of both are alike, one by one. */
  readonly alike: number;
}

/** Sequences by what fits requests whose server would not say them, as Ollama's does not. */
export interface FittedSequences {
  readonly requests: number;
  readonly right: number;
  readonly wrong: number;
}

export interface RandomServing {
  readonly checks: readonly Check[];
  readonly fitted: FittedSequences;
  readonly warnings: readonly string[];
  readonly run_dir: string;
}

/** Prompts of lognormal length, of which many begin alike. */
export function promptsOf(seed: number, mostWords: number): string {
  const random = seededRandom(seed, 1000);
  return Array.from({ length: PROMPTS }, () => {
    const words = Math.min(mostWords, Math.round(8 * Math.exp(0.9 * normalDraw(random))));
    const text = Array.from({ length: 1 + words }, () => random().toString(36)[2]).join(" ");
    return `${BEGINNINGS[Math.floor(3 * random())]}${text}`;
  }).join("\n");
}

/** The port that the server says in its log. */
async function portIn(path: string, isOver: () => boolean): Promise<number> {
  while (!isOver()) {
    const text = existsSync(path) ? readFileSync(path, "latin1") : "";
    const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    if (port !== undefined) return Number(port);
    await Bun.sleep(100);
  }
  throw new Error("the server did not say where it listens");
}

const alike = <T>(what: string, seen: readonly T[], logged: readonly T[]): Check => {
  const same = seen.filter((one, i) => JSON.stringify(one) === JSON.stringify(logged[i])).length;
  return { what, seen: seen.length, logged: logged.length, alike: same };
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * What the log has of a request of ours, to which it gives no name: of those that got its slot between when it was sent and
 * its first token the last one, whose last batch came before its last token. Where a client hears of its tokens late, its slot
 * may have had another one by then. Null where there is none.
 */
function loggedRequest(
  { sequence_id, timestamp_ns, first_token_ns, last_token_ns }: RowOf<"request">,
  log: ServerLog,
  beginOf: (batch: number) => bigint,
): ServerRequest | null {
  const those = log.requests.filter(
    ({ slot, first_batch, end_batch }) =>
      slot === sequence_id &&
      beginOf(first_batch) >= timestamp_ns &&
      beginOf(first_batch) < (first_token_ns ?? 0n) &&
      beginOf((end_batch ?? log.batches.length) - 1) <= (last_token_ns ?? 0n),
  );
  return those.at(-1) ?? null;
}

/** What would be told of the requests if the server had said neither their sequences nor what it had in its cache. */
function fittedOf(run_dir: string): FittedSequences {
  using run = openRun(run_dir);
  const steps = stepRows(run.table("step").toArray(), 0n).sort((one, other) => one.begin_ns - other.begin_ns);
  const requests = run.table("request").toArray() as RowOf<"request">[];
  const untold = requests.map((row) => ({ ...row, sequence_id: null, evaluated_tokens: null }));
  const found = requestBatches(untold, steps, 0n).flatMap((batches, i) => {
    const { sequence_id, evaluated_tokens } = requests[i] as RowOf<"request">;
    const { sequence, evaluated_tokens: evaluated } = batches?.fitted ?? {};
    return sequence === undefined ? [] : [sequence === sequence_id && evaluated === evaluated_tokens];
  });
  const right = found.filter((isRight) => isRight).length;
  return { requests: requests.length, right, wrong: found.length - right };
}

/** What a run says beside what its server's log does. */
function checksOf(run_dir: string, log: ServerLog, others: number): Check[] {
  using run = openRun(run_dir);
  const all = stepRows(run.table("step").toArray(), 0n).filter(({ kind, n_tokens }) => kind === "decode" && n_tokens);
  const begins = run
    .table("step")
    .toArray()
    .filter(({ kind, n_tokens }) => kind === "decode" && n_tokens)
    .map(({ timestamp_ns }) => timestamp_ns)
    .sort((a, b) => Number(a - b));
  // When it loads a model, the engine tries its cache with a batch, of which the server's log knows nothing.
  const tried = all.length > log.batches.length ? 1 : 0;
  const steps = all.slice(tried).filter(isBatch);
  const beginOf = (batch: number): bigint => begins[batch + tried] ?? -1n;
  const parts = steps.map((step) =>
    (runsOf(step) ?? [])
      .map(({ sequences, position, tokens }) => [sequences.join(), position, tokens])
      .sort(([a], [b]) => Number(a) - Number(b)),
  );
  const loggedParts = log.batches.map((batch) => batch.parts.map(([slot, ...rest]) => [String(slot), ...rest]));
  const [tokens, loggedTokens] = [steps.map(({ n_tokens }) => n_tokens ?? 0), log.batches.map((one) => one.tokens)];
  const sequences = parts.flatMap((some, i) => some.map((part) => JSON.stringify([i, part])));
  const known = new Set(sequences);
  const loggedSequences = loggedParts.flatMap((some, i) => some.map((part) => JSON.stringify([i, part])));
  const requests = run.table("request").toArray();
  const figures = new Map(
    run
      .table("request_figures")
      .toArray()
      .map((figure) => [figure.request_id, figure]),
  );
  const lives = run.table("kv_block_lifecycle").toArray();
  const tensors = Map.groupBy(lives, ({ tensor }) => tensor);
  const first_ns = beginOf(0);
  const rows = seenRows(tensors.values().next().value ?? [], first_ns);
  const row_bytes = sum([...tensors.values()].map(([row]) => Number(row?.size_bytes ?? 0n)));
  const joined = requests.map((request) => ({ request, logged: loggedRequest(request, log, beginOf) }));
  const agreeing = agreeingRows(log, rows, begins.slice(tried));
  const ours = joined.filter(({ request: { prompt_tokens, evaluated_tokens, output_tokens }, logged }) => {
    const counted = [prompt_tokens, evaluated_tokens, output_tokens];
    return JSON.stringify(counted) === JSON.stringify([logged?.prompt_tokens, ...(logged?.counted ?? [])]);
  });
  const begun = joined.filter(({ request: { request_id, timestamp_ns }, logged }) => {
    const { wait_ns = null } = figures.get(request_id) ?? {};
    return logged !== null && wait_ns !== null && timestamp_ns + wait_ns === beginOf(logged.first_batch);
  });
  const held = joined.filter(({ request: { request_id, prompt_tokens, output_tokens } }) => {
    const rowsHeld = (prompt_tokens ?? 0) + (output_tokens ?? 0) - 1;
    return Number(figures.get(request_id)?.kv_bytes ?? 0n) === rowsHeld * row_bytes;
  });
  const kept = joined.filter(({ request: { request_id }, logged }) => {
    const needs = logged === null ? null : requestNeeds(log, logged, beginOf);
    const { retention_p50_ns = null, retention_max_ns = null } = figures.get(request_id) ?? {};
    return needs !== null && retention_p50_ns === needs.p50_ns && retention_max_ns === needs.max_ns;
  });
  return [
    alike("steps, each with its tokens", tokens, loggedTokens),
    {
      what: "tokens of steps",
      seen: sum(tokens),
      logged: sum(loggedTokens),
      alike: Math.min(sum(tokens), sum(loggedTokens)),
    },
    {
      what: "sequences of steps, each with position and tokens",
      seen: sequences.length,
      logged: loggedSequences.length,
      alike: loggedSequences.filter((part) => known.has(part)).length,
    },
    {
      what: "rows of the cache, written, read and given up alike",
      seen: agreeing.all,
      logged: agreeing.all,
      alike: agreeing.agree,
    },
    {
      what: "requests of our client, with tokens of prompt, worked on and answered",
      seen: requests.length,
      logged: log.requests.length - others,
      alike: ours.length,
    },
    { what: "the first step of each", seen: requests.length, logged: requests.length, alike: begun.length },
    { what: "the bytes of KV of each", seen: requests.length, logged: requests.length, alike: held.length },
    {
      what: "how long what each wrote was needed, median and longest",
      seen: requests.length,
      logged: requests.length,
      alike: kept.length,
    },
  ];
}

export interface RandomLoad {
  readonly model: string;
  /** For the run and the log. */
  readonly folder: string;
  readonly seconds: number;
  readonly seed: number;
  /** Of `mrm-trace run`. */
  readonly options?: readonly string[];
}

/**
 * Runs a server for some seconds, our client and others beside it at random.
 * @throws Error where the run fails, or the log does not hold together
 */
export async function randomServing(
  server: Extract<LlamaServer, { ok: true }>,
  { model, folder, seconds, seed, options = [] }: RandomLoad,
): Promise<RandomServing> {
  mkdirSync(folder, { recursive: true });
  const [log, prompts] = [join(folder, `server-${seed}.log`), join(folder, `prompts-${seed}.txt`)];
  writeFileSync(prompts, promptsOf(seed, PROMPT_WORDS));
  const asked = ["--serve", `${seconds}s`, "--clients", String(OURS), "--request-tokens", String(ANSWER_TOKENS)];
  const command = server.command(model, "{port}", CONTEXT_TOKENS, { slots: SLOTS });
  const traced = tracedRun(join(folder, "runs"), command, seed, [...asked, ...["--prompts", prompts], ...options]);
  const env = { ...process.env, ...server.env, MRM_LOG: log };
  const child = Bun.spawn(traced.command, { env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = new Response(child.stderr).text();
  const port = await portIn(log, () => child.exitCode !== null);
  const others = await askAtRandom(port, OTHERS, seconds - BEFORE_END_S, seed);
  const code = await child.exited;
  const run_dir = traced.runDir();
  if (run_dir === null) throw new Error(`mrm-trace run ended with ${code}:\n${await said}`);
  using run = openRun(run_dir);
  const warnings = run.metadata.warnings;
  const checks = checksOf(run_dir, serverLogOf(readFileSync(log, "latin1")), others);
  return { checks, fitted: fittedOf(run_dir), warnings, run_dir };
}
