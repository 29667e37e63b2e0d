import { describe, expect, test } from "bun:test";
import {
  cachePart,
  classify,
  classOfBuffer,
  holdsExperts,
  isTable,
  layoutOf,
} from "../../../../src/engine/llama-cpp/classify.ts";

describe("the class of a tensor", () => {
  test("follows its name before the usage of its buffer", () => {
    expect(classify("blk.12.ffn_up.weight", "any")).toEqual({
      region_type: "weight",
      layer: 12,
      logical_id: "blk.12.ffn_up.weight",
    });
    expect(classify("output_norm.weight", "any")).toMatchObject({ region_type: "weight", layer: null });
    expect(classify("blk.3.attn_q.bias", "any")).toMatchObject({ region_type: "weight", layer: 3 });
    expect(classify("dec.blk.4.cross_attn_q.weight", "any")).toMatchObject({ region_type: "weight", layer: 4 });
  });

  test("may be that of all experts of a mixture", () => {
    const names = ["blk.1.ffn_gate_exps.weight", "blk.1.ffn_gate_shexp.weight", "blk.1.ffn_gate_inp.weight"];
    expect(names.map(holdsExperts)).toEqual([true, false, false]);
  });

  test("tells K from V and the layer of a cache, also with a tag", () => {
    expect(classify("cache_k_l7", "any")).toEqual({ region_type: "kv_cache", layer: 7, logical_id: "layer7.k" });
    expect(classify("cache_v_l0", "any")).toEqual({ region_type: "kv_cache", layer: 0, logical_id: "layer0.v" });
    expect(classify("cache_swa_v_l21", "any").logical_id).toBe("layer21.v");
    expect([cachePart("cache_k_l0"), cachePart("cache_v_l3"), cachePart("cache_r_l3"), cachePart("Kcur-0")]).toEqual([
      "k",
      "v",
      null,
      null,
    ]);
  });

  test("follows the usage where the name says nothing", () => {
    expect(classify("ffn_out-5", "compute")).toEqual({ region_type: "activation", layer: 5, logical_id: null });
    expect(classify("rope_freqs", "weights").region_type).toBe("weight");
    expect(classify("leaf_3", "any").region_type).toBeNull();
    expect(["any", "weights", "compute"].map((usage) => classOfBuffer(usage as "any"))).toEqual([
      null,
      "weight",
      "activation",
    ]);
  });
});

describe("the layout of a cache tensor", () => {
  test("is one row per token for K, and follows flash attention for V, also with a tag", () => {
    const forms = (name: string) => [null, true, false].map((flash) => layoutOf(name, flash)?.form);
    expect(forms("cache_k_l3")).toEqual(["rows", "rows", "rows"]);
    expect(forms("cache_v_l3")).toEqual(["unknown", "rows", "columns"]);
    expect(forms("cache_swa_v_l3")).toEqual(["unknown", "rows", "columns"]);
  });

  test("is not known of the state of a recurrent layer, and is none of what is no cache", () => {
    expect([layoutOf("cache_s_l3", true)?.form, layoutOf("blk.3.attn_v.weight", true)]).toEqual(["state", null]);
  });
});

test("the table of embeddings is told from its norm and from other weights", () => {
  const names = ["token_embd.weight", "token_embd_norm.weight", "output.weight", "blk.0.attn_q.weight"];
  expect(names.map(isTable)).toEqual([true, false, false, false]);
});
