import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020";
import { schemaText } from "../../../src/commands/schema.ts";
import { ensureDemoModel } from "../../../src/demo/demo-model.ts";
import type { ObserverEffect } from "../../../src/schema/observer-effect.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { readParquetFile } from "../../fixtures/parquet-by-wasm.ts";
import { jsonOf, runCli, type Started, startCli } from "../run/cli.ts";

/** Of the keys and values of a token, in all layers of the smallest model. */
const KV_ROW_BYTES = 512;
const output = mkdtempSync(join(tmpdir(), "mrm-compare-test-"));
afterAll(() => rmSync(output, { recursive: true }));
const started: Started[] = [];
afterEach(() => {
  for (const one of started.splice(0)) one.signal("SIGKILL");
});

const server = await fetchLlamaServer();
if (!server.ok) process.stderr.write(`skipped: comparison on a llama-server: ${server.reason}\n`);

/** Works for about 0.3 s on one CPU, and can be told from other processes by its mark. */
const work = (mark: string, rounds = 2_000_000): string[] => [
  "python3",
  "-c",
  `x=0\nfor i in range(${rounds}): x+=i`,
  mark,
];

/** Processes of this machine with the mark in their command line, of those whose words `are` what is asked for. */
function marked(mark: string, are: (words: string) => boolean = () => true): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return words.includes(mark) && are(words);
      } catch {
        return false;
      }
    });
}

/** Waits for one. To ask twice would not do: between two programs a process has no words, and 0 is our own group. */
async function appearing(mark: string, are: (words: string) => boolean): Promise<number> {
  for (;;) {
    const [pid] = marked(mark, are);
    if (pid !== undefined) return pid;
    await Bun.sleep(20);
  }
}

async function goneWithin(mark: string, seconds: number): Promise<boolean> {
  for (let i = 0; i < seconds * 20; i++) {
    if (marked(mark).length === 0) return true;
    await Bun.sleep(50);
  }
  return false;
}

/** Why a request is not known that came before the tracer had found the caches. */
const EARLY = ["its first batch was not seen", "not all rows of its sequence are known"];
/** The same of one of which records were lost, and which had begun before. */
const CUT = "its last batch was not seen";

