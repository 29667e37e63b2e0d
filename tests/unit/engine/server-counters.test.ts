import { expect, test } from "bun:test";
import { serverCounters } from "../../../src/engine/server-counters.ts";

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

const OF_VLLM = `# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="a}b"} 40.0
vllm:prompt_tokens_total{engine="1",model_name="a}b"} 4.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="a}b",source="local_compute"} 34.0
vllm:prompt_tokens_cached_total{engine="0",model_name="a}b"} 6.0
vllm:generation_tokens_total{engine="0",model_name="a}b"} 1.2e+01
vllm:inter_token_latency_seconds_sum{engine="0",model_name="a}b"} 0.25
vllm:inter_token_latency_seconds_count{engine="0",model_name="a}b"} 11.0
vllm:num_requests_running{engine="0",model_name="a}b"} 1.0
`;

test("those of vLLM are summed over its engines, and tokens that its cache had are no work on a prompt", () => {
  expect(serverCounters(OF_VLLM)).toEqual({
    prompt_tokens: 38,
    generated_tokens: 12,
    generated_s: 0.25,
    requests_under_way: 1,
  });
  for (const wrong of [OF_VLLM.replace("cached_total", "cached"), OF_VLLM.replace("} 6.0", "} 60.0")]) {
    expect(serverCounters(wrong)).toBeNull();
  }
});
