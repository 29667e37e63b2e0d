import { describe, expect, test } from "bun:test";
import { enginesSeen } from "../../../../src/label/timeline/engines-seen.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";

const step = (kind: string, detail: object, over: Partial<StepRow> = {}): StepRow => ({
  pid: 1,
  engine: "llama.cpp",
  kind,
  begin_ns: 0,
  end_ns: 1,
  n_tokens: null,
  n_sequences: null,
  position_first: null,
  sequence_id: null,
  result: null,
  detail: JSON.stringify(detail),
  ...over,
});

test("an engine is told with the build of its library and with what the context that decodes was asked to be", () => {
  const [seen] = enginesSeen([
    step("engine", { path: "/lib/libggml-base.so", build: "ggml 0.25.1", build_id: "a1" }),
    step("engine", { path: "/lib/libllama.so", build_id: "b2" }),
    step("engine", { settings: { flash_attention: true } }),
    step("context", { model: "0x1", n_ctx: 512, n_threads: 2 }, { result: 0x20 }),
    step("context", { model: "0x2", n_ctx: 64 }, { result: 0x30 }),
    step("context", { model: "0x3", n_ctx: 8 }, { result: 0 }),
    step("decode", { context: "0x20" }, { n_tokens: 1, result: 0 }),
  ]);
  expect(seen).toEqual({
    name: "llama.cpp",
    objects: ["/lib/libggml-base.so", "/lib/libllama.so"],
    settings: { flash_attention: true },
    build: "ggml 0.25.1",
    build_id: "a1",
    context: { n_ctx: 512, n_threads: 2 },
  });
});

describe("where several processes run an engine", () => {
  const made = (pid: number, detail: object, result = 0x20) => step("context", detail, { pid, result });
  const decode = (pid: number, context = "0x20") => step("decode", { context }, { pid, n_tokens: 1, result: 0 });
  const settings = (pid: number, said: object) => step("engine", { settings: said }, { pid });
  const context = (...steps: StepRow[]) => enginesSeen([step("engine", {}), ...steps])[0]?.context;

  test("what one says and another says otherwise is said of none", () => {
    const [seen] = enginesSeen([
      settings(1, { flash_attention: false, kv_caches: 1 }),
      settings(2, { flash_attention: false }),
      settings(2, { flash_attention: true, kv_caches: 1, block_tokens: 16 }),
    ]);
    expect(seen?.settings).toEqual({ kv_caches: 1, block_tokens: 16 });
    expect(enginesSeen([settings(1, { a: 1 }), settings(1, { a: 2 })])[0]?.settings).toEqual({ a: 2 });
  });

  test("a context is told as far as those of all that decode are alike, each by its process", () => {
    const both = [made(1, { n_ctx: 512, n_threads: 2 }), made(2, { n_ctx: 256, n_threads: 2 })];
    expect(context(...both, decode(1), decode(2))).toEqual({ n_threads: 2 });
    expect(context(...both, decode(2))).toEqual({ n_ctx: 256, n_threads: 2 });
    expect(context(...both, decode(1))).toEqual({ n_ctx: 512, n_threads: 2 });
  });

  test("none is told where that of one is not known", () => {
    expect(context(made(1, { n_ctx: 512 }), made(2, { model: "0x7" }), decode(1), decode(2))).toBeNull();
  });

  test("one that was forked decodes in the context of its parent", () => {
    const parent = [made(1, { n_ctx: 64 }, 0x30), made(1, { n_ctx: 512 })];
    expect(context(...parent, decode(2))).toEqual({ n_ctx: 512 });
    expect(context(...parent, decode(2, "0x30"))).toEqual({ n_ctx: 64 });
  });
});