describe("compare of arms", () => {
  test("prints one object, writes it and a table, and makes no claim from fewer than five blocks", async () => {
    const args = ["compare", "--arms", "off,process", "--repeats", "2", "--json", "--quiet", "--output", output];
    const ended = await runCli([...args, "--", ...work("counted")]);
    expect(ended.stderr).toBe("");
    expect(ended.exitCode).toBe(4);
    const effect = jsonOf(ended) as unknown as ObserverEffect & { folder: string };
    expect(effect.arms.map(({ arm, verdict }) => [arm, verdict])).toEqual([
      ["off-again", "INCONCLUSIVE"],
      ["process", "INCONCLUSIVE"],
    ]);
    // Three warm-ups, then every arm twice, mirrored.
    const order = effect.runs.filter(({ block }) => block === 0).map(({ arm }) => arm);
    expect(effect.runs).toHaveLength(9);
    expect(order).toEqual(order.toReversed());
    for (const run of effect.runs) expect(run.wall_s).toBeGreaterThan(0.05);
    for (const run of effect.runs) expect(run.peak_rss_bytes).toBeGreaterThan(4e6);
    const [, traced] = effect.arms;
    expect(traced?.events_kept).toBeGreaterThan(0);
    expect(traced?.tracer_rss_bytes).toBeGreaterThan(20e6);
    expect(traced?.figures.map(({ figure }) => figure)).toEqual(["wall_s", "peak_rss_bytes"]);
    const { folder: _, ...written } = effect;
    expect(JSON.parse(readFileSync(join(effect.folder, "observer_effect.json"), "utf8"))).toEqual(written);
    const schema = new Ajv2020({ allowUnionTypes: true }).compile(JSON.parse(await schemaText("compare", false)));
    expect([schema(written), schema.errors]).toEqual([true, null]);
    expect(schema({ ...written, blocks: "one" })).toBe(false);
    const table = readParquetFile(join(effect.folder, "observer_effect.parquet"));
    expect([table.table, table.rows]).toEqual(["observer_effect", 4]);
    for (const name of readdirSync(effect.folder)) expect(statSync(join(effect.folder, name)).mode & 0o777).toBe(0o600);
  });

  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    test(`leaves nothing behind when it ends by ${signal}`, async () => {
      const mark = `mrm-mark-${signal}-${process.pid}`;
      const args = ["compare", "--arms", "off", "--repeats", "10", "--output", output, "--", ...work(mark, 4e9)];
      // What a killed comparison leaves in the temporary folder goes with the folder of the test.
      const running = startCli(args, { env: { TMPDIR: output } });
      started.push(running);
      while (marked(mark).length < 2) await Bun.sleep(50);
      running.signal(signal);
      if (signal === "SIGTERM") expect(await running.exited).toBe(143);
      expect(await goneWithin(mark, 15)).toBe(true);
    });
  }

  test("leaves nothing behind when its whole group is told to end, twice, and a tracer hangs", async () => {
    const mark = `mrm-mark-group-${process.pid}`;
    const args = ["compare", "--arms", "process", "--repeats", "10", "--output", output, "--", ...work(mark, 4e9)];
    const running = startCli(args, { env: { TMPDIR: output }, prefix: ["setsid"] });
    started.push(running);
    process.kill(await appearing(mark, (words) => words.includes("\0run\0")), "SIGSTOP");
    // As Ctrl-C and `timeout` do: to every process of the group, those that guard the others too. The second signal ends
    // us at once.
    process.kill(-running.pid, "SIGINT");
    process.kill(-running.pid, "SIGTERM");
    expect([130, 143]).toContain(await running.exited);
    expect(await goneWithin(mark, 15)).toBe(true);
  });

  for (const [arm, child] of [
    ["off", "python3"],
    ["process", "\0run\0"],
  ] as const) {
    test(`was interrupted, and did not fail, when Ctrl-C ends the child of ${arm} a moment before it`, async () => {
      const mark = `mrm-mark-first-${arm}-${process.pid}`;
      const args = ["compare", "--arms", arm, "--repeats", "10", "--output", output, "--", ...work(mark, 4e9)];
      const running = startCli(args, { env: { TMPDIR: output } });
      started.push(running);
      const isChild = (words: string) => words.includes(child) && !words.includes("\0compare\0");
      process.kill(await appearing(mark, isChild), "SIGINT");
      await Bun.sleep(20);
      running.signal("SIGINT");
      expect(await running.exited).toBe(130);
      expect(await goneWithin(mark, 15)).toBe(true);
    });
  }

  test("keeps what it has when it is interrupted in the middle, and claims nothing", async () => {
    const args = ["compare", "--arms", "off", "--repeats", "10", "--json", "--output", output, "--", ...work("cut")];
    const running = startCli(args);
    started.push(running);
    await running.said("block 1 of 5");
    running.signal("SIGINT");
    const ended = await running.ended;
    expect(ended.exitCode).toBe(130);
    const effect = jsonOf(ended) as unknown as ObserverEffect & { folder: string };
    expect(effect.stopped_by).toBe("interrupted");
    expect(effect.blocks).toBeGreaterThanOrEqual(1);
    expect(effect.arms[0]).toMatchObject({ verdict: "INCONCLUSIVE", figures: [{ blocks: effect.blocks }, {}] });
    expect(existsSync(join(effect.folder, "observer_effect.parquet"))).toBe(true);
  });

  test("keeps its runs, and the reason, when the command fails before a block is whole", async () => {
    const once = join(output, "runs-left");
    writeFileSync(once, "xxxxx");
    // Two warm-ups and the first runs end well; the sixth fails.
    const command = ["sh", "-c", `test -s ${once} && truncate -s -1 ${once}`];
    const ended = await runCli([
      "compare",
      "--arms",
      "off",
      "--repeats",
      "20",
      "--json",
      "--output",
      output,
      "--",
      ...command,
    ]);
    expect(ended.exitCode).toBe(6);
    const effect = jsonOf(ended) as unknown as ObserverEffect;
    expect(effect).toMatchObject({ stopped_by: "failed", blocks: 0, failure: { code: "target" } });
    expect(effect.runs.map(({ block }) => block)).toEqual([-1, -1, 0, 0, 0]);
    expect(effect.warnings[0]).toContain("exit code 1");
  });

  test("ends a command that does not, says which arm it was, and leaves nothing behind", async () => {
    const mark = `mrm-mark-timeout-${process.pid}`;
    const args = ["compare", "--arms", "off", "--repeats", "2", "--timeout", "1s", "--output", output];
    const ended = await runCli([...args, "--", ...work(mark, 4e9)]);
    expect(ended.exitCode).toBe(6);
    expect(ended.stderr).toContain("off: no end of the command in 1 s");
    expect(await goneWithin(mark, 10)).toBe(true);
  });

  test("tells how a command failed and what it printed, and refuses arms that there are not", async () => {
    const args = ["compare", "--repeats", "2", "--output", output];
    const failed = await runCli([...args, "--arms", "off", "--", "sh", "-c", "echo out of luck; exit 3"]);
    expect(failed.exitCode).toBe(6);
    expect(failed.stderr).toContain("exit code 3");
    expect(failed.stderr).toContain("out of luck");
    expect((await runCli([...args, "--arms", "off,ebfp", "--", "true"])).exitCode).toBe(2);
    expect((await runCli([...args, "--serve", "1s", "--", "true"])).stderr).toContain("{port}");
    expect((await runCli([...args, "--clients", "2", "--", "true"])).stderr).toContain(
      "--clients was given, and no --serve",
    );
    const many = join(output, "many.yaml");
    const models = "models: [{ id: m, engine: demo, params: 1m }]";
    writeFileSync(many, `experiment: { name: a }\n${models}\nsweep: { output_tokens: [8, 16] }\n`);
    expect((await runCli([...args, "--arms", "off", "--config", many])).stderr).toContain("received 2 combinations");
    expect((await runCli([...args, "--arms", "off,ebpf:fautls", "--", "true"])).stderr).toContain("faults, engine");
    expect((await runCli([...args, "--serve", "20m", "--", "true", "{port}"])).stderr).toContain("--timeout");
  });

  test.skipIf(!server.ok)(
    "drives a real llama-server by streaming clients, in every arm alike",
    async () => {
      if (!server.ok) return;
      const model = await ensureDemoModel(join(tmpdir(), "mrm-trace-test-models"), {
        params: "1m",
        type: "q8_0",
        seed: 1,
      });
      const serve = server.command(model, "{port}", 512, { slots: 2 });
      const args = ["compare", "--arms", "off,attached-idle", "--repeats", "2", "--serve", "1s", "--clients", "2"];
      const own = ["--request-tokens", "32", "--json", "--quiet", "--output", output];
      const ended = await runCli([...args, ...own, "--", ...serve], { env: server.env });
      expect(ended.stderr).toBe("");
      const effect = jsonOf(ended) as unknown as ObserverEffect;
      expect(effect.deciding_figure).toBe("tokens_per_s");
      const idle = effect.arms.find(({ arm }) => arm === "attached-idle");
      expect(idle?.unavailable).toBeNull();
      expect(idle?.figures.map(({ figure }) => figure)).toEqual([
        "tokens_per_s",
        "served_tokens_per_s",
        "engine_tokens_per_s",
        "ttft_ms",
        "token_p50_ms",
        "token_p99_ms",
        "peak_rss_bytes",
      ]);
      for (const run of effect.runs) {
        expect(run.tokens_per_s).toBeGreaterThan(0);
        expect(run.token_p99_ms ?? 0).toBeGreaterThanOrEqual(run.token_p50_ms ?? Number.NaN);
        expect(run.wall_s).toBeNull();
        // Requests of 32 tokens each, of which the engine counts every one.
        expect(run.engine_tokens).toBe(run.streamed_tokens);
        expect((run.streamed_tokens ?? 1) % 32).toBe(0);
        expect(run.engine_prompt_tokens).toBeGreaterThan(32);
        expect(run.engine_tokens_per_s).toBeGreaterThan(0);
        expect(run.served_tokens_per_s).toBeGreaterThan(0);
        // Both asked, and what they saw makes up the run.
        const clients = run.clients ?? [];
        expect(clients.map(({ requests }) => requests > 0)).toEqual([true, true]);
        expect(clients.reduce((sum, { streamed_tokens }) => sum + streamed_tokens, 0)).toBe(run.streamed_tokens ?? -1);
        // Under a tracer each has the times of its client and what the engine's steps say of it.
        const { requests } = run;
        expect(run.events_lost === undefined).toBe(run.arm !== "attached-idle");
        if (run.arm !== "attached-idle") expect(requests).toBeUndefined();
        else expect(requests?.length).toBe(clients.reduce((sum, client) => sum + client.requests, 0));
        // The server had its caches before the tracer came: of requests until these are found, rows are not known, which is said.
        const untold = (requests ?? []).filter(({ why }) => why !== null);
        const isWhole = (run.events_lost ?? 0) === 0;
        for (const { why } of untold) expect(isWhole ? EARLY : [...EARLY, CUT]).toContain(why ?? "");
        if (isWhole) {
          expect(untold.length).toBeLessThanOrEqual((requests?.length ?? 0) / 4);
          for (const list of Map.groupBy(requests ?? [], ({ client }) => client).values()) {
            const whole = list.map(({ why }) => why === null);
            expect(whole).toEqual(whole.toSorted((one, other) => Number(one) - Number(other)));
          }
        }
        for (const request of (requests ?? []).filter(({ why }) => why === null)) {
          expect(request).toMatchObject({ request: null, output_tokens: 32, reused_tokens: 0 });
          expect(request.wait_ms ?? -1).toBeGreaterThanOrEqual(0);
          expect(request.ttft_ms ?? 0).toBeGreaterThan(request.wait_ms ?? Number.NaN);
          expect(request.kv_bytes).toBe(KV_ROW_BYTES * ((request.prompt_tokens ?? 0) + 31));
        }
      }
      expect(effect.workload.load).toEqual({ api: "llama-server", clients: 2, tokens: 32, block_ns: 1e9 });
      expect(effect.warnings.filter((text) => text.includes("the engine counts"))).toEqual([]);
      expect(idle?.events_kept).toBeGreaterThan(1000);
      expect(await goneWithin(model, 5)).toBe(true);
    },
    120_000,
  );
});

