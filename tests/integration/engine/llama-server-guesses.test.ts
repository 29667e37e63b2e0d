import { afterAll, beforeAll, test as bunTest, describe, expect, setDefaultTimeout } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { stepSamples } from "../../../src/analyse/input/load-samples.ts";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { isBatch, isPrefill, type StepRow, stepRows } from "../../../src/label/timeline/step-row.ts";
import { createTokenCount } from "../../../src/record/token-count.ts";
import { contextOf, draftGuesses } from "../../../src/schema/step-detail.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";
import { freePort, untilReady } from "../../validity/laboratory/random-clients.ts";

setDefaultTimeout(120_000);

const builds = await Promise.all(Object.values(BUILDS).map(fetchLlamaServer));
for (const build of builds)
  if (!build.ok) process.stderr.write(`skipped: a server that guesses ahead: ${build.reason}\n`);

let folder = "";
let model = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-guesses-"));
  model = join(folder, "model.gguf");
  await writeModel({ params: "1m", type: "f16", seed: 1 }, model);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Tokens of a batch: prompts come in several, of which some have one token. */
const BATCH_TOKENS = 64;
/** A server tries its cache before its first request. */
const TRIAL_TOKENS = 2;

/** The server closes idle connections; a request on one that it is closing would fail. */
const ALONE = { keepalive: false, headers: { connection: "close" } };

function tokenCountOf({ steps }: EngineRun) {
  const tokens = createTokenCount();
  tokens.take(batchFromRows("step", steps));
  return tokens;
}

const DRAFTED = z.object({
  timings: z.object({
    prompt_n: z.number(),
    predicted_n: z.number(),
    draft_n: z.number().default(0),
    draft_n_accepted: z.number().default(0),
  }),
});

describe.each([
  ["llama_decode", builds[0]],
  ["llama_process", builds[1]],
] as const)("a server that guesses ahead, whose build calls %s,", (_, build) => {
  interface Guessed {
    readonly counted: { prompts: number; answers: number; guesses: number; kept: number };
    readonly run: EngineRun;
  }

  /** Two slots and three clients at once, and what the server counts of their answers. */
  async function guess(env: Readonly<Record<string, string>>): Promise<Guessed> {
    if (!build?.ok) throw new Error("no such build");
    const port = freePort();
    const counted = { prompts: 0, answers: 0, guesses: 0, kept: 0 };
    const random = seededRandom(3);
    const ask = async (n_predict: number): Promise<void> => {
      const prompt = Array.from({ length: 3 + Math.floor(90 * random()) }, () => 3 + Math.floor(250 * random()));
      const body = JSON.stringify({ prompt, n_predict, ignore_eos: true, temperature: 0 });
      const response = await fetch(`http://127.0.0.1:${port}/completion`, { ...ALONE, method: "POST", body });
      const { timings } = DRAFTED.parse(await response.json());
      counted.prompts += timings.prompt_n;
      counted.answers += timings.predicted_n - 1;
      counted.guesses += timings.draft_n;
      counted.kept += timings.draft_n_accepted;
    };
    const run = await runEngine(build.command(model, port, 1024, { slots: 2 }), {
      env: { ...build.env, MRM_BATCH_TOKENS: String(BATCH_TOKENS), MRM_GUESSES: "5", ...env },
      objects: build.objects,
      meanwhile: async (_session, pid) => {
        await untilReady(port);
        const client = async () => {
          for (let i = 0; i < 4; i++) await ask(40 + Math.floor(60 * random()));
        };
        await Promise.all([client(), client(), client()]);
        process.kill(pid, "SIGTERM");
      },
    });
    return { counted, run };
  }

  const guessesIn = (step: StepRow): number => Array.from(draftGuesses(step).values()).reduce((a, b) => a + b, 0);

  bunTest.skipIf(!build?.ok)(
    "has its drafts in steps of decoding, beside prompts of others too, and the tokens that it counts",
    async () => {
      const { counted, run } = await guess({});
      expect(counted.kept).toBeGreaterThan(20);
      expect(counted.guesses).toBeGreaterThan(counted.kept);
      const batches = stepRows(run.steps, 0n).filter(isBatch);
      expect(batches.reduce((sum, step) => sum + guessesIn(step), 0)).toBe(counted.guesses);
      expect(batches.filter((step) => guessesIn(step) > 0 && !isPrefill(step)).length).toBeGreaterThan(5);
      expect(batches.filter(({ is_guess }) => is_guess)).toEqual([]);
      expect(tokenCountOf(run)).toMatchObject({ prompt_tokens: counted.prompts, decode_tokens: counted.answers });
    },
  );

  bunTest.skipIf(!build?.ok).each([
    ["few", 2],
    ["all", 1],
  ] as const)("counts nothing of what a draft model computes of whose guesses %s stay", async (_share, seed) => {
    const draft = join(folder, `${seed}.gguf`);
    await writeModel({ params: "1m", type: "f16", seed }, draft, { force: true });
    const { counted, run } = await guess({ MRM_DRAFT_MODEL: draft });
    expect(counted.guesses).toBeGreaterThan(100);
    if (seed === 1) expect(counted.kept).toBe(counted.guesses);
    else expect(counted.kept).toBeLessThan(counted.guesses / 10);
    const steps = stepRows(run.steps, 0n);
    const batches = steps.filter(isBatch);
    expect(batches.reduce((sum, step) => sum + guessesIn(step), 0)).toBe(counted.guesses);
    expect(tokenCountOf(run)).toMatchObject({ prompt_tokens: counted.prompts, decode_tokens: counted.answers });
    // The steps of the figures have the same tokens: those of the target alone.
    const target = batches.filter((step) => !step.is_guess);
    expect(new Set(target.map(contextOf)).size).toBe(1);
    expect(batches.length).toBeGreaterThan(2 * target.length);
    const samples = stepSamples(steps, Number.POSITIVE_INFINITY);
    const all = TRIAL_TOKENS + counted.prompts + counted.answers;
    expect(samples.reduce((sum, { n_tokens }) => sum + n_tokens, 0)).toBe(all);
  });
});
