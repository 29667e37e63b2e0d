import { expect, test } from "bun:test";
import { type FoundProgram, judgeEngines } from "../../../src/doctor/engines.ts";
import { lostWithout } from "../../../src/doctor/needed-functions.ts";
import { pytorch } from "../../../src/engine/pytorch/pytorch.ts";
import { vllm } from "../../../src/engine/vllm/vllm.ts";
import { named } from "./machines.ts";

test("engines say of a build without functions that are needed what a run cannot know of it, and warn where there is no other", () => {
  const stripped = {
    ...{ engine: "llama.cpp", name: "xllamacpp 0.1.0", path: "/env/xllamacpp.so", build: null, functions: 1 },
    lost: lostWithout("llama.cpp", ["llama_decode"]),
  };
  const judged = (found: readonly FoundProgram[]) =>
    named(judgeEngines({ demo: null, demo_possible: true, found }), "engine: llama.cpp");
  const check = judged([stripped]);
  expect(check.status).toBe("warn");
  expect(check.fix).toStartWith("use a build that has these functions");
  expect(check.summary).toStartWith(
    "xllamacpp 0.1.0 (/env/xllamacpp.so, it names no build, 1 of its functions can be probed, without llama_memory_seq_rm not how long rows live, without ggml_backend_tensor_alloc no tensors): ",
  );
  expect(judged([stripped, { ...stripped, name: "llama-server", lost: [] }]).status).toBe("ok");
});

test("a build that has the older names of a function lacks nothing", () => {
  const functions = ["llama_decode", "llama_kv_self_seq_rm", "ggml_backend_tensor_alloc"];
  expect(lostWithout("llama.cpp", functions)).toEqual([]);
  expect(lostWithout("llama.cpp", functions.toSpliced(1, 1))).toEqual([
    "without llama_memory_seq_rm not how long rows live",
  ]);
});

test("engines promise rows but of layers that keep a state, and where it is not certain how far layers look back", () => {
  for (const name of ["engine: llama.cpp", "engine: ollama"]) {
    const { summary } = named(judgeEngines({ demo: null, demo_possible: true, found: [] }), name);
    expect(summary).toContain(
      "rows of KV caches, but not of layers that keep a state, nor where it is not certain how far layers look back over a window",
    );
  }
});

test("what is needed of PyTorch are the functions that tell its passes and caches, by one of their names", () => {
  expect(lostWithout("PyTorch", pytorch.symbols)).toEqual([]);
  expect(lostWithout("PyTorch", []).map((text) => text.split(" no ")[1])).toEqual([
    "steps and tokens",
    "dynamic KV caches",
    "static KV caches",
  ]);
  expect(lostWithout("vLLM", vllm.symbols)).toEqual([]);
  expect(lostWithout("sglang", [])).toEqual([]);
});
