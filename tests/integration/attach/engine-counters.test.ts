import { afterAll, afterEach, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureDemoModel } from "../../../src/demo/demo-model.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { freePort } from "../../validity/laboratory/random-clients.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, runCli, startCli } from "../run/cli.ts";

const output = outputFolder();
afterAll(() => rmSync(output, { recursive: true }));
afterEach(endLeftRuns);

const ONE_EACH = { keepalive: false, headers: { connection: "close" } };
const [REQUESTS, TOKENS] = [4, 150];

interface Counts {
  readonly prompt_tokens: number;
  readonly generated_tokens: number;
  readonly generated_tokens_per_s: number;
  readonly requests_under_way: number;
  readonly why: string | null;
}

interface Report {
  readonly run_dir: string;
  readonly target: {
    readonly prompt_tokens: number;
    readonly decode_tokens: number;
    readonly decode_tokens_per_s: number;
    readonly engine_counts?: Counts;
  };
}

const modelPath = (): Promise<string> =>
  ensureDemoModel(join(tmpdir(), "mrm-trace-test-models"), { params: "1m", type: "q8_0", seed: 1 });

type Served = Extract<Awaited<ReturnType<typeof fetchLlamaServer>>, { ok: true }>;

/** A server that answers, until the work with it is done. */
async function withServer(
  server: Served,
  slots: number,
  context: number,
  work: (url: string, pid: number) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const child = Bun.spawn(server.command(await modelPath(), port, context, { slots }), {
    env: { ...process.env, ...server.env },
    stdout: "ignore",
    stderr: "ignore",
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await answered(`${url}/health`);
    await work(url, child.pid);
  } finally {
    child.kill("SIGTERM");
    await child.exited;
  }
}

async function answered(address: string, init: RequestInit = {}): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const response = await fetch(address, { ...ONE_EACH, ...init }).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok) return;
    await Bun.sleep(100);
  }
  throw new Error(`${address} did not answer`);
}

for (const [calls, version] of Object.entries(BUILDS)) {
  const server = await fetchLlamaServer(version);
  if (!server.ok) process.stderr.write(`skipped: counters of llama-server ${version}: ${server.reason}\n`);

  test.skipIf(!server.ok)(
    `tokens of a llama-server that calls llama_${calls} stand beside its own count of them, and agree within 1 %`,
    async () => {
      if (!server.ok) return;
      await withServer(server, 1, 512, async (url, pid) => {
        const complete = async (prompt: string) =>
          await answered(`${url}/completion`, {
            method: "POST",
            body: JSON.stringify({ prompt, n_predict: TOKENS, ignore_eos: true, stream: true, cache_prompt: false }),
          });
        // Before the recording: the engine counts it, and it is none of its tokens.
        await complete("before");
        const args = ["attach", String(pid), "--engine-metrics", `${url}/metrics`, "--json", "--verbose"];
        const tracer = startCli([...args, ...QUICK, "--output", output]);
        await tracer.said("recording");
        for (let i = 0; i < REQUESTS; i++) await complete(`${i} a b c d e f g h`);
        tracer.signal("SIGINT");
        const report = jsonOf(await tracer.ended) as unknown as Report;
        const counts = report.target.engine_counts;
        expect(counts).toMatchObject({ generated_tokens: REQUESTS * TOKENS, requests_under_way: 0, why: null });
        // The first token of an answer comes from the step of its prompt.
        expect(report.target.decode_tokens).toBe(REQUESTS * (TOKENS - 1));
        expect(Math.abs(report.target.decode_tokens / (REQUESTS * TOKENS) - 1)).toBeLessThan(0.01);
        expect(report.target.prompt_tokens).toBe(counts?.prompt_tokens ?? Number.NaN);
        expect(counts?.generated_tokens_per_s).toBeGreaterThan(0);
        const metadata = JSON.parse(readFileSync(join(report.run_dir, "metadata.json"), "utf8"));
        expect(metadata.target.engine_counts).toEqual(counts);
        const shown = await runCli(["show", report.run_dir, "--table"]);
        expect(shown.stdout).toMatch(/^server\s+counts \d+ prompt, 600 generated, \S+\/s$/m);
        const nobody = await runCli(["attach", String(pid), "--engine-metrics", "http://127.0.0.1:1/metrics"]);
        expect([nobody.exitCode, nobody.stderr]).toEqual([6, expect.stringContaining("cannot be asked")]);
        const away = await runCli(["attach", String(pid), "--engine-metrics", "http://10.0.0.1/metrics"]);
        expect([away.exitCode, away.stderr]).toEqual([2, expect.stringContaining("http://127.0.0.1:PORT/metrics")]);
      });
    },
  );
}

const launched = await fetchLlamaServer(BUILDS.process);

test.skipIf(!launched.ok)(
  "of a server that run launches the tokens of all of its life stand beside its own count",
  async () => {
    if (!launched.ok) return;
    const model = await modelPath();
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const args = [
      "run",
      "--engine-metrics",
      `${url}/metrics`,
      "--collector",
      "process",
      "--json",
      ...QUICK,
      "--output",
      output,
    ];
    const tracer = startCli([...args, "--", ...launched.command(model, port, 512)], { env: launched.env });
    await answered(`${url}/health`);
    const body = JSON.stringify({ prompt: "a b c", n_predict: TOKENS, ignore_eos: true, stream: true });
    await answered(`${url}/completion`, { method: "POST", body });
    // It is asked before the signal ends it.
    tracer.signal("SIGTERM");
    const report = jsonOf(await tracer.ended) as unknown as Report;
    expect(report.target.engine_counts).toMatchObject({ generated_tokens: TOKENS, requests_under_way: 0, why: null });
    for (const words of [["--serve", "1s", "--", "true", "{port}"], []]) {
      const refused = await runCli(["run", "--engine-metrics", `${url}/metrics`, ...words]);
      expect([refused.exitCode, refused.stderr]).toEqual([
        2,
        expect.stringContaining("--engine-metrics was given, and"),
      ]);
    }
  },
);

test.skipIf(!launched.ok)(
  "tokens of slots that decode beside the prompts of others are decoded, as the server counts them",
  async () => {
    if (!launched.ok) return;
    await withServer(launched, 4, 2048, async (url, pid) => {
      const args = ["attach", String(pid), "--engine-metrics", `${url}/metrics`, "--json"];
      const tracer = startCli([...args, "--verbose", ...QUICK, "--output", output]);
      await tracer.said("recording");
      const client = async (slot: number): Promise<void> => {
        for (let i = 0; i < REQUESTS; i++) {
          const prompt = `${slot} ${i} a b c d e f g h`;
          await answered(`${url}/completion`, {
            method: "POST",
            body: JSON.stringify({
              ...{ prompt, n_predict: TOKENS - 20 * slot, ignore_eos: true, stream: true, cache_prompt: false },
            }),
          });
        }
      };
      await Promise.all([0, 1, 2, 3].map(client));
      tracer.signal("SIGINT");
      const report = jsonOf(await tracer.ended) as unknown as Report;
      const generated = REQUESTS * (4 * TOKENS - 20 * (1 + 2 + 3));
      expect(report.target.engine_counts).toMatchObject({ generated_tokens: generated, why: null });
      // The first token of an answer comes from the step of its prompt.
      expect(report.target.decode_tokens).toBe(generated - 4 * REQUESTS);
      expect(report.target.prompt_tokens).toBe(report.target.engine_counts?.prompt_tokens ?? Number.NaN);
    });
  },
);
