#!/usr/bin/env bun
/**
 * What `mrm-trace run` says of a real llama-server of 4 slots under clients that ask at random, held against the server's own log:
 * `bun scripts/truth-server.ts [--seconds N] [--runs N] [--first N] [--keep FOLDER] [--write]`. The log tells each batch and the rows that
 * each slot keeps; it is replayed row by row. Runs that are in FOLDER are not made again. With --write the table of
 * docs/accuracy-programs.md is written anew. It needs root, PyPI once, and some 25 s for a run.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MetricRow } from "../src/analyse/figures/metric-row.ts";
import { openRun } from "../src/api/open-run.ts";
import { writeModel } from "../src/demo/model/write-model.ts";
import { readGgufFile } from "../src/engine/gguf/file.ts";
import { answerOf, summary } from "../src/simulate/coverage.ts";
import type { Truth } from "../src/simulate/true-quantiles.ts";
import { fetchLlamaServer } from "../tests/fixtures/llama-server.ts";
import { accuracyTable } from "../tests/validity/laboratory/accuracy-table.ts";
import { writeTable } from "../tests/validity/laboratory/program-table.ts";
import { askAtRandom, freePort, untilReady } from "../tests/validity/laboratory/random-clients.ts";
import {
  agreeingRows,
  needsOf,
  quantileBetween,
  type ServerLog,
  seenRows,
  serverLogOf,
  serverTruth,
} from "../tests/validity/laboratory/server-log.ts";
import { tracedRun } from "../tests/validity/laboratory/traced-program.ts";

const NAME = "4 slots, 5 clients";
const SLOTS = 4;
const CLIENTS = 5;
const CONTEXT_TOKENS = 4096;
const PROBES_MS = 4000;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "12" },
    runs: { type: "string", default: "1" },
    first: { type: "string", default: "1" },
    keep: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const folder = values.keep ?? mkdtempSync(join(tmpdir(), "mrm-truth-server-"));
mkdirSync(folder, { recursive: true });
const server = await fetchLlamaServer();
if (!server.ok) throw new Error(server.reason);

const model = join(folder, "model.gguf");
if (!existsSync(model)) await writeModel({ params: "15m", type: "q8_0", seed: 1 }, model);
const file = readGgufFile(model);
if (!file.ok) throw new Error(file.reason);
/** Of the embeddings of tokens a row is looked up: nobody watches them. */
const weight_bytes = file.directory.tensors
  .filter(({ name }) => name !== "token_embd.weight")
  .reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);

interface Served {
  readonly rows: readonly MetricRow[];
  readonly log: ServerLog;
  /** Of one token in all tensors of the cache. */
  readonly row_bytes: number;
  readonly tried_ns: number;
  readonly tried_tokens: number;
  /** Rows whose life the tracer has as the server does. */
  readonly lives: ReturnType<typeof agreeingRows>;
  /** Batches and tokens, as the tracer counted them. */
  readonly counted: { readonly steps: number; readonly tokens: number };
}

