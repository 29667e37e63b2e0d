import { describe, expect, test } from "bun:test";
import { demoSchema } from "../../../../src/config/schema.ts";
import { MODEL_PARAMS, parameterCount, SHAPES, tensorPlans } from "../../../../src/demo/model/shape.ts";
import { MODEL_TYPES, WEIGHT_TYPES } from "../../../../src/demo/model/weight-type.ts";
import { TENSOR_TYPES } from "../../../../src/engine/gguf/tensor-type.ts";

describe("model shapes", () => {
  test("have the parameters that the layer arithmetic gives", () => {
    for (const params of MODEL_PARAMS) {
      const { layers: l, embedding: d, feedForward: f, heads: h, kvHeads, vocabulary: v } = SHAPES[params];
      const perLayer = 2 * d * d + 2 * d * (d / h) * kvHeads + 3 * d * f + 2 * d;
      expect(parameterCount(SHAPES[params])).toBe(l * perLayer + 2 * v * d + d);
    }
  });

  test("are as large as their names say, embeddings apart", () => {
    const withoutEmbeddings = (params: "15m" | "110m") =>
      parameterCount(SHAPES[params]) - SHAPES[params].vocabulary * SHAPES[params].embedding;
    expect(withoutEmbeddings("15m") / 15e6).toBeWithin(0.95, 1.05);
    expect(withoutEmbeddings("110m") / 110e6).toBeWithin(0.95, 1.05);
    expect(parameterCount(SHAPES["1.1b"]) / 1.1e9).toBeWithin(0.99, 1.01);
  });

  test("have rows that are whole blocks of every weight type, and no tensor twice", () => {
    for (const params of MODEL_PARAMS) {
      const plans = tensorPlans(SHAPES[params]);
      expect(new Set(plans.map((plan) => plan.name)).size).toBe(plans.length);
      expect(plans.length).toBe(3 + 9 * SHAPES[params].layers);
      for (const plan of plans) expect((plan.shape[0] ?? 1) % 32).toBe(0);
    }
  });
});

test("the types that are written are described as they are read", () => {
  for (const name of MODEL_TYPES) {
    const { tensorTypeId, blockElements, blockBytes } = WEIGHT_TYPES[name];
    expect(TENSOR_TYPES.get(tensorTypeId)).toEqual({ name, blockElements, blockBytes });
  }
});

test("the help of --params says how many parameters there are, which its names do not", () => {
  const millions = Object.values(SHAPES).map((shape) => String(Number((parameterCount(shape) / 1e6).toPrecision(3))));
  const [last, ...others] = millions.toReversed();
  expect(demoSchema.shape.params.description).toContain(`${others.toReversed().join(", ")} and ${last} million`);
});
