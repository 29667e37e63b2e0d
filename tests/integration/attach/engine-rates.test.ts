import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { openRun } from "../../../src/api/open-run.ts";
import { ensureDemoModel } from "../../../src/demo/demo-model.ts";
import { isBatch, isPrefill, stepRows } from "../../../src/label/timeline/step-row.ts";
import { formatCount } from "../../../src/units.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { freePort, untilReady } from "../../validity/laboratory/random-clients.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli, startCli } from "../run/cli.ts";

setDefaultTimeout(120_000);

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const server = await fetchLlamaServer(BUILDS.process);
if (!server.ok) process.stderr.write(`skipped: rates of a real llama-server: ${server.reason}\n`);

/** So long that what a busy machine does between the server's clock and a step is little of it. */
const [PROMPTS, PROMPT_TOKENS, ANSWER_TOKENS] = [3, 300, 500];
/** Its tokens take so long that to put each into a batch, with two hits of probes, which the server counts and a step does not, is little of it. */
const PARAMS = "110m";

const timings = z.object({
  timings: z.object({
    prompt_n: z.number(),
    prompt_per_second: z.number(),
    predicted_n: z.number(),
    predicted_per_second: z.number(),
  }),
});
const metadata = z.object({
  generation: z.object({ avg_tokens_per_second: z.number() }),
  target: z.object({
    decode_tokens: z.number(),
    decode_tokens_per_s: z.number(),
    engine_counts: z.object({ generated_tokens_per_s: z.number() }),
  }),
});

/** By how much of the second two rates differ. */
const apart = (one: number, other: number): number => Math.abs(one / other - 1);

test.skipIf(!server.ok)(
  "tokens of prompts and of an answer per second are what the server says itself, within 1 %, in the table and in metadata.json",
  async () => {
    if (!server.ok) return;
    const models = join(tmpdir(), "mrm-trace-test-models");
    const model = await ensureDemoModel(models, { params: PARAMS, type: "q8_0", seed: 1 });
    const port = freePort();
    const child = Bun.spawn(server.command(model, port, 2048, { slots: 1 }), {
      env: { ...process.env, ...server.env },
      stdout: "ignore",
      stderr: "ignore",
    });
    const url = `http://127.0.0.1:${port}`;
    const complete = async (seed: number, tokens: number, n_predict: number) => {
      const prompt = Array.from({ length: tokens }, (_, i) => 3 + ((7 * i + seed) % 250));
      const body = JSON.stringify({ prompt, n_predict, ignore_eos: true, cache_prompt: false });
      return timings.parse(await (await fetch(`${url}/completion`, { method: "POST", body })).json()).timings;
    };
    try {
      await untilReady(port);
      const args = ["attach", String(child.pid), "--engine-metrics", `${url}/metrics`, "--json", "--verbose"];
      const tracer = startCli([...args, "--ebpf", "engine", ...QUICK, "--output", output]);
      await tracer.said("recording");
      const prompts: Awaited<ReturnType<typeof complete>>[] = [];
      for (let i = 0; i < PROMPTS; i++) prompts.push(await complete(i, PROMPT_TOKENS, 0));
      const answer = await complete(PROMPTS, 8, ANSWER_TOKENS);
      tracer.signal("SIGINT");
      const { run_dir } = jsonOf(await tracer.ended) as { readonly run_dir: string };
      const written = metadata.parse(JSON.parse(readFileSync(join(run_dir, "metadata.json"), "utf8")));
      const { generation, target } = written;
      const rate = target.decode_tokens_per_s;
      // Both are of the one answer: of a prompt alone the server counts a token that took no time.
      expect([target.decode_tokens, answer.predicted_n]).toEqual([ANSWER_TOKENS - 1, ANSWER_TOKENS]);
      expect(apart(rate, answer.predicted_per_second)).toBeLessThan(0.01);
      const counted = target.engine_counts.generated_tokens_per_s;
      expect(apart(rate, counted)).toBeLessThan(0.01);
      expect(generation.avg_tokens_per_second).toBe(rate);
      const { stdout } = await runCli(["show", run_dir, "--table"]);
      expect(stdout).toMatch(new RegExp(`^tokens .* ${ANSWER_TOKENS - 1} decoded, ${formatCount(rate)}/s`, "m"));
      expect(stdout).toMatch(new RegExp(`^server .*, ${formatCount(counted)}/s$`, "m"));

      using run = openRun(run_dir);
      const steps = stepRows(run.table("step").toArray(), 0n).filter((step) => isBatch(step) && isPrefill(step));
      const rates = steps.map(({ n_tokens, begin_ns, end_ns }) => (1e9 * (n_tokens ?? 0)) / ((end_ns ?? 0) - begin_ns));
      expect(steps.map(({ n_tokens }) => n_tokens)).toEqual([...prompts, answer].map(({ prompt_n }) => prompt_n));
      const off = prompts.map(({ prompt_per_second }, i) => (rates[i] ?? 0) / prompt_per_second - 1);
      // The server's time is around that of the step, and more of it where the machine did something else just then.
      expect(Math.min(...off)).toBeGreaterThan(-0.001);
      expect(Math.min(...off.map(Math.abs))).toBeLessThan(0.01);
    } finally {
      child.kill("SIGTERM");
      await child.exited;
    }
  },
);
