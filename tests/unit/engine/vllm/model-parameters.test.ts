import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { firstArguments } from "../../../../src/engine/cpython/call-frames.ts";
import { type PythonInterpreter, pythonInterpreter } from "../../../../src/engine/cpython/interpreter.ts";
import { pythonLayout, pythonVersion } from "../../../../src/engine/cpython/layout.ts";
import { type PythonObjects, pythonClasses, pythonObjects } from "../../../../src/engine/cpython/objects.ts";
import type { ReadMemory } from "../../../../src/engine/engine.ts";
import { moduleParameters } from "../../../../src/engine/pytorch/module-parameters.ts";
import { cacheKinds, cacheLayers } from "../../../../src/engine/vllm/cache-layers.ts";
import { loadedWeights } from "../../../../src/engine/vllm/loaded-weights.ts";
import { modelRunner } from "../../../../src/engine/vllm/model-runner.ts";
import { packedBytes } from "../../../../src/engine/vllm/packed-linear.ts";
import { PROBE } from "../../../../src/engine/vllm/probes.ts";
import { follow } from "../../../../src/engine/vllm/process-state.ts";
import { type RequestStates, requestStates } from "../../../../src/engine/vllm/request-states.ts";
import { runnerFinder } from "../../../../src/engine/vllm/runner-finder.ts";
import { guessesTokens, isFurtherWorker } from "../../../../src/engine/vllm/runner-settings.ts";
import { mixesTokens, repeatsSteps } from "../../../../src/schema/step-detail.ts";
import { attentionBytes } from "../../../fixtures/vllm-structs.ts";
import { addressOf, isReadable, PYTHONS, type WaitingPython, waitingPython } from "../../../fixtures/waiting-python.ts";

const PROGRAM = new URL("../../../fixtures/vllm_objects.py", import.meta.url).pathname;

interface Said {
  readonly pid: number;
  readonly version: string;
  readonly data: readonly number[];
}

let program: WaitingPython<Said>;
let said: Said;
let interpreter: PythonInterpreter | null | undefined;
let python: PythonObjects;
const read: ReadMemory = (address, length) => program.read(address, length);
const isKnown = (): boolean => isReadable(said);

const at = (i: number): bigint => BigInt(said.data[i] ?? 0);
const runner = (): bigint => {
  if (interpreter?.layout == null) throw new Error("there is no interpreter");
  return modelRunner(python, firstArguments(read, interpreter.layout, interpreter.runtime)) ?? 0n;
};

