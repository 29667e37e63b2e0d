import { afterAll, beforeAll, test as bunTest, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { monotonicNs } from "../../../src/kernel/libc.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { freePort, untilReady } from "../../validity/laboratory/random-clients.ts";

setDefaultTimeout(120_000);

let folder = "";
let model = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-hits-"));
  model = join(folder, "model.gguf");
  await writeModel({ params: "1m", type: "f16", seed: 1 }, model);
});
afterAll(() => rmSync(folder, { recursive: true }));

const [SLOTS, REQUESTS] = [4, 4];
/** Until the allocator has placed 8192 tensors where they were before; a prompt of another length is placed anew. */
const UNSETTLED = 7;
const MEASURED = 2;
/** What a request does beside its batches: its sequence is trimmed, and its cache asked for, at most. */
const REQUEST_HITS = 12;
/** The server closes idle connections; a request on one that it is closing would fail. */
const ALONE = { keepalive: false, headers: { connection: "close" } };

/** By the call that hands a batch over: hits for the call with its one graph, for each token of the batch, and for each token that is sampled. */
const HITS = {
  decode: { perCall: 3, perToken: 0, perSampled: 0 },
  // The batch is emptied, and each of its tokens is added and given a position by calls of their own.
  process: { perCall: 4, perToken: 2, perSampled: 1 },
} as const;

/** Requests of all slots at once, each with a prompt as long as no other one has. @returns tokens of the answers */
async function serve(port: number, round: number): Promise<number> {
  let tokens = 0;
  const client = async (slot: number): Promise<void> => {
    for (let i = 0; i < REQUESTS; i++) {
      const n_predict = 30 + 5 * slot + 3 * i;
      const length = 10 + slot + SLOTS * (i + REQUESTS * round);
      const prompt = Array.from({ length }, (_, k) => 3 + ((7 * k + length) % 250));
      const body = JSON.stringify({ prompt, n_predict, ignore_eos: true, cache_prompt: false });
      const response = await fetch(`http://127.0.0.1:${port}/completion`, { ...ALONE, method: "POST", body });
      await response.arrayBuffer();
      tokens += n_predict;
    }
  };
  await Promise.all(Array.from({ length: SLOTS }, (_, slot) => client(slot)));
  return tokens;
}

for (const calls of ["decode", "process"] as const) {
  const server = await fetchLlamaServer(BUILDS[calls]);
  if (!server.ok) process.stderr.write(`skipped: hits of a server of four slots: ${server.reason}\n`);

  bunTest.skipIf(!server.ok)(
    `the probes of a server of four slots that calls llama_${calls} are hit for calls and tokens, and once the allocator's rests for no tensor of a graph`,
    async () => {
      if (!server.ok) return;
      const port = freePort();
      const rounds: { begin_ns: bigint; end_ns: bigint; hits: number; sampled: number }[] = [];
      const run = await runEngine(server.command(model, port, 2048, { slots: SLOTS, unified: true }), {
        env: server.env,
        objects: server.objects,
        async meanwhile(session, pid) {
          await untilReady(port);
          for (let round = 0; round < UNSETTLED + MEASURED; round++) {
            const [begin_ns, before] = [monotonicNs(), session.hitCost().hits];
            const sampled = await serve(port, round);
            rounds.push({ begin_ns, end_ns: monotonicNs(), hits: session.hitCost().hits - before, sampled });
          }
          process.kill(pid, "SIGTERM");
        },
      });
      /** Hits of a call beyond those for tokens and requests. */
      const perCall = rounds.map(({ begin_ns, end_ns, hits, sampled }) => {
        const steps = run.steps.filter(
          ({ kind, timestamp_ns }) => kind === "decode" && timestamp_ns >= begin_ns && timestamp_ns < end_ns,
        );
        const tokens = steps.reduce((sum, { n_tokens }) => sum + (n_tokens ?? 0), 0);
        const { perToken, perSampled } = HITS[calls];
        const others = perToken * tokens + perSampled * sampled + REQUEST_HITS * SLOTS * REQUESTS;
        return (hits - others) / steps.length;
      });
      expect(Math.min(...perCall.slice(0, 3))).toBeGreaterThan(1.5 * HITS[calls].perCall);
      const off = perCall.slice(UNSETTLED).map((one) => Math.abs(one - HITS[calls].perCall));
      expect(Math.max(...off)).toBeLessThan(0.5);
    },
  );
}
