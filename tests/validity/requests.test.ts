import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeModel } from "../../src/demo/model/write-model.ts";
import { BUILDS, fetchLlamaServer } from "../fixtures/llama-server.ts";
import { randomServing } from "./laboratory/random-serving.ts";

setDefaultTimeout(240_000);

const folder = mkdtempSync(join(tmpdir(), "mrm-requests-"));
const model = join(folder, "model.gguf");
// Smaller models have tokens of single bytes: of an answer that ends in the midst of a character its server tells no counts.
beforeAll(async () => await writeModel({ params: "15m", type: "q8_0", seed: 1 }, model));
afterAll(() => rmSync(folder, { recursive: true }));

/** Seconds of asking by the call that a build hands its batches over by: most for the newer one. */
const SECONDS = { decode: 10, process: 20 } as const;

for (const build of ["decode", "process"] as const) {
  const server = await fetchLlamaServer(BUILDS[build]);
  if (!server.ok) process.stderr.write(`skipped: random clients of a real server: ${server.reason}\n`);

  test.skipIf(!server.ok)(
    `steps, tokens, sequences, rows and requests are as a server that calls llama_${build} logs them, whose clients ask and hang up at random`,
    async () => {
      if (!server.ok) return;
      const load = { model, folder: join(folder, build), seconds: SECONDS[build], seed: 1 };
      const { checks, fitted } = await randomServing(server, { ...load, options: ["--ebpf", "engine"] });
      expect(checks.filter(({ seen, logged, alike }) => alike !== seen || alike !== logged)).toEqual([]);
      expect(checks.find(({ what }) => what.startsWith("requests"))?.alike).toBeGreaterThan(0);
      // Of a server that does not say which sequence a request had: never another one's, and most are found.
      expect(fitted.wrong).toBe(0);
      expect(fitted.right).toBeGreaterThan(0.8 * fitted.requests);
    },
  );
}
