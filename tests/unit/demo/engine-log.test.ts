import { describe, expect, test } from "bun:test";
import { type EngineFacts, NO_FACTS, withLogLine } from "../../../src/demo/engine-log.ts";

/** Lines as llama.cpp v0.5.0 printed them for a 15m model with 512 tokens of context. */
const KV = "llama_kv_cache:        CPU KV buffer size =     3.38 MiB";
const CASES: readonly (readonly [lines: readonly string[], facts: EngineFacts])[] = [
  [["llama_context: flash_attn            = enabled", KV], { flashAttention: true, kvBufferBytes: 3544187 }],
  [["llama_context: flash_attn            = disabled"], { flashAttention: false, kvBufferBytes: null }],
  [["llama_context: flash_attn            = auto"], NO_FACTS],
  [
    ["llama_context: flash_attn            = auto", "resolve_fused_ops: Flash Attention enabled"],
    { flashAttention: true, kvBufferBytes: null },
  ],
  [
    ["llama_context: flash_attn            = auto", "f: Flash Attention not supported, set to disabled"],
    { flashAttention: false, kvBufferBytes: null },
  ],
  [["llama_model_loader: - kv 3: flash_attn"], NO_FACTS],
];

describe("the engine's log", () => {
  test.each(CASES.map(([lines, facts]) => ({ lines, facts })))("$lines tells $facts", ({ lines, facts }) => {
    expect(lines.reduce(withLogLine, NO_FACTS)).toEqual(facts);
  });
});
