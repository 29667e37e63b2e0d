import { expect, test } from "bun:test";
import { serverCounters } from "../../../../src/engine/llama-cpp/server-counters.ts";

const TEXT = `# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 44
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total 800
llamacpp:tokens_predicted_seconds_total 1.25e+01
llamacpp:requests_processing 1
`;

test("the counters of a llama-server are read from its text, its comments left out", () => {
  expect(serverCounters(TEXT)).toEqual({
    prompt_tokens: 44,
    generated_tokens: 800,
    generated_s: 12.5,
    requests_under_way: 1,
  });
});

test("a text of which a counter is missing, or cannot be meant, has none", () => {
  for (const wrong of [
    "",
    TEXT.replace("llamacpp:tokens_predicted_total 800", ""),
    TEXT.replace("800", "-1"),
    TEXT.replace("800", "1.5"),
    TEXT.replace("800", "1e300"),
    TEXT.replace("800", "nan"),
    TEXT.replaceAll("llamacpp:", "vllm:"),
  ]) {
    expect(serverCounters(wrong)).toBeNull();
  }
});
