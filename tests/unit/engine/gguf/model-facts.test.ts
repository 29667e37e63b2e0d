import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHAPES } from "../../../../src/demo/model/shape.ts";
import { writeModel } from "../../../../src/demo/model/write-model.ts";
import type { GgufDirectory } from "../../../../src/engine/gguf/directory.ts";
import { factsOfModel, modelFacts } from "../../../../src/engine/gguf/model-facts.ts";

const folder = mkdtempSync(join(tmpdir(), "mrm-facts-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a model's facts are those that its header has", async () => {
  const path = join(folder, "m.gguf");
  const { bytes } = await writeModel({ params: "1m", type: "q8_0", seed: 3 }, path);
  const facts = modelFacts(path);
  const shape = SHAPES["1m"];
  expect(facts).toMatchObject({
    name: "random 1m q8_0 seed 3",
    architecture: "llama",
    quantisation: "q8_0",
    file_bytes: bytes,
    layers: shape.layers,
    heads: shape.heads,
    kv_heads: shape.kvHeads,
    embedding: shape.embedding,
    feed_forward: shape.feedForward,
    vocabulary: shape.vocabulary,
    context_tokens: shape.context,
    experts: null,
  });
  // 34 bytes hold 32 elements; norms are f32.
  const { q8_0 = 0, f32 = 0 } = facts?.bytes_by_type ?? {};
  expect(facts?.parameters).toBe((q8_0 / 34) * 32 + f32 / 4);
});

test("a header with other keys leaves null, and text that could steer a terminal is none", () => {
  const directory: GgufDirectory = {
    version: 3,
    metadata: new Map<string, string | number | bigint | { elementType: "u32"; length: number }>([
      ["general.architecture", "odd"],
      ["general.name", "\u001b[2Jgone"],
      ["odd.block_count", 4n],
      ["odd.attention.head_count", { elementType: "u32", length: 4 }],
      ["odd.context_length", -1],
    ]),
    tensors: [],
    alignmentBytes: 32,
    dataOffset: 0,
    fileBytes: 100,
  };
  expect(factsOfModel(directory)).toMatchObject({
    name: null,
    architecture: "odd",
    layers: 4,
    heads: null,
    context_tokens: null,
    vocabulary: null,
    quantisation: null,
    parameters: 0,
  });
});

test("what is no whole GGUF has no facts", () => {
  const path = join(folder, "no.gguf");
  writeFileSync(path, "GGUF but no more");
  expect(modelFacts(path)).toBeNull();
  expect(modelFacts(join(folder, "missing.gguf"))).toBeNull();
});

test("a header that tells of a window tells what layers have it, or that some may", () => {
  const facts = (architecture: string, window: number) => {
    const { window_tokens, window_layers, has_other_windows } = factsOfModel({
      ...{ version: 3, tensors: [], alignmentBytes: 32, dataOffset: 0, fileBytes: 100 },
      metadata: new Map<string, string | number>([
        ["general.architecture", architecture],
        [`${architecture}.block_count`, 2],
        [`${architecture}.attention.sliding_window`, window],
      ]),
    });
    return [window_tokens, window_layers, has_other_windows];
  };
  expect(facts("gemma2", 512)).toEqual([512, [0], undefined]);
  expect(facts("gemma3n", 512)).toEqual([undefined, undefined, true]);
  expect(facts("llama", 0)).toEqual([undefined, undefined, undefined]);
});
