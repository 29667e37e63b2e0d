import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "../../../src/api/open-run.ts";
import { tableBatches } from "../../../src/columnar/read/table-batches.ts";
import { rowsFromBatch } from "../../../src/columnar/rows.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { tableFiles } from "../../../src/run-directory/table-files.ts";
import type { RowOf } from "../../../src/schema/row.ts";
import type { RunJson } from "../../../src/schema/run-json.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { type Ended, endLeftRuns, jsonOf, outputFolder, QUICK, runCli } from "./cli.ts";

setDefaultTimeout(120_000);

const output = outputFolder();
const model = join(output, "model.gguf");
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const CLIENTS = 2;
/** Of the keys and values of a token, in all layers of the model. */
const PER_TOKEN_BYTES = 512;
const server = await fetchLlamaServer(BUILDS.process);
if (!server.ok) process.stderr.write(`skipped: requests of our own client: ${server.reason}\n`);

function rowsOf<T extends "request" | "request_figures" | "step">(runDir: string, table: T): RowOf<T>[] {
  return tableFiles(runDir, table).flatMap((path) => [...tableBatches(path, table)].flatMap(rowsFromBatch));
}

/** Requests in the log of the server, in the order in which they ended: its slot, and the tokens of its prompt that were in the cache. */
function loggedRequests(log: string): { readonly slot: number; readonly cached_tokens: number }[] {
  const tasks = new Map<string, { prompt: number; answer: number }>();
  const found: { readonly slot: number; readonly cached_tokens: number }[] = [];
  for (const line of log.split("\n")) {
    const [, slot, task = ""] = /id +(\d+) \| task (\d+) \|/.exec(line) ?? [];
    const counts = tasks.get(task) ?? { prompt: 0, answer: 0 };
    tasks.set(task, counts);
    const tokens = Number(/\/ +(\d+) tokens/.exec(line)?.[1]);
    if (line.includes("prompt eval time")) counts.prompt = tokens;
    else if (line.includes(" eval time")) counts.answer = tokens;
    const held = /stop processing: n_tokens = (\d+)/.exec(line)?.[1];
    // The last token of an answer is never put in.
    if (held !== undefined)
      found.push({ slot: Number(slot), cached_tokens: Number(held) - (counts.answer - 1) - counts.prompt });
  }
  return found;
}

