/** What every engine must tell, whichever it is: weights, tensors of its cache, steps, rows, its end; of a process that is attached to late, and where records are lost. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoCacheDir } from "../../../src/demo/cache.ts";
import { demoCommand } from "../../../src/demo/demo.ts";
import { writeModel } from "../../../src/demo/model/write-model.ts";
import { readGgufFile } from "../../../src/engine/gguf/file.ts";
import { tensorLives } from "../../../src/label/capture/tensor-lives.ts";
import { engineRegions } from "../../../src/label/regions/engine-regions.ts";
import { isBatch, stepRows } from "../../../src/label/timeline/step-row.ts";
import { balances } from "../../../src/schema/ledger.ts";
import { lostPct } from "../../../src/schema/loss.ts";
import { type EngineRun, runEngine } from "../../fixtures/engine-run.ts";
import { compileTorch } from "../../fixtures/fake-torch/compile-torch.ts";
import { NAMES_OF_LAYERS, namedTorch } from "../../fixtures/fake-torch/named-torch.ts";
import { compileVllm } from "../../fixtures/fake-vllm/compile-vllm.ts";
import { kvRows } from "../../fixtures/listed-tokens.ts";
import { BUILDS, fetchLlamaServer, type LlamaServer } from "../../fixtures/llama-server.ts";
import { PYTHONS } from "../../fixtures/waiting-python.ts";
import {
  type Case,
  type How,
  later,
  ofLayers,
  ofPairs,
  optionsOf,
  type Places,
  untilMarked,
  upTo,
} from "./contract-case.ts";
import { installedCases, isInstalled, PROMPT } from "./installed-cases.ts";

setDefaultTimeout(isInstalled ? 900_000 : 400_000);
const readablePython = PYTHONS[0]?.[1];
const newer = await fetchLlamaServer(BUILDS.process);
if (!newer.ok) process.stderr.write(`skipped: a build that calls llama_process: ${newer.reason}\n`);

let folder = "";
let torch: { readonly library: string; readonly moving: string } = { library: "", moving: "" };
let vllm = { library: "", program: "" };
let model = "";
/** By a program that writes the model that it loads. */
let written = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mrm-contract-"));
  torch = compileTorch(folder);
  vllm = compileVllm(folder);
  model = join(folder, "model.gguf");
  written = join(folder, "written.gguf");
  await writeModel({ params: "1m", type: "q8_0", seed: 1 }, model);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** In which time all weights and caches are known of a program that was there. */
const FULL_MAP_NS = 5_000_000_000;
/** What the directory of a model's file has. */
function inFile(path: string): Places {
  const gguf = readGgufFile(path);
  if (!gguf.ok) throw new Error(gguf.reason);
  return Object.fromEntries(gguf.directory.tensors.map(({ name, bytes }) => [name, { bytes: bytes ?? 0 }]));
}

/** Python with the structures of torch, of which the library is a stand-in: its modules name its weights. */
const staticTorch = (python: string): Case => ({
  caches: ["cache_k_l0", "cache_v_l0", "cache_k_l1", "cache_v_l1"],
  weights: ({ stdout }) => JSON.parse(stdout).weights,
  cachePlaces: ({ stdout }) => JSON.parse(stdout).caches,
  sequences: 2,
  run: (steps: number, how: How) => {
    const mark = join(folder, `torch-${steps}-${how}`);
    // A model whose layers are looked for in its modules is looked for a while.
    const pause_ms = { whole: 30, late: 2, stalled: 1, lossy: 0 }[how];
    const loaded = async (pid: number): Promise<void> => {
      await untilMarked(mark, pid);
      await later();
    };
    const program = new URL("../../fixtures/torch_steps.py", import.meta.url).pathname;
    return runEngine([python, program, torch.library, ...[steps, pause_ms].map(String), mark], {
      objects: [torch.library],
      ...optionsOf(how, loaded),
    });
  },
  stepsOf: ofPairs,
  tooMany: 4000,
});

/** Batches that are filled token by token, and handed to llama_process. */
const processing = ({ objects, env }: LlamaServer & { readonly ok: true }): Case => ({
  caches: ofLayers(2),
  weights: () => inFile(written),
  sequences: 1,
  async run(steps, how) {
    rmSync(written, { force: true });
    const program = new URL("../../fixtures/llama_steps.py", import.meta.url).pathname;
    const loaded = async (pid: number): Promise<void> => {
      await untilMarked(written, pid);
      await later();
    };
    const command = ["python3", program, objects[0] ?? "", written, String(steps)];
    return await runEngine(command, { env, objects, ...optionsOf(how, loaded) });
  },
  stepsOf: (steps) => [upTo(PROMPT), ...upTo(steps - 1, PROMPT).map((position) => [position])],
  tooMany: 9000,
});

