import { afterAll, beforeAll, test as bunTest, describe, expect, setDefaultTimeout } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { readRemote } from "../../../src/kernel/remote-memory.ts";
import { isBatch, isPrefill, stepRows } from "../../../src/label/timeline/step-row.ts";
import { createTokenCount } from "../../../src/record/token-count.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { kvTokens } from "../../fixtures/listed-tokens.ts";
import { BUILDS, fetchLlamaServer, type LlamaServer, type Slots } from "../../fixtures/llama-server.ts";
import { savedKeys } from "../../fixtures/saved-keys.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";
import { freePort, untilReady } from "../../validity/laboratory/random-clients.ts";

setDefaultTimeout(120_000);

const builds = await Promise.all(Object.values(BUILDS).map(fetchLlamaServer));
for (const build of builds)
  if (!build.ok) process.stderr.write(`skipped: a server of several slots: ${build.reason}\n`);
const [server, newer] = builds as [LlamaServer, LlamaServer];

let folder = "";
let model = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-slots-"));
  model = join(folder, "model.gguf");
  await writeModel({ params: "1m", type: "f16", seed: 1 }, model);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Tokens of a batch: prompts come in several, of which some have one token. */
const BATCH_TOKENS = 64;
const PREFIX = "You answer in short words, and you count to ten before you do. ".repeat(2);

/** The server closes idle connections; a request on one that it is closing would fail. */
const ALONE = { keepalive: false, headers: { connection: "close" } };

interface Load {
  /** Clients at once. */
  readonly clients: number;
  /** Of each client. */
  readonly requests: number;
  /** Tokens that a request asks for at most. */
  readonly most: number;
  /** Tokens of a last request that nobody else is beside, which has the whole context to itself. */
  readonly alone?: number;
  /** Share of the requests that are given up in their midst. */
  readonly givenUp: number;
}

/** Tokens of prompts that were not cached, and those of answers that were decoded. */
interface Counted {
  readonly prompts: number;
  readonly answers: number;
}

/**
 * Requests of random lengths, of which some share the first part of their prompt.
 * @returns how many tokens the server decoded for those that ended, by its own count
 */
