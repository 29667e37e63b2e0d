import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { timelineOf } from "../../../src/label/timeline/phase.ts";
import { stepRows } from "../../../src/label/timeline/step-row.ts";
import { createTokenCount } from "../../../src/record/token-count.ts";
import { type EngineRun, hasSettings, runEngine } from "../../fixtures/engine-run.ts";
import { kvRows, type ListedRows } from "../../fixtures/listed-tokens.ts";
import { BUILDS, fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

const builds = await Promise.all(Object.values(BUILDS).map(fetchLlamaServer));
const failed = builds.flatMap((build) => (build.ok ? [] : [build.reason]));
if (failed.length > 0) process.stderr.write(`skipped: architectures of llama.cpp: ${failed[0]}\n`);
const DRIVER = new URL("../../fixtures/llama_architectures.py", import.meta.url).pathname;
const [OLDER, NEWER] = [0, 1];

interface Driven {
  readonly run: EngineRun;
  readonly rows: ListedRows;
  /** Kind, tokens, sequences and first position of each call that computes tokens. */
  readonly calls: readonly unknown[];
  /** Tensors of the model's file, as name and bytes. */
  readonly inFile: readonly (readonly [string, number | null])[];
}

async function drive(kind: string, which = OLDER, until?: typeof hasSettings): Promise<Driven> {
  const build = builds[which];
  if (!build?.ok) throw new Error("no build");
  const folder = mkdtempSync(join(tmpdir(), "mrm-architectures-"));
  try {
    const [library = ""] = build.objects;
    const run = await runEngine(["python3", DRIVER, library, folder, kind], {
      env: build.env,
      objects: build.objects,
      ...(until ? { until } : {}),
    });
    expect(JSON.parse(run.stdout).failed).toBe(0);
    expect(run.ledger.filter(({ dropped, way }) => dropped > 0 && way !== "graph")).toEqual([]);
    const file = readGgufFile(join(folder, `${kind}.gguf`));
    if (!file.ok) throw new Error(file.reason);
    const origin = run.steps[0]?.timestamp_ns ?? 0n;
    const steps = stepRows(run.steps, origin);
    return {
      run,
      rows: kvRows(steps, tensorLives(run.tensors, []).rows, origin),
      calls: steps
        .filter(({ kind }) => kind === "encode" || kind === "decode")
        .map((step) => [step.kind, step.n_tokens, step.n_sequences, step.position_first]),
      inFile: file.directory.tensors.map(({ name, bytes }) => [name, bytes] as const),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Every tensor of the file is a weight once, and what else was placed is known by its buffer. */
function expectAllLabelled({ run, inFile }: Driven): void {
  const placed = run.tensors.filter(({ kind }) => kind === "tensor" || kind === "graph");
  const weights = placed.filter(({ region_type }) => region_type === "weight");
  expect(weights.map(({ name, size_bytes }) => [name, Number(size_bytes)] as unknown).sort()).toEqual(
    inFile.toSorted() as unknown[],
  );
  expect(placed.filter(({ region_type }) => region_type === null)).toEqual([]);
  const blocks = weights.filter(({ name }) => /blk\.1\./.test(name ?? ""));
  expect(new Set(blocks.map(({ layer }) => layer))).toEqual(new Set([1]));
}

test.skipIf(failed.length > 0)("a model that only encodes has steps and tokens, and no KV cache", async () => {
  const encoder = await drive("encoder", NEWER);
  // Two calls of llama_encode, of two sequences each, and one of llama_decode, which the engine encodes for want of a cache.
  expect(encoder.calls).toEqual([
    ["encode", 43, 2, null],
    ["encode", 10, 2, null],
    ["decode", 12, 1, 0],
  ]);
  expectAllLabelled(encoder);
  expect(encoder.run.untold).toEqual([]);
  expect(encoder.run.tensors.filter(({ region_type }) => region_type === "kv_cache")).toEqual([]);
  expect([[...encoder.rows.tokens], encoder.rows.tensors, encoder.rows.untold]).toEqual([[], [], null]);
  const counted = createTokenCount();
  counted.take(batchFromRows("step", encoder.run.steps));
  expect([counted.prompt_tokens, counted.decode_tokens, counted.uncalled_graphs]).toEqual([65, 0, 0]);
});

test.skipIf(failed.length > 0)("of a model that encodes and then decodes, only what it decodes has rows", async () => {
  const translator = await drive("translator", OLDER, hasSettings);
  expect(translator.calls).toEqual([
    ["encode", 40, 1, null],
    ...Array.from({ length: 10 }, (_, i) => ["decode", 1, 1, i]),
  ]);
  expectAllLabelled(translator);
  expect(translator.rows.untold).toBeNull();
  expect(translator.rows.tokens.map(({ position, cell }) => [position, cell])).toEqual(
    Array.from({ length: 10 }, (_, i) => [i, i]),
  );
  expect(translator.rows.tensors.map(({ name, row_bytes }) => [name, row_bytes])).toEqual(
    ["cache_k_l0", "cache_v_l0", "cache_k_l1", "cache_v_l1"].map((name) => [name, 4 * 16 * 2]),
  );
  const [slots = []] = timelineOf(stepRows(translator.run.steps, 0n)).values();
  expect(slots.filter(({ step }) => step === "prefill").length).toBe(1);
});

test.skipIf(failed.length > 0)("a decoder that gives embeddings writes its cache, and is told so", async () => {
  const pooled = await drive("pooled", OLDER, hasSettings);
  expect(pooled.calls).toEqual([["decode", 50, 2, null]]);
  expectAllLabelled(pooled);
  expect(pooled.rows.untold).toBeNull();
  expect(pooled.rows.tokens.map(({ sequence, position, cell }) => [sequence, position, cell])).toEqual([
    ...Array.from({ length: 20 }, (_, i) => [
      [0, i, i],
      [1, i, 256 + i],
    ]).flat(),
    ...Array.from({ length: 10 }, (_, i) => [0, 20 + i, 20 + i]),
  ]);
});

test.skipIf(failed.length > 0).each([
  ["without flash attention", "latent", false],
  ["with flash attention", "fused", true],
])("one row for keys and values is a cache of one tensor for each layer, %s", async (_, kind, flash) => {
  const latent = await drive(kind, OLDER, hasSettings);
  expect(latent.calls.length).toBe(31);
  expectAllLabelled(latent);
  const cached = latent.run.tensors.filter(({ region_type }) => region_type === "kv_cache");
  expect(cached.map((row) => [row.name, row.layer, row.shape, Number(row.size_bytes), row.kv_layout])).toEqual([
    ["cache_k_l0", 0, "48x512x1x1", 48 * 2 * 512, "rows"],
    ["cache_k_l1", 1, "48x512x1x1", 48 * 2 * 512, "rows"],
  ]);
  expect(latent.rows.untold).toBeNull();
  // It decodes for less time than the probe of its experts is asked for: whether that was there in time is nobody's promise.
  expect(
    latent.run.untold.filter((why) => !/^llama\.cpp: which experts of a mixture are read is not told: /.test(why)),
  ).toEqual([]);
  expect(latent.rows.tensors.map(({ row_bytes }) => row_bytes)).toEqual([48 * 2, 48 * 2]);
  expect(latent.rows.tokens.map(({ cell, position, total_reads }) => [cell, position, total_reads])).toEqual(
    Array.from({ length: 70 }, (_, i) => [i, i, i < 40 ? 30 : 69 - i]),
  );
  const settings = latent.run.steps.flatMap(({ kind, detail }) =>
    kind === "engine" ? [JSON.parse(detail ?? "{}").settings] : [],
  );
  expect(settings.filter((one) => one !== undefined)).toEqual([{ flash_attention: flash, kv_caches: 1 }]);
});