const CASES: readonly (readonly [string, Case])[] = [
  ...installedCases(() => folder, { file: () => model, tensors: () => inFile(model) }),
  [
    "PyTorch with a cache that moves",
    {
      caches: ["cache_k_l2", "cache_v_l2", "cache_k_l5", "cache_v_l5"],
      sequences: 2,
      run: (steps, how) =>
        runEngine([torch.moving, String(steps - 1), "2"], {
          objects: [torch.library],
          engines: [namedTorch(NAMES_OF_LAYERS)],
          ...optionsOf(how),
        }),
      stepsOf: ofPairs,
      tooMany: 4000,
    },
  ],
  ...(readablePython === undefined ? [] : [["PyTorch with a cache that stays", staticTorch(readablePython)] as const]),
  [
    "vLLM",
    {
      caches: ["cache_kv_l0", "cache_kv_l1", "cache_kv_l2"],
      sequences: null,
      run: (steps, how) =>
        runEngine([vllm.program, "-1", "0", String(steps - 8)], { objects: [vllm.library], ...optionsOf(how) }),
      stepsOf: (steps) => [
        [...upTo(8), 8, 8, 9, 9],
        ...upTo(4, 10).map((position) => [position, position]),
        [...upTo(5, 4), 14],
        [9, 15],
        [10],
        ...upTo(steps - 8).map(() => [0]),
      ],
      tooMany: 5000,
    },
  ],
  [
    "llama.cpp",
    {
      caches: ofLayers(2),
      weights: () => inFile(model),
      sequences: 1,
      async run(steps, how) {
        const size = { contextTokens: steps + 2 * PROMPT, tokens: steps - 1, promptTokens: PROMPT };
        const { command, env, objects } = await demoCommand({ cacheDir: demoCacheDir(), model, threads: 1, ...size });
        const loaded = async (pid: number): Promise<void> => {
          while (!readFileSync(`/proc/${pid}/maps`, "utf8").includes(model)) await Bun.sleep(5);
          await later();
        };
        return await runEngine(command, { env, objects, ...optionsOf(how, loaded) });
      },
      stepsOf: (steps) => [upTo(PROMPT), ...upTo(steps - 1, PROMPT).map((position) => [position])],
      tooMany: 9000,
    },
  ],
  ...(newer.ok ? [["llama.cpp that calls llama_process", processing(newer)] as const] : []),
];

/** What a run tells of its batches, in their order: the positions of the rows that each writes, and how often each is read. */
function toldOf(run: EngineRun) {
  const steps = stepRows(run.steps, 0n);
  const lives = tensorLives(run.tensors, []).rows;
  const { tokens, untold } = kvRows(steps, lives, 0n);
  const written = Map.groupBy(
    tokens.filter(({ is_written }) => is_written),
    ({ write_ns }) => write_ns,
  );
  const batches = steps.filter(isBatch).map(({ begin_ns, end_ns, n_tokens }) => {
    // A row is one in all tensors, also where some of them begin or end at other times.
    const ofBatch = new Map((written.get(begin_ns) ?? []).map((row) => [`${row.sequence}/${row.position}`, row]));
    const rows = [...ofBatch.values()].sort((a, b) => (a.position ?? -1) - (b.position ?? -1));
    return {
      ...{ begin_ns, end_ns, n_tokens },
      positions: rows.map(({ position }) => position ?? -1),
      reads: rows.map(({ total_reads }) => total_reads),
    };
  });
  return { batches, untold };
}

const nameOf = ({ name, logical_id }: EngineRun["tensors"][number]) => name ?? logical_id;
const cachesOf = ({ tensors }: EngineRun) =>
  tensors.filter(({ kind, region_type }) => (kind === "tensor" || kind === "graph") && region_type === "kv_cache");

/** What is told of a class by name, which is in one place; what is used before its name is read has it from then on. */
function placesOf({ tensors }: EngineRun, wanted: "weight" | "kv_cache"): Places {
  const told = engineRegions(tensorLives(tensors, []).rows, 0n).filter(({ region_type }) => region_type === wanted);
  const named = told.filter(({ tensor }) => tensor !== null);
  const begins = named.map(({ addr, end, birth_ns }) => `${addr} ${end} ${birth_ns}`);
  for (const { tensor, addr, end, death_ns } of told) {
    if (tensor === null) expect(begins).toContain(`${addr} ${end} ${death_ns}`);
  }
  expect(new Set(named.map(({ tensor }) => tensor)).size).toBe(named.length);
  return Object.fromEntries(named.map(({ tensor, begin, end }) => [tensor, { addr: begin, bytes: end - begin }]));
}

/** All weights have their names and no others, and lie where they are. */
function expectPlaces(run: EngineRun, { weights, cachePlaces }: Case): void {
  if (weights !== undefined) {
    const told = placesOf(run, "weight");
    expect(Object.keys(told).sort()).toEqual(Object.keys(weights(run)).sort());
    expect(told).toMatchObject(weights(run));
  }
  if (cachePlaces !== undefined) expect(placesOf(run, "kv_cache")).toEqual(cachePlaces(run));
}

/** How long after the probes began to be put in all weights and caches were told, by the times of their rows. */
function mapNs({ attachedNs, tensors }: EngineRun, names: readonly string[]): number {
  const told = tensors.filter((row) => names.includes(nameOf(row) ?? ""));
  const first = new Map(told.toReversed().map((row) => [nameOf(row), row.timestamp_ns]));
  expect(first.size).toBe(names.length);
  return Math.max(...[...first.values()].map((told_ns) => Number(told_ns - attachedNs)));
}

