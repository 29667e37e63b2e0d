import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { ensureDemoModel } from "../../../src/demo/demo-model.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { freePort } from "../../validity/laboratory/random-clients.ts";
import { endLeftRuns, jsonOf, outputFolder, QUICK, startCli } from "./cli.ts";

afterEach(endLeftRuns);

const PORT = freePort();
/** The server closes idle connections; a request on one that it is closing would fail. */
const ONE_EACH = { keepalive: false, headers: { connection: "close" } };
const server = await fetchLlamaServer();
if (!server.ok) process.stderr.write(`skipped: llama-server of another build: ${server.reason}\n`);

/** Asks for tokens; the random model's text is no UTF-8, so the answer is streamed and thrown away. */
async function complete(tokens: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${PORT}/completion`, {
    ...ONE_EACH,
    method: "POST",
    body: JSON.stringify({
      prompt: "a b c d e f g h",
      n_predict: tokens,
      ignore_eos: true,
      stream: true,
      temperature: 0,
    }),
  });
  await response.arrayBuffer();
}

async function ready(): Promise<void> {
  for (let i = 0; i < 200; i++) {
    const health = await fetch(`http://127.0.0.1:${PORT}/health`, ONE_EACH).catch(() => null);
    if (health?.ok) return;
    await Bun.sleep(100);
  }
  throw new Error("llama-server did not become ready");
}

test.skipIf(!server.ok)(
  "a llama-server that nobody announced is recognised, its tensors named and its decodes counted",
  async () => {
    if (!server.ok) return;
    const output = outputFolder();
    const model = await ensureDemoModel(join(output, "models"), { params: "15m", type: "q4_0", seed: 1 });
    const serve = server.command(model, PORT, 512);
    const run = startCli(["run", "--json", ...QUICK, "--output", output, "--", ...serve], { env: server.env });
    await ready();
    for (let i = 0; i < 6; i++) await complete(200);
    run.signal("SIGTERM");
    const report = jsonOf(await run.ended) as {
      model_id: string;
      target: { decode_tokens: number; prompt_tokens: number };
      labels: { region_type: string; bytes: string }[];
      metrics: {
        metric: string;
        region_type: string;
        step: string;
        value: number | null;
        lo: number | null;
        hi: number | null;
        source: string;
      }[];
      ledger: { path: string; dropped: string }[];
    };
    expect(report.model_id).toBe("random-15m-q4_0-seed-1");
    expect(report.target.decode_tokens).toBeGreaterThan(1100);
    expect(report.target.prompt_tokens).toBeGreaterThan(8);
    const bytes = (type: string) =>
      report.labels.filter((label) => label.region_type === type).reduce((sum, label) => sum + Number(label.bytes), 0);
    // 14.5 MB of weights, the matrices of them repacked; 512 rows of 288 x 2 x 2 bytes in 6 layers.
    expect(bytes("weight")).toBeGreaterThan(13e6);
    expect(bytes("weight")).toBeLessThan(30e6);
    expect(bytes("kv_cache")).toBe(512 * 288 * 2 * 2 * 6);
    expect(bytes("activation")).toBeGreaterThan(1e5);
    const reads = report.metrics.find(
      (row) => row.metric === "reads_per_byte_per_token" && row.region_type === "weight" && row.step === "decode",
    );
    expect(reads?.source).toBe("watch");
  },
);
