import { describe, expect, test } from "bun:test";
import { DIALECTS } from "../../../src/client/dialects.ts";

describe("events of the common form", () => {
  const read = (event: unknown) => DIALECTS.openai.read(typeof event === "string" ? event : JSON.stringify(event), 100);

  test("are a token where they have text, and the last has none", () => {
    expect(read({ choices: [{ text: "a" }] })).toMatchObject({ tokens: 1, is_last: false, counts: null });
    for (const empty of [{ choices: [{ text: "" }] }, { choices: [] }, {}, "{", "null", "[1]"]) {
      expect(read(empty)).toMatchObject({ tokens: 0, is_last: false, counts: null });
    }
    expect(read(" [DONE]")).toMatchObject({ tokens: 0, is_last: true });
  });

  test("are as many tokens as they say that there are by now, and none where that cannot be meant", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3 };
    expect(read({ choices: [{ text: "a" }], usage }).tokens_so_far).toBe(3);
    expect(read({ choices: [], usage }).tokens_so_far).toBeNull();
    const more = { ...usage, completion_tokens: 101 };
    expect(read({ choices: [{ text: "a" }], usage: more })).toMatchObject({ tokens_so_far: null, tokens: 1 });
  });

  test("are asked to say so, and that no word ends an answer", () => {
    const body = DIALECTS.openai.body({ prompt: "p", tokens: 5, reuse: true, model: null });
    expect(body).toMatchObject({ ignore_eos: true, stream_options: { continuous_usage_stats: true } });
  });

  test("count what was worked on where they say what was cached, and nothing that cannot be meant", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3 };
    const counts = (more: object) => read({ choices: [], usage: { ...usage, ...more } }).counts;
    const whole = { prompt_tokens: 9, output_tokens: 3, sequence_id: null };
    expect(counts({ prompt_tokens_details: { cached_tokens: 4 } })).toEqual({ ...whole, evaluated_tokens: 5 });
    for (const details of [undefined, null, { cached_tokens: 10 }, { cached_tokens: -1 }, "4"]) {
      expect(counts({ prompt_tokens_details: details })).toEqual({ ...whole, evaluated_tokens: null });
    }
    expect(read({ choices: [], usage: { prompt_tokens: -1, completion_tokens: 3 } }).counts).toBeNull();
  });
});

test("a llama-server is told whether it may take over what it has, and that no word ends an answer", () => {
  const body = DIALECTS["llama-server"].body({ prompt: [1, 2], tokens: 5, reuse: false, model: null });
  expect(body).toMatchObject({ prompt: [1, 2], n_predict: 5, cache_prompt: false, ignore_eos: true, stream: true });
});
