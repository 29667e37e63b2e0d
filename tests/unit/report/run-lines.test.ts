import { expect, test } from "bun:test";
import { engineText, requestsText } from "../../../src/report/run-lines.ts";
import { demoReport } from "../../fixtures/run-report.ts";

test("the line of requests has the rate of answers by the server and by the client, and leaves out what is not known", () => {
  const took = {
    ...{ requests: 2, answered: 2, ttft_ms: null, wait_ms: null, token_gap_ms: null, kv_bytes: null, why: null },
    ...{ prompt_tokens: null, reused_tokens: null, output_tokens: 400, streamed_tokens: 400 },
  };
  const text = (rates: object) => requestsText({ ...demoReport(), requests: { ...took, ...rates } });
  const rates = { engine_tokens_per_s: 113.5, engine_later_tokens_per_s: 112.9, streamed_tokens_per_s: 110 };
  expect(text(rates)).toBe(
    "2 of 2 answered; answers 400 tokens, 114/s as the server counts (113/s without the first of each), 110/s at the client",
  );
  expect(text({})).toBe("2 of 2 answered; answers 400 tokens");
  expect(text({ ...rates, engine_tokens_per_s: null, engine_later_tokens_per_s: null })).toBe(
    "2 of 2 answered; answers 400 tokens, 110/s at the client",
  );
});

test("the line of the engine has its build, or how many and which, one that is not known too", () => {
  const build = (about: object) =>
    engineText({ ...demoReport(), model: null, engine: { name: "llama.cpp", ...about } })?.replace(/, [^)]*$/, "");
  const builds = [
    { build: "llama.cpp b11063", build_id: "a1" },
    { build: "llama.cpp b11549", build_id: "b2" },
    { build: null, build_id: "c3" },
  ];
  expect(build({ build: "ggml 0.25.1", build_id: "a1" })).toBe("llama.cpp (ggml 0.25.1)");
  expect(build({ build: null, build_id: null })).toBe("llama.cpp");
  expect(build({ build: null, build_id: null, builds })).toBe("llama.cpp (3 builds: b11063, b11549, one not known)");
});
