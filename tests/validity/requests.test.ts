import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeModel } from "../../src/demo/model/write-model.ts";
import { fetchLlamaServer } from "../fixtures/llama-server.ts";
import { randomServing } from "./laboratory/random-serving.ts";

setDefaultTimeout(240_000);

const SECONDS = 20;
const folder = mkdtempSync(join(tmpdir(), "mrm-requests-"));
afterAll(() => rmSync(folder, { recursive: true }));
const server = await fetchLlamaServer();
if (!server.ok) process.stderr.write(`skipped: random clients of a real server: ${server.reason}\n`);

test.skipIf(!server.ok)(
  "steps, tokens, sequences, rows and requests are as the server logs them, whose clients ask and hang up at random",
  async () => {
    if (!server.ok) return;
    const model = join(folder, "model.gguf");
    // Smaller models have tokens of single bytes: of an answer that ends in the midst of a character its server tells no counts.
    await writeModel({ params: "15m", type: "q8_0", seed: 1 }, model);
    const load = { model, folder, seconds: SECONDS, seed: 1, options: ["--ebpf", "engine"] };
    const { checks } = await randomServing(server, load);
    expect(checks.filter(({ seen, logged, alike }) => alike !== seen || alike !== logged)).toEqual([]);
    expect(checks.find(({ what }) => what.startsWith("requests"))?.alike).toBeGreaterThan(0);
  },
);