describe.each(CASES)("%s", (_, engine) => {
  const { caches, sequences, run, stepsOf, tooMany, exitCode = 0 } = engine;

  test("tells every tensor of its cache, every step with its tokens and its end, and every row with its reads", async () => {
    const steps = 60;
    const whole = await run(steps, "whole");
    expect(whole.exitCode).toBe(exitCode);
    expect(whole.ledger.filter((row) => !balances(row) || row.dropped_by.ring_full)).toEqual([]);
    const placed = cachesOf(whole);
    expect([...new Set(placed.map(nameOf))].sort()).toEqual([...caches].sort());
    for (const { addr, size_bytes, layer, evidence } of placed) {
      expect(addr).toBeGreaterThan(0n);
      expect(size_bytes).toBeGreaterThan(0n);
      expect([layer === null, evidence === null]).toEqual([false, false]);
    }
    expectPlaces(whole, engine);
    const { batches, untold } = toldOf(whole);
    expect(untold).toBeNull();
    expect(batches.map(({ positions }) => positions)).toEqual(stepsOf(steps).map((positions) => [...positions]));
    for (const [i, { begin_ns, end_ns, n_tokens, positions, reads }] of batches.entries()) {
      expect(n_tokens).toBe(positions.length);
      expect(end_ns).toBeWithin(begin_ns, Number.MAX_SAFE_INTEGER);
      if (sequences !== null) expect(reads).toEqual(positions.map(() => steps - 1 - i));
    }
  });

  test("tells all that comes when it is attached to late, and takes no row for written that was there", async () => {
    const steps = 2500;
    const late = await run(steps, "late");
    expect(late.exitCode).toBe(exitCode);
    expect(late.ledger.filter((row) => !balances(row))).toEqual([]);
    expect(new Set(cachesOf(late).map(nameOf))).toEqual(new Set(caches));
    expectPlaces(late, engine);
    const full_ns = mapNs(late, [...caches, ...Object.keys(engine.weights?.(late) ?? {})]);
    if (isInstalled)
      process.stderr.write(`all weights and caches known ${(full_ns / 1e6).toFixed(0)} ms behind the first probe\n`);
    expect(full_ns).toBeWithin(0, FULL_MAP_NS);
    const { batches } = toldOf(late);
    expect(batches.length).toBeWithin(10, steps);
    const truth = stepsOf(steps).slice(-batches.length);
    // Rows are told from when their tensors are, and not of a first batch of which the begin is not seen.
    const placed_ns = Math.min(...cachesOf(late).map(({ timestamp_ns }) => Number(timestamp_ns)));
    for (const [i, { begin_ns, positions, reads }] of batches.entries()) {
      if (positions.length === 0 && (i === 0 || begin_ns < placed_ns)) continue;
      expect(positions).toEqual([...(truth[i] ?? [])]);
      if (sequences !== null) expect(reads).toEqual(positions.map(() => batches.length - 1 - i));
    }
  });

  test("counts the records that were lost, and tells nothing that is not so by those that are left", async () => {
    const lossy = await run(tooMany, "lossy");
    expect(lossy.ledger.filter((row) => !balances(row))).toEqual([]);
    expect(lossy.ledger.some(({ dropped_by }) => (dropped_by.ring_full ?? 0) > 0)).toBe(true);
    expect(lostPct(lossy.ledger, "step")).toBeGreaterThan(1);
    const { batches } = toldOf(lossy);
    expect(batches.length).toBeWithin(1, tooMany);
    // What is lost comes behind what found room.
    const truth = stepsOf(tooMany);
    for (const [i, { positions, reads }] of batches.entries()) {
      if (positions.length > 0) expect(positions).toEqual([...(truth[i] ?? [])]);
      for (const read of reads) expect(read).toBeWithin(0, tooMany - i);
    }
  });

  // Of a program that says where its caches are: its weights are read from its memory, once it is seen to use them.
  if (engine.cachePlaces === undefined) return;
  test("tells all weights and caches in their places where records were lost before any was taken, and no wrong row", async () => {
    const steps = tooMany + 1000;
    const stalled = await run(steps, "stalled");
    expect(stalled.exitCode).toBe(exitCode);
    expect(stalled.ledger.filter((row) => !balances(row))).toEqual([]);
    expect(stalled.ledger.some(({ dropped_by }) => (dropped_by.ring_full ?? 0) > 0)).toBe(true);
    expect(new Set(cachesOf(stalled).map(nameOf))).toEqual(new Set(caches));
    expectPlaces(stalled, engine);
    const { batches, untold } = toldOf(stalled);
    expect(batches.length).toBeWithin(1, steps + 1);
    // Rows of which the lives are not known are left out, and why is said.
    const truth = stepsOf(steps).map(String);
    const places = batches
      .filter(({ positions }) => positions.length > 0)
      .map(({ positions }) => truth.indexOf(String(positions)));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    if (untold === null) expect(places.at(-1)).toBe(steps - 1);
  });
});
