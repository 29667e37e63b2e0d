import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { demoCommand } from "../../../src/demo/demo.ts";
import type { ModelType } from "../../../src/demo/model/weight-type.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import type { LiveTensor } from "../../../src/engine/engine.ts";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { engineRegions } from "../../../src/label/regions/engine-regions.ts";
import { runEngine } from "../../fixtures/engine-run.ts";
import { waitUntil } from "../../fixtures/wait-until.ts";

setDefaultTimeout(120_000);

const TABLE = "token_embd.weight";
const BOTH = `${TABLE} (also output.weight)`;
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mrm-tied-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A model without an output matrix of its own: its weights by label, what its file says of them, and its tables while it ran. */
async function tied(type: ModelType) {
  const model = join(folder, `${type}.gguf`);
  await writeModel({ params: "1m", type, seed: 1, apart: { tied: true } }, model);
  // On a busy machine it is looked at late: it goes on for long enough.
  const demo = { cacheDir: demoCacheDir(), model, threads: 1, tokens: 2000, promptTokens: 66, contextTokens: 2200 };
  const { command, env, objects } = await demoCommand({ ...demo, flashAttention: "on" });
  let tables: readonly LiveTensor[] = [];
  const run = await runEngine(command, {
    env,
    objects,
    async meanwhile(session, _, stepsSoFar) {
      await waitUntil(() => stepsSoFar().some(({ kind, n_tokens }) => kind === "decode" && n_tokens === 1));
      tables = session.liveTensors().filter(({ name }) => name === TABLE);
    },
  });
  expect(run.exitCode).toBe(0);
  const lives = tensorLives(run.tensors, []);
  const weights = engineRegions(lives.rows, 0n)
    .filter(({ region_type }) => region_type === "weight")
    .map(({ name, tensor, begin, end }) => ({ name, tensor, bytes: end - begin }));
  const gguf = readGgufFile(model);
  if (!gguf.ok) throw new Error(gguf.reason);
  expect(lives.counters).toMatchObject({ bad_rows: 0, unknown_buffers: 0 });
  return { weights, tables, file: gguf.directory.tensors.map(({ name, bytes }) => ({ name, bytes: bytes ?? 0 })) };
}

const byName = (all: readonly { readonly name: string | null; readonly bytes: number }[]) =>
  all.map(({ name, bytes }) => `${name} ${bytes}`).sort();

test("the table of embeddings of a model without an output matrix is one weight of both names, and drawn from", async () => {
  const { weights, tables, file } = await tied("f16");
  expect(file.map(({ name }) => name)).not.toContain("output.weight");
  expect(byName(weights.map(({ tensor, bytes }) => ({ name: tensor, bytes })))).toEqual(byName(file));
  expect(weights.filter(({ tensor }) => tensor === TABLE).map(({ name }) => name)).toEqual([BOTH]);
  expect(tables.map(({ drawn }) => drawn)).toEqual([true]);
});

test("a copy of the table that is packed for the output is drawn from alone, and has both names", async () => {
  const { weights, tables, file } = await tied("q4_0");
  const bytes = file.find(({ name }) => name === TABLE)?.bytes ?? 0;
  const copies = weights.filter(({ tensor }) => tensor === TABLE);
  // Where the processor has no packed form of it, there is one of them, as above.
  if (copies.length === 1) return expect(copies).toEqual([{ name: BOTH, tensor: TABLE, bytes }]);
  expect(byName(copies)).toEqual(byName([TABLE, BOTH].map((name) => ({ name, bytes }))));
  expect(tables.map(({ drawn }) => drawn).sort()).toEqual([false, true]);
  expect(weights.length).toBe(file.length + 1);
});
