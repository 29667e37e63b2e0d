import { expect, test } from "bun:test";
import { layerNumbers, layersOfModel } from "../../../../src/engine/pytorch/model-layers.ts";

const numbered = (path: string, count: number, rest = "norm.weight"): string[] =>
  Array.from({ length: count }, (_, i) => `${path}.${i}.${rest}`);

test.each([
  ["beside its table", "model.embed_tokens.weight", ["lm_head.weight", ...numbered("model.layers", 4)], 4],
  [
    "not one by one with the experts that they have",
    "model.embed_tokens.weight",
    numbered("model.layers", 3, "mlp.experts.7.up_proj.weight"),
    3,
  ],
  [
    "not of what sees pictures for it",
    "model.language_model.embed_tokens.weight",
    [...numbered("model.visual.blocks", 9), ...numbered("model.language_model.layers", 3)],
    3,
  ],
  [
    "in a model that is one of several in another",
    "1.model.wte.weight",
    ["0.model.wte.weight", ...numbered("1.model.h", 5), ...numbered("0.model.h", 7)],
    5,
  ],
  [
    "not with tables of the same list",
    "decoder.embed.1.weight",
    [...numbered("decoder.embed", 9), ...numbered("decoder.layers", 3)],
    3,
  ],
  [
    "outside of the module with its table",
    "bert.embeddings.word_embeddings.weight",
    numbered("bert.encoder.layer", 6),
    6,
  ],
  ["of the longest list", "shared.weight", [...numbered("encoder.block", 3), ...numbered("decoder.block", 5)], 5],
  ["by their highest number", "embed.weight", ["layers.0.weight", "layers.6.weight"], 7],
])("layers of a model are counted %s", (_, table, names, layers) => {
  expect(layersOfModel([table, ...names], table)).toBe(layers);
});

test("a model without numbers in its names does not tell how many layers it has", () => {
  expect(layersOfModel(["embed.weight", "norm1.weight", "head.weight"], "embed.weight")).toBeNull();
  expect(layersOfModel(["weight"], "weight")).toBeNull();
});

test.each([
  [
    "by their numbers in the list beside the table",
    "model.embed.weight",
    ["model.layers.2.v.weight", "model.layers.5.experts.7.weight"],
    [2, 5],
  ],
  ["outside of the module with its table", "bert.embeddings.word.weight", ["bert.encoder.layer.1.key.weight"], [1]],
  [
    "of one of several models in another",
    "1.model.wte.weight",
    ["1.model.h.3.attn.weight", "1.model.h.4.attn.weight"],
    [3, 4],
  ],
  ["of one of two lists", "shared.weight", ["decoder.block.0.q.weight", "decoder.block.2.q.weight"], [0, 2]],
  ["not where they are of two lists", "shared.weight", ["encoder.block.0.q.weight", "decoder.block.2.q.weight"], null],
  ["not where one has no number", "embed.weight", ["layers.0.q.weight", "head.weight"], null],
  ["not as tables of the same list", "decoder.embed.1.weight", ["decoder.embed.2.weight"], null],
  ["not by the number of another model", "embed.weight", ["1.layers.3.weight"], null],
])("layers of parameters are told %s", (_, table, names, numbers) => {
  expect(layerNumbers(names, table)).toEqual(numbers);
});