describe.each(PYTHONS)("in Python %s,", (_, python3) => {
  beforeAll(async () => {
    program = await waitingPython(PROGRAM, python3);
    said = program.said;
    interpreter = pythonInterpreter(said.pid, addressOf, read);
    const layout = pythonLayout(said.version);
    if (layout !== null) python = pythonObjects(read, layout);
  });
  afterAll(() => program.end());

  describe("a Python program's objects, read from outside while it waits in a method", () => {
    test("are those of the version that it says it has", () => {
      if (isKnown()) expect(interpreter?.version).toBe(said.version);
      expect(pythonVersion(0x030b07f0)).toBe("3.11");
    });

    test("have classes, attributes, texts, numbers and lists", () => {
      if (!isKnown()) return;
      expect(python.className(runner())).toBe("CPUModelRunner");
      const requests = python.entries(python.attribute(runner(), "requests") ?? 0n);
      expect([...(requests?.keys() ?? [])]).toEqual(["cmpl-a-0", "cmpl-b-0", "cmpl-c-0"]);
      const state = requests?.get("cmpl-b-0") ?? 0n;
      expect(python.text(python.attribute(state, "req_id") ?? 0n)).toBe("cmpl-b-0");
      const [blocks = 0n] = python.elements(python.attribute(state, "block_ids") ?? 0n) ?? [];
      expect(python.elements(blocks)?.map((one) => python.number(one))).toEqual([5, 2 ** 31]);
    });

    test("that are not what is asked of them say nothing", () => {
      if (!isKnown()) return;
      const [object] = [runner()];
      expect(python.text(object)).toBeNull();
      expect(python.entries(object)).toBeNull();
      expect(python.elements(object)).toBeNull();
      expect(python.attribute(object, "nothing")).toBeNull();
      expect([python.className(8n), python.attribute(8n, "a"), python.text(8n), python.closure(8n)]).toEqual([
        null,
        null,
        null,
        null,
      ]);
    });
  });

  describe("the requests of a model runner", () => {
    const states = (): RequestStates | null => {
      if (interpreter?.layout == null) throw new Error("there is no interpreter");
      return requestStates(read, { layout: interpreter.layout, runner: runner() }, pythonClasses());
    };

    test("are told by name with what they have: blocks, tokens that were worked on, and the tokens of their prompt", () => {
      if (!isKnown()) return;
      const found = states();
      expect([...(found?.names ?? [])]).toEqual(["cmpl-a-0", "cmpl-b-0", "cmpl-c-0"]);
      expect(found?.promptTokens("cmpl-a-0")).toBe(5);
      expect(["cmpl-a-0", "cmpl-b-0", "nobody"].map((name) => found?.generates(name))).toEqual([true, false, null]);
      expect(found?.keepsPrefixes()).toBe(true);
      const step = { tokens: 1, length: 7, blocks: [3, 1] };
      expect([found?.hasBlocks("cmpl-a-0", step), found?.isAt("cmpl-a-0", step)]).toEqual([true, true]);
      expect(found?.isAt("cmpl-a-0", { ...step, length: 8 })).toBe(false);
      // It was given the second since.
      expect(found?.hasBlocks("cmpl-a-0", { ...step, blocks: [3] })).toBe(true);
    });

    test("have other blocks where one differs, where they are more, and where there are several lists of them", () => {
      if (!isKnown()) return;
      const found = states();
      for (const blocks of [[3, 2], [1], [3, 1, 4]])
        expect(found?.hasBlocks("cmpl-a-0", { tokens: 1, length: 7, blocks })).toBe(false);
      expect(found?.hasBlocks("cmpl-c-0", { tokens: 1, length: 7, blocks: [3, 2] })).toBe(false);
      expect(found?.hasBlocks("nobody", { tokens: 1, length: 7, blocks: [3, 2] })).toBe(false);
    });
  });

  describe("the layers of a model", () => {
    const [part, bytes] = [(i: number): bigint => at(4) + BigInt(256 * i), 256];

    test("are told of the parts of the pool by the names of their modules, whatever others they stand between", () => {
      if (!isKnown()) return;
      const layers = cacheLayers(read, python, runner());
      expect([part(0), part(1)].map((addr) => layers?.layerIn(addr, bytes))).toEqual([1, 5]);
    });

    test("are not told where one keeps a state in what another one has its rows in, and where a name has several numbers", () => {
      if (!isKnown()) return;
      const layers = cacheLayers(read, python, runner());
      expect([part(2), part(3)].map((addr) => layers?.layerIn(addr, bytes))).toEqual([null, null]);
      expect(layers?.layerIn(part(4), bytes)).toBeUndefined();
      expect(cacheLayers(read, python, at(0))).toBeNull();
    });

    test("are of several kinds where each has blocks of its own, and where some look back over a window in the same blocks", () => {
      if (!isKnown()) return;
      expect(cacheKinds(python, runner())).toBe(2);
      const others = python.elements(python.attribute(runner(), "others") ?? 0n) ?? [];
      expect(others.map((one) => cacheKinds(python, one))).toEqual([1, 2, 2, null]);
      expect(cacheKinds(python, at(0))).toBeNull();
    });

    test("are of a worker that makes the steps of another one too where it is not the first of its engine", () => {
      if (!isKnown()) return;
      const others = python.elements(python.attribute(runner(), "others") ?? 0n) ?? [];
      expect([runner(), ...others, at(0)].map((one) => isFurtherWorker(python, one))).toEqual([
        ...[true, false, true],
        // The first of another engine, and one that does not say it.
        ...[false, false, false],
      ]);
    });

    test("are of a model whose tokens are guessed where its settings say so", () => {
      if (!isKnown()) return;
      const others = python.elements(python.attribute(runner(), "others") ?? 0n) ?? [];
      expect([runner(), ...others, at(0)].map((one) => guessesTokens(python, one))).toEqual([
        true,
        ...others.map(() => false),
        false,
      ]);
    });

    test("name the caches of steps that were seen before they were read", () => {
      if (!isKnown()) return;
      const state = follow(said.pid, addressOf);
      let now = 0n;
      const take = (probe: number, isReturn: boolean, payload = new Uint8Array()): void => {
        now += 1n;
        const record = {
          timestamp_ns: now,
          pid: said.pid,
          tid: said.pid,
          probe,
          isReturn,
          unreadable: 0,
          execEpoch: 0,
        };
        state.take({ ...record, args: [0n, 0n, 0n, 0n, 0n], payload: new DataView(payload.buffer) });
      };
      const cache = { blocks: 2, heads: 1, blockTokens: 2, headElements: 8, storageBytes: 4096 };
      take(PROBE.prepare, false);
      for (const i of [0, 1, 2]) {
        const place = { keysAt: 64 * i, data: at(4), valuesData: at(4) };
        const step = i === 0 ? { requests: [{ tokens: 1, length: 1, blocks: [1] }] } : null;
        take(PROBE.attention, false, attentionBytes({ ...cache, ...place }, step));
        take(PROBE.attention, true);
      }
      expect(state.liveTensors()).toEqual([]);
      state.look(read);
      expect(
        state.liveTensors().flatMap(({ name, region_type }) => (region_type === "kv_cache" ? [name] : [])),
      ).toEqual([...["cache_kv_l1", "cache_kv_l5", "cache_kv"]]);
      expect(state.untold?.().some((why) => why.includes("tokens are guessed"))).toBe(true);
      const { steps: rows } = state.takeRows();
      const settings = rows.flatMap(({ detail }) => detail?.match(/"kv_caches":\d+/)?.[0] ?? []);
      expect(settings).toEqual(['"kv_caches":1', '"kv_caches":2']);
      expect(rows.some(({ kind, detail }) => kind === "engine" && repeatsSteps({ detail }))).toBe(true);
      expect(rows.some(({ kind, detail }) => kind === "engine" && mixesTokens({ detail }))).toBe(true);
    });
  });

  describe("the parameters of a model", () => {
    test("are told with where they lie, those that were packed anew too, each once", () => {
      if (!isKnown()) return;
      const model = python.attribute(runner(), "model") ?? 0n;
      const { parameters, missing } = moduleParameters(read, python, model, (module) =>
        packedBytes(read, python, module),
      );
      expect(parameters).toEqual([
        { name: "embed_tokens.weight", addr: at(0), size_bytes: 512, type: "f32", shape: [16, 8] },
        { name: "layers.0.proj.weight", addr: at(1), size_bytes: 1024, type: "f32", shape: [16, 14] },
        { name: "layers.0.norm.weight", addr: at(2) + 8n, size_bytes: 16, type: "bf16", shape: [8] },
        { name: "lm_head.weight (packed)", addr: at(3), size_bytes: 512, type: "f32", shape: [16, 8] },
      ]);
      expect(missing).toEqual(["layers.0.lost.weight"]);
    });

    test("are rows of weights once a step was seen, and no sooner", () => {
      if (!isKnown()) return;
      const weights = loadedWeights(said.pid, runnerFinder(said.pid, addressOf));
      expect(weights.look(read)).toBeNull();
      weights.awake();
      expect(weights.look(read)).toEqual({
        graph: "model",
        tensors: 4,
        found: 4,
        refused: { no_bytes: 1 },
        nodes: 0,
        unread_nodes: 0,
      });
      const { tensors, steps } = weights.takeRows();
      expect(tensors.map(({ name, layer, shape, evidence }) => [name, layer, shape, evidence])).toEqual([
        ["embed_tokens.weight", null, "8x16", "engine_objects"],
        ["layers.0.proj.weight", 0, "14x16", "engine_objects"],
        ["layers.0.norm.weight", 0, "8", "engine_objects"],
        ["lm_head.weight (packed)", null, "8x16", "engine_objects"],
      ]);
      expect(JSON.parse(steps[0]?.detail ?? "")).toEqual({ weight_tensors: 4, weight_bytes: 2064, weights_missing: 1 });
      // Of a table of tokens few rows are read.
      expect(weights.live().map(({ drawn }) => drawn)).toEqual([false, true, true, true]);
      weights.awake();
      expect(weights.look(read)).toBeNull();
    });

    test("are not identifiable where no interpreter is found, and the run says why", () => {
      const weights = loadedWeights(
        said.pid,
        runnerFinder(said.pid, () => null),
      );
      weights.awake();
      expect(weights.look(read)).toBeNull();
      const [step] = weights.takeRows().steps;
      expect(step?.detail).toContain("no Python interpreter was found");
    });
  });
});