/** One run of the server, traced, until its clients have what they asked for. */
async function served(seed: number): Promise<Served> {
  if (!server.ok) throw new Error(server.reason);
  const port = freePort();
  const path = join(folder, `server-${seed}.log`);
  const traced = tracedRun(join(folder, "runs"), server.command(model, port, CONTEXT_TOKENS, { slots: SLOTS }), seed);
  if (traced.runDir() === null) {
    rmSync(path, { force: true });
    const env = { ...process.env, ...server.env, MRM_LOG: path };
    const child = Bun.spawn(traced.command, { env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
    const said = new Response(child.stderr).text();
    try {
      await untilReady(port);
      // The probes come when the tracer has found the engine, which takes some seconds on a busy machine.
      await Bun.sleep(PROBES_MS);
      await askAtRandom(port, CLIENTS, Number(values.seconds), seed);
    } finally {
      child.kill("SIGTERM");
    }
    const code = await child.exited;
    if (traced.runDir() === null) throw new Error(`mrm-trace run ended with ${code}:\n${await said}`);
  }
  using run = openRun(traced.runDir() ?? "");
  const log = serverLogOf(readFileSync(path, "latin1"));
  const steps = run.table("step").toArray();
  const batches = steps
    .filter(({ kind, n_tokens }) => kind === "decode" && (n_tokens ?? 0) > 0)
    .sort((a, b) => Number(a.timestamp_ns - b.timestamp_ns));
  // When it loads a model, the engine tries its cache with a batch, of which the server's log knows nothing.
  const counted = batches.slice(batches.length > log.batches.length ? 1 : 0);
  const first = counted[0]?.timestamp_ns ?? 0n;
  const tensors = Map.groupBy(run.table("kv_block_lifecycle").toArray(), ({ tensor }) => tensor);
  const seen = seenRows(tensors.values().next().value ?? [], first);
  return {
    rows: run.metrics(),
    log,
    row_bytes: [...tensors.values()].reduce((sum, [row]) => sum + Number(row?.size_bytes ?? 0n), 0),
    tried_ns: Number(first - (batches[0]?.timestamp_ns ?? first)),
    tried_tokens: batches
      .slice(0, batches.length - counted.length)
      .reduce((sum, { n_tokens }) => sum + (n_tokens ?? 0), 0),
    lives: agreeingRows(
      log,
      seen,
      counted.map(({ timestamp_ns }) => timestamp_ns),
    ),
    counted: { steps: counted.length, tokens: counted.reduce((sum, { n_tokens }) => sum + (n_tokens ?? 0), 0) },
  };
}

const nameOf = ({ metric, region_type, step }: MetricRow): string =>
  `${metric} of ${region_type}${step === "decode" ? ", decode" : ""}`;

try {
  const runs: Served[] = [];
  const first = Number(values.first);
  for (let seed = first; seed < first + Number(values.runs); seed++) {
    const one = await served(seed);
    runs.push(one);
    const { lives, counted, log } = one;
    const tokens = log.batches.reduce((sum, batch) => sum + batch.tokens, 0);
    process.stderr.write(
      `${seed}: ${lives.agree} of ${lives.all} rows, ${counted.steps} of ${log.batches.length} batches, ${counted.tokens} of ${tokens} tokens\n`,
    );
  }
  // Of runs like each of them: the rows of all.
  const needs = runs.map(({ log }) => needsOf(log));
  const retention = new Map(
    [50, 90, 99].map((p): [string, Truth | null] => [
      `retention_p${p}_ns of kv_cache`,
      quantileBetween(
        needs.flatMap(({ least }) => least),
        needs.flatMap(({ most }) => most),
        p / 100,
      ),
    ]),
  );
  const answers = runs.flatMap(({ rows, log, row_bytes, tried_ns, tried_tokens }) => {
    const own = serverTruth(log, { cells: CONTEXT_TOKENS, row_bytes, weight_bytes, tried_ns, tried_tokens });
    const truth = new Map<string, Truth | null>([...own, ...retention]);
    return (
      rows
        .filter((row) => row.phase === "generation" && row.step !== "prefill" && truth.has(nameOf(row)))
        // A word of the cache is written again by the next row that gets its place: the log tells of rows.
        .filter((row) => row.metric !== "write_once_ratio" || row.source === "step")
        .map((row) => answerOf(row, truth.get(nameOf(row)) ?? null))
    );
  });
  const figures = Map.groupBy(answers, ({ row }) => `${row.source} ${nameOf(row)}`);
  const table = accuracyTable(
    [...figures.values()].flatMap((same) =>
      summary(NAME, same).map((row) => ({
        ...row,
        // The name says already which steps it is of.
        ...({ phase: "all", step: "all" } as const),
        metric: same[0] === undefined ? row.metric : nameOf(same[0].row),
      })),
    ),
  );
  process.stdout.write(`${table}\n`);
  if (values.write) writeTable("llama-server", table);
} finally {
  if (values.keep === undefined) rmSync(folder, { recursive: true });
}