test("compare of two runs puts their figures side by side, and refuses what is no run", async () => {
  const run = async (id: string): Promise<string> => {
    const args = ["run", "--json", "--baseline", "100ms", "--watch-registers", "0", "--run-id", id, "--output", output];
    return String(jsonOf(await runCli([...args, "--", ...work("run")])).run_dir);
  };
  const [a, b] = [await run("first"), await run("second")];
  const text = await runCli(["compare", a, b]);
  expect(text.exitCode).toBe(0);
  expect(text.stdout).toContain("B - A");
  const difference = jsonOf(await runCli(["compare", "--json", a, b]));
  // How busy the machine was is told too, and may differ.
  const contrasts = (difference.contrasts as { what: string }[]).map(({ what }) => what);
  expect(contrasts.filter((what) => what !== "validity" && what !== "threads")).toEqual([]);
  const metrics = difference.metrics as { metric: string; difference: { value: number | null } }[];
  expect(metrics.some(({ metric }) => metric === "working_set_bytes")).toBe(true);
  expect(metrics.every((row) => row.difference !== undefined)).toBe(true);
  expect((await runCli(["compare", a, output])).exitCode).toBe(2);
  expect((await runCli(["compare", a])).exitCode).toBe(2);
  expect(existsSync(join(a, "metrics.parquet"))).toBe(true);
});