async function serveMany(port: number, { clients, requests, most, alone, givenUp }: Load): Promise<Counted> {
  const url = `http://127.0.0.1:${port}`;
  await untilReady(port);
  const random = seededRandom(7);
  let prompts = 0;
  let answers = 0;
  const client = async (): Promise<void> => {
    for (let i = 0; i < requests; i++) {
      const words = Array.from({ length: 2 + Math.floor(20 * random()) }, () => Math.floor(1e4 * random())).join(" ");
      const prompt = (random() < 0.6 ? PREFIX : "") + words;
      await ask(prompt, 2 + Math.floor(most * random() ** 2), random() < givenUp);
    }
  };
  const ask = async (prompt: string, n_predict: number, isGivenUp: boolean): Promise<void> => {
    const body = JSON.stringify({ prompt, n_predict, ignore_eos: true, stream: true, cache_prompt: true });
    const response = await fetch(`${url}/completion`, { ...ALONE, method: "POST", body });
    if (isGivenUp) await response.body?.cancel();
    else {
      const text = await response.text();
      const last = (name: string) => Number([...text.matchAll(new RegExp(`"${name}":(\\d+)`, "g"))].at(-1)?.[1]);
      // The last token that is sampled is decoded no more.
      prompts += last("prompt_n");
      answers += last("predicted_n") - 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  if (alone !== undefined) await ask(PREFIX, alone, false);
  return { prompts, answers };
}

interface Held {
  readonly run: EngineRun;
  /** As `serveMany` says. */
  readonly decoded: Counted;
  /** First and last position of each sequence, as the engine says; -1 for none. */
  readonly engine: readonly (readonly [sequence: number, first: number, last: number])[];
  /** What the engine saves of each sequence, by position. */
  readonly states: readonly ReadonlyMap<number, string>[];
  /** The keys of the first layer as they are in memory then. */
  readonly keys: Uint8Array;
  readonly rowBytes: number;
  /** Cells of each sequence; null where all share them. */
  readonly streamCells: number | null;
}

/** A server under load, and what its engine holds when the load has ended. */
async function served(
  server: LlamaServer,
  options: Slots,
  contextTokens: number,
  load: Omit<Load, "clients">,
): Promise<Held> {
  if (!server.ok) throw new Error(server.reason);
  let decoded: Counted = { prompts: 0, answers: 0 };
  let keys: Uint8Array = new Uint8Array(0);
  let rowBytes = 0;
  let streamCells: number | null = null;
  const port = freePort();
  const question = join(folder, `question-${port}`);
  const answer = join(folder, `answer-${port}`);
  const run = await runEngine(server.command(model, port, contextTokens, options), {
    env: { ...server.env, MRM_BATCH_TOKENS: String(BATCH_TOKENS), MRM_QUESTION: question, MRM_ANSWER: answer },
    objects: server.objects,
    meanwhile: async (session, pid, stepsSoFar) => {
      decoded = await serveMany(port, { ...load, clients: options.slots + 1 });
      const contextOf = () => stepsSoFar().findLast(({ kind }) => kind === "decode")?.detail;
      await waitUntil(() => contextOf() !== undefined);
      // A slot whose client went away decodes for some steps more.
      await Bun.sleep(500);
      writeFileSync(question, String(JSON.parse(contextOf() ?? "{}").context));
      process.kill(pid, "SIGUSR1");
      if (!(await waitUntil(() => existsSync(answer)))) throw new Error("the server did not say what its engine holds");
      const tensor = session.liveTensors().find(({ name }) => name === "cache_k_l0");
      const [, cells = 1, streams = 1] = tensor?.ne ?? [];
      if (streams > 1) streamCells = cells;
      rowBytes = (tensor?.size_bytes ?? 0) / (cells * streams);
      keys = (tensor && readRemote(pid, tensor.addr, tensor.size_bytes)) ?? keys;
      process.kill(pid, "SIGTERM");
    },
  });
  const lines = readFileSync(answer, "utf8").trim().split("\n");
  const fields = lines.map((line) => line.split(" "));
  const engine = fields.map(([id, first, last]) => [Number(id), Number(first), Number(last)] as const);
  const states = fields.map((field) => savedKeys(Uint8Array.fromHex(field[3] ?? ""), rowBytes));
  return { run, decoded, engine, states, keys, rowBytes, streamCells };
}

/** Tokens by the capture; the context is freed when the server ends, and the engine was asked before. */
function tokensOf({ run, streamCells }: Held) {
  const rows = stepRows(run.steps, run.steps[0]?.timestamp_ns ?? 0n);
  return kvTokens(
    rows.filter(({ kind }) => kind !== "context_free"),
    () => streamCells,
  );
}

function tokenCountOf({ steps }: EngineRun) {
  const tokens = createTokenCount();
  tokens.take(batchFromRows("step", steps));
  return tokens;
}

/** The bytes of a row of the first layer in memory, as text; null where the cell is not known. */
function rowAt({ keys, rowBytes }: Held, cell: number | null): string | null {
  return cell === null ? null : keys.subarray(cell * rowBytes, (cell + 1) * rowBytes).toHex();
}

/** The rows that live and that batches wrote: where the engine puts what it restores is not seen. */
function writtenRows(held: Held) {
  const restores = new Set(
    stepRows(held.run.steps, held.run.steps[0]?.timestamp_ns ?? 0n)
      .filter(({ kind }) => kind === "kv_restore")
      .map(({ begin_ns }) => begin_ns),
  );
  return tokensOf(held).tokens.filter(({ evict_ns, write_ns }) => evict_ns === null && !restores.has(write_ns));
}

bunTest.skipIf(!server.ok)(
  "a server that shifts full contexts keeps the rows that its engine says, and ends the others",
  async () => {
    const held = await served(server, { slots: 2, shift: true, unified: true }, 512, {
      requests: 2,
      most: 900,
      // More than the context holds.
      alone: 700,
      givenUp: 0.2,
    });
    const { tokens, untold } = tokensOf(held);
    expect(untold).toBeNull();
    expect(held.run.steps.filter(({ kind }) => kind === "kv_shift").length).toBeGreaterThan(0);
    const alive = held.engine.map(([id]) => [
      id,
      tokens.filter(({ sequence, evict_ns }) => sequence === id && evict_ns === null).length,
    ]);
    expect(alive).toEqual(held.engine.map(([id, first, last]) => [id, last < 0 ? 0 : last - first + 1]));
    // Their positions are no more those of their writes, but each is one of those that the engine saves.
    const saved = new Set(held.states.flatMap((keys) => [...keys.values()]));
    const rows = writtenRows(held).map(({ cell }) => rowAt(held, cell));
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter((row) => row === null || !saved.has(row))).toEqual([]);
    expect(new Set(rows).size).toBe(rows.length);
    // What a shift moves lives on: some rows were needed for longer than the cache has room for new ones.
    expect(Math.max(...tokens.map(({ total_reads }) => total_reads))).toBeGreaterThan(256);
  },
);

/** By the call that hands a batch over: some requests of the first are given up, so that its tokens are not counted. */
const HANDS_OVER = [
  ["llama_decode", server, 0.2],
  ["llama_process", newer, 0],
] as const;

describe.each(HANDS_OVER)(
  "a server of four slots with concurrent clients, whose build calls %s",
  (_, build, givenUp) => {
    const test = build.ok ? bunTest : bunTest.skip;
    let held: Held;
    beforeAll(async () => {
      if (build.ok) held = await served(build, { slots: 4 }, 2048, { requests: 6, most: 60, givenUp });
    });

    test("tells the sequences of every batch, and what it lost is nothing", () => {
      expect(tokensOf(held).untold).toBeNull();
      const batches = stepRows(held.run.steps, 0n).filter(isBatch);
      expect(batches.length).toBeGreaterThan(50);
      expect(batches.some(({ n_sequences }) => (n_sequences ?? 0) > 1)).toBe(true);
      expect(held.run.ledger.filter(({ stage, dropped }) => stage === "decode" && dropped > 0)).toEqual([]);
    });

    test("keeps each row in the cell that its steps name: there is what its engine saves of it", () => {
      const rows = writtenRows(held);
      const saved = rows.map(({ sequence, position }) => held.states[sequence ?? -1]?.get(position ?? -1));
      expect(rows.length).toBeGreaterThan(100);
      expect(rows.map(({ cell }) => rowAt(held, cell))).toEqual(saved.map((row) => row ?? "not saved"));
      expect(new Set(rows.map(({ cell }) => cell)).size).toBe(rows.length);
    });

    test("has the tokens that its server counts", () => {
      const { prompt_tokens, decode_tokens } = tokenCountOf(held.run);
      const { prompts, answers } = held.decoded;
      // Before its first request a newer build tries its cache with a batch of its own, which is no prompt.
      if (givenUp === 0)
        expect({ prompt_tokens, decode_tokens }).toEqual({ prompt_tokens: prompts, decode_tokens: answers });
      else expect((prompt_tokens ?? 0) + decode_tokens).toBeGreaterThanOrEqual(prompts + answers);
    });

    test("holds in the end the rows that its engine says, of each sequence", () => {
      const { tokens } = tokensOf(held);
      const alive = tokens.filter(({ evict_ns }) => evict_ns === null);
      const counted = held.engine.map(([sequence]) => {
        const positions = alive.filter((token) => token.sequence === sequence).map(({ position }) => position ?? -1);
        return [sequence, Math.min(...positions), Math.max(...positions), new Set(positions).size];
      });
      expect(counted).toEqual(held.engine.map(([sequence, first, last]) => [sequence, first, last, last - first + 1]));
      expect(tokens.length).toBeGreaterThan(alive.length);
    });
  },
);

const TIMINGS = z.object({ timings: z.object({ prompt_n: z.number(), predicted_n: z.number() }) });

describe.each([
  ["llama_decode", server],
  ["llama_process", newer],
] as const)("a server whose build calls %s", (_, build) => {
  bunTest.skipIf(!build.ok)(
    "has the last token of a prompt in a batch of its own, which is told from its answer",
    async () => {
      if (!build.ok) return;
      const port = freePort();
      const counted: (readonly [prompt_n: number, predicted_n: number])[] = [];
      const run = await runEngine(build.command(model, port, 512, { slots: 1 }), {
        env: { ...build.env, MRM_BATCH_TOKENS: String(BATCH_TOKENS) },
        objects: build.objects,
        meanwhile: async (_session, pid) => {
          await untilReady(port);
          const prompt = Array.from({ length: BATCH_TOKENS + 1 }, (_token, i) => 3 + ((7 * i) % 250));
          // Once with a batch for its last token, once where all before that was cached.
          for (const n_predict of [6, 4]) {
            const body = JSON.stringify({ prompt, n_predict, ignore_eos: true, cache_prompt: true });
            const response = await fetch(`http://127.0.0.1:${port}/completion`, { ...ALONE, method: "POST", body });
            const { timings } = TIMINGS.parse(await response.json());
            counted.push([timings.prompt_n, timings.predicted_n]);
          }
          process.kill(pid, "SIGTERM");
        },
      });
      expect(counted).toEqual([
        [BATCH_TOKENS + 1, 6],
        [1, 4],
      ]);
      const batches = stepRows(run.steps, 0n).filter(isBatch);
      // A newer build tries its cache before its first request. The last token of an answer is decoded no more.
      expect(batches.slice(-11).map((step) => [step.n_tokens, isPrefill(step)])).toEqual([
        ...[[BATCH_TOKENS, true], [1, true], ...Array(5).fill([1, false])],
        ...[[1, true], ...Array(3).fill([1, false])],
      ]);
      expect(tokenCountOf(run)).toMatchObject({ prompt_tokens: BATCH_TOKENS + 2, decode_tokens: 8, beside_tokens: 0 });
    },
  );
});

bunTest.skipIf(!newer.ok)(
  "a build that hands its batches over by llama_process tells the tokens of each step",
  async () => {
    if (!newer.ok) return;
    const port = freePort();
    let counted = { prompt_n: 0, predicted_n: 0 };
    const run = await runEngine(newer.command(model, port, 512, { slots: 1 }), {
      env: newer.env,
      objects: newer.objects,
      meanwhile: async (_, pid) => {
        await untilReady(port);
        const body = JSON.stringify({
          prompt: "one two three four",
          n_predict: 40,
          ignore_eos: true,
          temperature: 0,
          n_probs: 0,
        });
        const response = await fetch(`http://127.0.0.1:${port}/completion`, { ...ALONE, method: "POST", body });
        const text = new TextDecoder().decode(await response.arrayBuffer());
        const number = (name: string) => Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1]);
        counted = { prompt_n: number("prompt_n"), predicted_n: number("predicted_n") };
        process.kill(pid, "SIGTERM");
      },
    });
    const batches = stepRows(run.steps, 0n).filter(isBatch);
    const tokens = batches.map(({ n_tokens }) => n_tokens ?? 0);
    expect([counted.prompt_n > 4, counted.predicted_n]).toEqual([true, 40]);
    // The last token that is sampled is decoded no more.
    // Before its first request the engine tries its cache with a batch of its own.
    expect(tokens.slice(-counted.predicted_n)).toEqual([counted.prompt_n, ...Array(counted.predicted_n - 1).fill(1)]);
    const { tokens: rows, untold } = kvTokens(stepRows(run.steps, 0n));
    expect(untold).toBeNull();
    expect(rows.slice(-40 - counted.prompt_n + 1).map(({ position }) => position)).toEqual(
      Array.from({ length: counted.prompt_n + 39 }, (_, i) => i),
    );
  },
);
