import { expect, test } from "bun:test";
import { engineRegions } from "../../../../src/label/regions/engine-regions.ts";
import type { TensorLifetime } from "../../../../src/regions/tensor-map.ts";

test("a tied weight is one region of its bytes with all of its names", () => {
  const table: TensorLifetime = {
    ...{ pid: 1, engine: "llama.cpp", name: "token_embd.weight", logical_id: "token_embd.weight", tensor_type: "f16" },
    ...{ shape: "64x288", layer: null, addr: 0x1000n, size_bytes: 256n, buffer: 1n, birth_ns: 5n, death_ns: null },
    ...{ birth_censored: false, evidence: "engine_probe", kv_layout: null, ended_by: null },
    ...{ region_type: "weight", candidates: null },
  };
  const facts = (regions: ReturnType<typeof engineRegions>) =>
    regions.map(({ name, tensor, begin, end, candidates }) => [name, tensor, end - begin, candidates]);
  expect(facts(engineRegions([table], 0n))).toEqual([["token_embd.weight", "token_embd.weight", 256, []]]);
  expect(facts(engineRegions([{ ...table, other_names: ["output.weight"] }], 0n))).toEqual([
    ["token_embd.weight (also output.weight)", "token_embd.weight", 256, ["output.weight", "token_embd.weight"]],
  ]);
});