describe("the build of an engine", () => {
  const library = (path: string, build: string | null, symbols: readonly string[], pid = 1) => [
    step("engine", { path, build, build_id: `id of ${path}` }, { pid }),
    step("probes", { path, symbols }, { pid }),
  ];
  const KERNELS = library("/lib/libggml-base.so", "ggml 0.25.1", ["ggml_graph_compute"]);
  const LLAMA = library("/lib/libllama.so", "llama.cpp v0.5.0", ["llama_model_load", "llama_decode"]);

  test("is that of the file that takes its batches, whichever was found first", () => {
    for (const steps of [
      [...KERNELS, ...LLAMA],
      [...LLAMA, ...KERNELS],
    ]) {
      expect(enginesSeen(steps)).toMatchObject([{ build: "llama.cpp v0.5.0", build_id: "id of /lib/libllama.so" }]);
      expect(enginesSeen(steps)[0]?.builds).toBeUndefined();
    }
  });

  test("is that of another part where the former has none that is known", () => {
    const unnamed = library("/lib/libllama.so", null, ["llama_decode"]);
    expect(enginesSeen([...unnamed, ...KERNELS])).toMatchObject([{ build: "ggml 0.25.1" }]);
  });

  test("is none where there are several, which are all told in one order, each once", () => {
    const newer = library("/x10/engine.so", "llama.cpp b11549", ["llama_decode"], 2);
    const older = library("/x9/engine.so", "llama.cpp b9063", ["llama_decode"]);
    const again = library("/copy/engine.so", "llama.cpp b9063", ["llama_decode"], 3);
    const unnamed = library("/own/engine.so", null, ["llama_decode"], 4);
    expect(enginesSeen([...newer, ...KERNELS, ...older, ...unnamed, ...again])[0]).toMatchObject({
      ...{ build: null, build_id: null },
      builds: [
        { build: "llama.cpp b9063" },
        { build: "llama.cpp b11549", build_id: "id of /x10/engine.so" },
        { build: null, build_id: "id of /own/engine.so" },
      ],
    });
  });
});

test("the experts that an engine told of are summed by layer; rows that say anything else are left out", () => {
  const told = (experts: unknown) => step("engine", { experts });
  const unsized = { expert_bytes: null, read_bytes: null, untold_tokens: 0 };
  const [seen] = enginesSeen([
    told([
      [0, 10, [4, 16]],
      [1, 10, [10, 10]],
    ]),
    told([[0, 5, [5, 5]]]),
    told([
      [2, 3, [1, 5], 100, 0],
      [2, 4, [4, 4], 100, 7],
    ]),
    told([[0, 5, [1, 2, 3]], [0, -1, [1, 2]], [0, 1, ["x", 2]], 7]),
    told("none"),
  ]);
  expect(seen?.experts).toEqual([
    { layer: 0, tokens: 15, reads: [9, 21], ...unsized },
    { layer: 1, tokens: 10, reads: [10, 10], ...unsized },
    { layer: 2, tokens: 7, reads: [5, 9], expert_bytes: 100, read_bytes: [500, 900], untold_tokens: 7 },
    { layer: 0, tokens: 5, reads: [1, 2, 3], ...unsized },
  ]);
});

test("the time that tokens took by the engine's own places is summed, and rows that say anything else are left out", () => {
  const told = (engine_time: unknown) => step("engine", { engine_time });
  const [seen] = enginesSeen([told([10, 2e9]), told([5, 1e9]), told(["x", 1]), told(7)]);
  expect(seen?.engine_time).toEqual({ tokens: 15, time_ns: 3e9, tokens_per_s: 5 });
  expect(enginesSeen([step("engine", { settings: {} })])[0]?.engine_time).toBeUndefined();
});

test("what passes allocated is summed over looks, the most at once is the most of all, and times are the ends of their bins", () => {
  const told = (activations: unknown) => step("engine", { activations });
  const [seen] = enginesSeen([
    told([
      [10, 100, 1000, 90, 0],
      [
        [16, 50, 600],
        [20, 50, 400],
      ],
    ]),
    told([[10, 60, 1000, 70, 15], [[16, 60, 985]]]),
    told([[10, 60, 1000], []]),
    told("none"),
  ]);
  expect(seen?.activations).toEqual({
    passes: 20,
    allocations_per_pass: 8,
    bytes_per_pass: 100,
    most_bytes: 90,
    kept_p50_ns: Math.round(2 ** (17 / 4)),
    kept_p90_ns: Math.round(2 ** (21 / 4)),
    kept_p99_ns: Math.round(2 ** (21 / 4)),
  });
  const [open] = enginesSeen([told([[1, 2, 100, 90, 20], [[16, 1, 80]]])]);
  expect(open?.activations).toMatchObject({ kept_p50_ns: Math.round(2 ** (17 / 4)), kept_p90_ns: null });
});

test("an engine that tells neither its build nor its context has none", () => {
  const [seen] = enginesSeen([
    step("engine", { path: "/lib/libllama.so" }),
    step("context", { model: "0x1" }, { result: 7 }),
  ]);
  expect(seen).toMatchObject({ build: null, build_id: null, context: null });
});

test("an engine that another one is built on comes behind it", () => {
  const seen = enginesSeen([
    step("engine", { path: "/lib/libtorch_cpu.so" }, { engine: "PyTorch" }),
    step("engine", { path: "/vllm/_C.abi3.so", built_on: ["PyTorch"] }, { engine: "vLLM" }),
  ]);
  expect(seen.map(({ name }) => name)).toEqual(["vLLM", "PyTorch"]);
});
