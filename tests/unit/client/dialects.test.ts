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
    const whole = { prompt_tokens: 9, output_tokens: 3, output_ns: null, sequence_id: null };
    expect(counts({ prompt_tokens_details: { cached_tokens: 4 } })).toEqual({ ...whole, evaluated_tokens: 5 });
    for (const details of [undefined, null, { cached_tokens: 10 }, { cached_tokens: -1 }, "4"]) {
      expect(counts({ prompt_tokens_details: details })).toEqual({ ...whole, evaluated_tokens: null });
    }
    expect(read({ choices: [], usage: { prompt_tokens: -1, completion_tokens: 3 } }).counts).toBeNull();
  });

  test("of a chat have their text in what is new of it, said or thought; the first, which says who speaks, has none", () => {
    const chat = DIALECTS["openai-chat"];
    const part = (delta: unknown) => chat.read(JSON.stringify({ id: "chatcmpl-1f", choices: [{ delta }] }), 100);
    for (const delta of [{ content: "a" }, { reasoning: "a" }, { content: null, reasoning_content: "a" }]) {
      expect(part(delta)).toMatchObject({ tokens: 1, name: "chatcmpl-1f" });
    }
    for (const delta of [{ role: "assistant", content: "" }, {}, null, "a", { content: 7 }]) {
      expect(part(delta)).toMatchObject({ tokens: 0, name: "chatcmpl-1f" });
    }
    expect(chat.body({ prompt: "p", tokens: 5, reuse: true, model: "m" })).toMatchObject({
      ...{ model: "m", messages: [{ role: "user", content: "p" }], max_tokens: 5, ignore_eos: true },
    });
  });

  test("say what the server calls the request, where that can be a name", () => {
    const nameIn = (id: unknown) => read({ id, choices: [] }).name;
    expect(nameIn("cmpl-1f")).toBe("cmpl-1f");
    for (const id of [undefined, null, "", 7, "x".repeat(201), ["a"]]) expect(nameIn(id)).toBeNull();
    expect(DIALECTS.openai.read("[DONE]", 9).name).toBeNull();
  });
});

test("a llama-server is told whether it may take over what it has, and that no word ends an answer", () => {
  const body = DIALECTS["llama-server"].body({ prompt: [1, 2], tokens: 5, reuse: false, model: null });
  expect(body).toMatchObject({ prompt: [1, 2], n_predict: 5, cache_prompt: false, ignore_eos: true, stream: true });
});

test("an event of a llama-server that tells an error is no token, and not the last", () => {
  const error =
    '{"error":{"code":500,"message":"[json.exception.type_error.316] invalid UTF-8 byte","type":"server_error"}}';
  expect(DIALECTS["llama-server"].read(` ${error}`, 9)).toMatchObject({
    tokens: 0,
    tokens_so_far: null,
    is_last: false,
  });
  expect(DIALECTS["llama-server"].read(' {"content":"a","stop":false}', 9)).toMatchObject({ tokens: 1 });
});

describe("events of Ollama", () => {
  const { body, eventIn, read } = DIALECTS.ollama;
  const chat = DIALECTS["ollama-chat"];
  const part = (fields: object, most = 100) => read(JSON.stringify({ model: "m", ...fields }), most);

  test("are lines of JSON, each a token where it has text; the last counts them all, and the whole prompt", () => {
    expect([eventIn(""), eventIn(" \r"), eventIn('{"done":false}')]).toEqual([null, null, '{"done":false}']);
    expect(part({ response: "a", done: false })).toMatchObject({ tokens: 1, is_last: false, counts: null });
    expect(part({ response: "", thinking: "b", done: false })).toMatchObject({ tokens: 1, is_last: false });
    expect(part({ response: "", done: false })).toMatchObject({ tokens: 0, is_last: false });
    const last = { response: "", done: true, prompt_eval_count: 9, eval_count: 3, eval_duration: 5 };
    expect(part(last)).toEqual({
      ...{ tokens_so_far: 3, tokens: 0, is_last: true, is_given_up: false, name: null },
      counts: { prompt_tokens: 9, evaluated_tokens: null, output_tokens: 3, output_ns: 5, sequence_id: null },
    });
  });

  test("of a talk have their text in a message, and count as the others do", () => {
    const say = (fields: object) => chat.read(JSON.stringify(fields), 100);
    for (const message of [{ content: "a" }, { content: "", thinking: "b" }]) {
      expect(say({ message: { role: "assistant", ...message }, done: false }).tokens).toBe(1);
    }
    for (const message of [{ content: "" }, {}, null, "a", 7]) {
      expect(say({ message, done: false })).toMatchObject({ tokens: 0, is_last: false });
    }
    const last = { message: { content: "" }, done: true, prompt_eval_count: 9, eval_count: 3, eval_duration: 5 };
    expect(say(last)).toEqual(part({ ...last, response: "" }));
    expect(chat.path).toBe("/api/chat");
    const asked = chat.body({ prompt: "p", tokens: 5, reuse: true, model: "m" });
    expect(asked).toMatchObject({
      model: "m",
      messages: [{ role: "user", content: "p" }],
      options: { num_predict: 5 },
    });
    expect(asked).not.toContainAnyKeys(["prompt", "raw"]);
  });

  test("say nothing that cannot be meant", () => {
    for (const data of ["{", "null", "[1]", '{"error":"no model"}']) {
      expect(read(data, 9)).toMatchObject({ tokens: 0, tokens_so_far: null, is_last: false, counts: null });
    }
    expect(part({ done: true })).toMatchObject({ is_last: true, tokens_so_far: null, counts: null });
    const more = part({ done: true, prompt_eval_count: -1, eval_count: 101, eval_duration: -1 });
    const counts = { prompt_tokens: null, output_tokens: 101, output_ns: null };
    expect(more).toMatchObject({ tokens_so_far: null, counts });
  });

  test("are asked for by the name of a model, without its template", () => {
    expect(body({ prompt: "p", tokens: 5, reuse: true, model: "m" })).toMatchObject({
      ...{ model: "m", prompt: "p", raw: true, stream: true, truncate: false, shift: false },
      options: { num_predict: 5 },
    });
  });
});
