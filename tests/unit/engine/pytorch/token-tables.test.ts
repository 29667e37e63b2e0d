import { expect, test } from "bun:test";
import { roleByName, tokenTables } from "../../../../src/engine/pytorch/token-tables.ts";

test("the names that parameters have in transformers tell tables of tokens from others", () => {
  const tokens = [
    "model.embed_tokens.weight",
    "transformer.wte.weight",
    "embeddings.word_embeddings.weight",
    "gpt_neox.embed_in.weight",
    "shared.weight",
    "tok_embeddings.weight",
  ];
  const others = [
    "transformer.wpe.weight",
    "embeddings.position_embeddings.weight",
    "model.decoder.embed_positions.weight",
    "bert.embeddings.token_type_embeddings.weight",
    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
  ];
  expect(tokens.map(roleByName)).toEqual(tokens.map(() => "tokens"));
  expect(others.map(roleByName)).toEqual(others.map(() => "others"));
  expect(roleByName("encoder.table.weight")).toBe("unnamed");
});

test("a name that comes later counts from then on, and is asked for once it is known no more", () => {
  let name: string | null = null;
  let asked = 0;
  const tables = tokenTables(() => {
    asked += 1;
    return { name };
  });
  expect(tables.roleOf(7, "a", 1n)).toBe("unnamed");
  name = "model.embed_tokens.weight";
  expect([tables.roleOf(7, "a", 1n), tables.roleOf(7, "a", 1n), asked]).toEqual(["tokens", "tokens", 2]);
});

test("a table that nothing names is asked for a limited number of times", () => {
  let asked = 0;
  const tables = tokenTables(() => {
    asked += 1;
    return null;
  });
  for (let i = 0; i < 1000; i++) tables.roleOf(7, "a", 1n);
  expect(asked).toBe(64);
});