describe.skipIf(!server.ok)("a run of which we are the client", () => {
  let ended: Ended;
  let report: RunJson;
  let rows: RowOf<"request">[] = [];
  let figures: RowOf<"request_figures">[] = [];

  beforeAll(async () => {
    if (!server.ok) throw new Error(server.reason);
    await writeModel({ params: "1m", type: "f16", seed: 1 }, model);
    const asked = [
      "--serve",
      "1s",
      "--clients",
      String(CLIENTS),
      "--request-tokens",
      "30",
      "--ebpf",
      "engine",
      "--json",
    ];
    const command = server.command(model, "{port}", 1024, { slots: CLIENTS });
    ended = await runCli(["run", ...asked, ...QUICK, "--output", output, "--", ...command], { env: server.env });
    report = jsonOf(ended) as unknown as RunJson;
    rows = rowsOf(report.run_dir, "request");
    figures = rowsOf(report.run_dir, "request_figures");
  });

  test("has every request that the server's log has, and ends the server when all is asked", () => {
    expect(ended.exitCode).toBe(0);
    // The server logs from a thread, of which the last lines may be lost with it.
    const logged = ended.stderr.match(/total time =/g)?.length ?? 0;
    expect(rows.length).toBeGreaterThanOrEqual(Math.max(CLIENTS, logged));
    expect(rows.length).toBeLessThanOrEqual(logged + CLIENTS);
    expect(report.requests).toMatchObject({ requests: rows.length, answered: rows.length, why: null });
    expect(rows.map(({ request_id }) => request_id).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: rows.length }, (_, i) => i + 1),
    );
    expect(report.ledger).toContainEqual(
      expect.objectContaining({
        stream: "request",
        stage: "observe",
        seen: String(rows.length),
        kept: String(rows.length),
      }),
    );
    expect(report.warnings.filter((line) => line.includes("client"))).toEqual([]);
  });

  test("tells tokens as the server counts them, which the engine's steps have too", () => {
    const sum = (values: readonly (number | null)[]): number =>
      values.reduce<number>((all, one) => all + (one ?? 0), 0);
    expect(new Set(figures.map(({ output_tokens, streamed_tokens }) => `${output_tokens} ${streamed_tokens}`))).toEqual(
      new Set(["30 30"]),
    );
    // Before it serves, the server decodes two tokens to try its cache.
    const first_ns = rows.find(({ request_id }) => request_id === 1)?.timestamp_ns ?? 0n;
    const batches = rowsOf(report.run_dir, "step").filter(
      ({ kind, timestamp_ns }) => kind === "decode" && timestamp_ns >= first_ns,
    );
    const evaluated = sum(figures.map((figure) => figure.evaluated_tokens));
    expect(sum(batches.map(({ n_tokens }) => n_tokens))).toBe(evaluated + figures.length * 29);
    expect(report.requests?.prompt_tokens).toBe(String(sum(figures.map((figure) => figure.prompt_tokens))));
    // Its rate counts the first token of each answer, which took none of the time.
    const { engine_tokens_per_s: counted, engine_later_tokens_per_s: later } = report.requests ?? {};
    expect((counted ?? 0) / (later ?? 0)).toBeCloseTo(30 / 29, 9);
    expect(report.requests?.streamed_tokens_per_s).toBeGreaterThan(0);
    // All questions begin alike: a slot that has served has their beginning.
    expect(figures.filter(({ reused_tokens }) => reused_tokens === 0).length).toBeLessThanOrEqual(CLIENTS);
    expect(report.requests?.reused_tokens).toBe(String(sum(figures.map((figure) => figure.reused_tokens))));
  });

  test("tells of each its times in their order, and the bytes of KV of its tokens", () => {
    // Of what was written before the tensors of the cache were known, on a machine that has no time, there are no rows.
    const whole = figures.filter(({ why }) => why !== "not all rows of its sequence are known");
    const perToken = whole.map(({ kv_bytes, prompt_tokens, output_tokens, why }) => {
      expect(why).toBeNull();
      // The last token is never put in.
      return Number(kv_bytes) / ((prompt_tokens ?? 0) + (output_tokens ?? 0) - 1);
    });
    expect(perToken.filter((bytes) => bytes !== PER_TOKEN_BYTES)).toEqual([]);
    for (const { evaluated_tokens, output_tokens, ...figure } of whole) {
      expect(Number(figure.written_bytes)).toBe(((evaluated_tokens ?? 0) + (output_tokens ?? 0) - 1) * PER_TOKEN_BYTES);
      // The first of its rows is needed up to its last batch at least.
      expect(figure.retention_max_ns ?? 0n).toBeGreaterThan(0n);
      expect(figure.sequence_by).toBe("server");
    }
    for (const { ttft_ns, wait_ns, sequence_id } of figures) {
      expect([0, 1]).toContain(sequence_id ?? -1);
      expect(wait_ns ?? -1n).toBeGreaterThanOrEqual(0n);
      expect(wait_ns ?? 0n).toBeLessThan(ttft_ns ?? 0n);
    }
  });

  test("tells the bytes of KV that a prompt found in the cache, as the server's log has its tokens", () => {
    const logged = loggedRequests(ended.stderr);
    expect(logged.length).toBeGreaterThan(0);
    const bySlot = Map.groupBy(
      figures.toSorted((one, other) => Number(one.timestamp_ns - other.timestamp_ns)),
      ({ sequence_id }) => sequence_id,
    );
    for (const [slot, asked] of Map.groupBy(logged, (request) => request.slot)) {
      const saved = (bySlot.get(slot) ?? []).slice(0, asked.length);
      expect(saved.map(({ reused_tokens }) => reused_tokens)).toEqual(asked.map(({ cached_tokens }) => cached_tokens));
      const whole = saved.filter(({ kv_bytes }) => kv_bytes !== null);
      expect(whole.map(({ saved_bytes }) => Number(saved_bytes))).toEqual(
        whole.map(({ reused_tokens }) => (reused_tokens ?? 0) * PER_TOKEN_BYTES),
      );
    }
    const known = figures.every(({ saved_bytes }) => saved_bytes !== null);
    expect(report.requests?.saved_bytes).toBe(
      known ? String(Number(report.requests?.reused_tokens) * PER_TOKEN_BYTES) : null,
    );
  });

  test("says it in the table and to programs, and a shared copy tells the same without who it was", async () => {
    const shown = await runCli(["show", report.run_dir, "--table"], { env: { COLUMNS: "200" } });
    expect(shown.stdout).toMatch(/^requests +\d+ of \d+ answered; first token p50 /m);
    using run = openRun(report.run_dir);
    expect(run.metadata.requests).toMatchObject({ requests: rows.length });
    expect(run.table("request_figures").numRows).toBe(rows.length);
    const scrubbed = join(output, "shared");
    const shared = await runCli(["scrub", report.run_dir, "--out", scrubbed, "--run-id", "shared", "--json"]);
    const { run_dir } = jsonOf(shared) as unknown as { readonly run_dir: string };
    const copies = rowsOf(run_dir, "request_figures");
    const timesOf = (all: readonly RowOf<"request_figures">[]) => all.map(({ timestamp_ns: _, ...figure }) => figure);
    expect(timesOf(copies)).toEqual(timesOf(figures));
    expect(rowsOf(run_dir, "request").every(({ pid }) => pid !== report.target.pid)).toBe(true);
  });
});
