import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { SEVERAL_CACHES } from "../../../src/label/kv/kv-tokens.ts";
import { isBatch, stepRows } from "../../../src/label/timeline/step-row.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { kvRows, type ListedRows } from "../../fixtures/listed-tokens.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";

const build = await fetchLlamaServer();
if (!build.ok) process.stderr.write(`skipped: kinds of caches of llama.cpp: ${build.reason}\n`);
const DRIVER = new URL("../../fixtures/llama_kinds.py", import.meta.url).pathname;
const PROMPT = 40;
const DECODED = 100;

interface Driven {
  readonly run: EngineRun;
  readonly rows: ListedRows;
  /** First and last position of the one sequence of each context, as the engine says in the end. */
  readonly held: readonly (readonly [first: number, last: number])[];
}

async function drive(kind: string): Promise<Driven> {
  if (!build.ok) throw new Error(build.reason);
  const folder = mkdtempSync(join(tmpdir(), "mrm-kinds-"));
  try {
    const [library = ""] = build.objects;
    const run = await runEngine(["python3", DRIVER, library, folder, kind], { env: build.env, objects: build.objects });
    const { failed, held } = JSON.parse(run.stdout);
    expect(failed).toBe(0);
    const origin = run.steps[0]?.timestamp_ns ?? 0n;
    const steps = stepRows(run.steps, origin);
    const tokens = steps.filter(isBatch).map(({ n_tokens }) => n_tokens ?? 0);
    // However little is told of rows, every token is counted.
    expect(tokens.filter((n) => n === PROMPT).length).toBe(held.length);
    expect(tokens.filter((n) => n === 1).length).toBeGreaterThanOrEqual(DECODED * held.length);
    return { run, held, rows: kvRows(steps, tensorLives(run.tensors, []).rows, origin) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const named = ({ run }: Driven, part: RegExp) =>
  run.tensors.filter(({ kind, name }) => kind === "tensor" && part.test(name ?? ""));
const alive = ({ rows }: Driven) => rows.tokens.filter(({ evict_ns }) => evict_ns === null);

test.skipIf(!build.ok)(
  "layers with a window have their caches, and no life of a row is told for any layer",
  async () => {
    const sliding = await drive("sliding");
    expect(named(sliding, /^cache_/).map(({ name, region_type, shape }) => [name, region_type, shape])).toEqual([
      ["cache_k_l1", "kv_cache", "32x512x1x1"],
      ["cache_v_l1", "kv_cache", "32x512x1x1"],
      ["cache_k_l0", "kv_cache", "32x256x1x1"],
      ["cache_v_l0", "kv_cache", "32x256x1x1"],
    ]);
    expect([[...sliding.rows.tokens], sliding.rows.untold]).toEqual([[], SEVERAL_CACHES]);
  },
);

test.skipIf(!build.ok)("the state of a recurrent model is a cache without rows of tokens", async () => {
  const recurrent = await drive("recurrent");
  const states = named(recurrent, /^cache_/);
  expect(states.map(({ name, region_type }) => [name, region_type])).toEqual([
    ["cache_r_l0", "kv_cache"],
    ["cache_s_l0", "kv_cache"],
    ["cache_r_l1", "kv_cache"],
    ["cache_s_l1", "kv_cache"],
  ]);
  expect([...recurrent.rows.tokens]).toEqual([]);
  // Of each of two layers the last 3 inputs of a convolution of 128, and 16 numbers of state for each of these, in f32.
  expect(recurrent.rows.rowless_bytes).toBe(2 * 4 * (3 * 128 + 16 * 128));
  expect(new Set(named(recurrent, /^blk\..*ssm_/).map(({ region_type }) => region_type))).toEqual(new Set(["weight"]));
});

test.skipIf(!build.ok)("the matrices of an adapter are weights, by name", async () => {
  const adapter = await drive("adapter");
  expect(named(adapter, /lora/).map(({ name, region_type, layer }) => [name, region_type, layer])).toEqual([
    ["blk.0.attn_q.weight.lora_a", "weight", 0],
    ["blk.0.attn_q.weight.lora_b", "weight", 0],
    ["blk.1.attn_q.weight.lora_a", "weight", 1],
    ["blk.1.attn_q.weight.lora_b", "weight", 1],
  ]);
  expect(adapter.rows.untold).toBeNull();
  expect(alive(adapter).map(({ position }) => position)).toEqual(Array.from({ length: PROMPT + DECODED }, (_, i) => i));
});

test.skipIf(!build.ok)("two models in a process have each their tokens in their cache", async () => {
  const draft = await drive("draft");
  expect(draft.rows.untold).toBeNull();
  const contexts = [...new Set(draft.rows.tensors.map(({ context }) => context))];
  expect(contexts.length).toBe(2);
  for (const [i, context] of contexts.entries()) {
    const mine = alive(draft).filter((token) => token.context === context);
    expect([mine[0]?.position, mine.at(-1)?.position, mine.length]).toEqual([
      ...(draft.held[i] ?? []),
      PROMPT + DECODED,
    ]);
    expect(draft.rows.tensors.filter((tensor) => tensor.context === context).length).toBe(4);
  }
});

test.skipIf(!build.ok)("a context that decodes nothing has no rows in its cache", async () => {
  const idle = await drive("idle");
  expect(named(idle, /^cache_/).length).toBe(8);
  expect([idle.rows.untold, alive(idle).length]).toEqual([null, PROMPT + DECODED]);
  const used = new Set(idle.rows.roomOf.flatMap((room) => idle.rows.rooms[room] ?? []));
  expect([...used].map((tensor) => idle.rows.tensors[tensor]?.name).sort()).toEqual([
    "cache_k_l0",
    "cache_k_l1",
    "cache_v_l0",
    "cache_v_l1",
  ]);
});

test.skipIf(!build.ok)(
  "rows that a saved state brings back are there, and nothing is told of who wrote them where",
  async () => {
    const restored = await drive("restored");
    const [[first, last] = [-1, -1]] = restored.held;
    expect(restored.rows.untold).toBeNull();
    const rows = alive(restored);
    expect(rows.map(({ position }) => position).sort((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
      Array.from({ length: last - first + 1 }, (_, i) => first + i),
    );
    expect(rows.slice(0, PROMPT + DECODED).every(({ cell }) => cell === null)).toBe(true);
  },
);

test.skipIf(!build.ok)("positions that the engine gives behind a restored state are not made up", async () => {
  const unplaced = await drive("unplaced");
  expect(unplaced.held).toEqual([[0, PROMPT + DECODED + 9]]);
  expect([[...unplaced.rows.tokens], unplaced.rows.untold]).toEqual([
    [],
    "the engine does not tell the sequences of a batch",
  ]);
});
