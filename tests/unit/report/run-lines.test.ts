import { describe, expect, test } from "bun:test";
import { engineText, lossInShort, tokensText } from "../../../src/report/run-lines.ts";
import { requestsText } from "../../../src/report/server-lines.ts";
import { inNumbers } from "../../../src/schema/ledger.ts";
import { lossOf } from "../../../src/schema/loss.ts";
import type { RunReport } from "../../../src/schema/run-json.ts";
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

test("the line of requests has how long what they wrote into the cache was needed, where that is known", () => {
  const took = {
    ...{ requests: 2, answered: 2, ttft_ms: null, wait_ms: null, token_gap_ms: null, kv_bytes: null, why: null },
    ...{ prompt_tokens: null, reused_tokens: null, output_tokens: null, streamed_tokens: null },
  };
  const text = (more: object) => requestsText({ ...demoReport(), requests: { ...took, ...more } });
  expect(text({ retention_ms: { p50: 1500, p99: 2500 } })).toContain("which was needed for p50 1.5");
  expect(text({ retention_ms: null })).not.toContain("needed");
  expect(text({})).not.toContain("needed");
});

test("the line of requests has the share of the prompts that came from the cache, where both are known", () => {
  const took = {
    ...{ requests: 2, answered: 2, ttft_ms: null, wait_ms: null, token_gap_ms: null, kv_bytes: null, why: null },
    ...{ output_tokens: null, streamed_tokens: null },
  };
  const text = (tokens: { prompt_tokens: number | null; reused_tokens: number | null; saved_bytes?: number }) =>
    requestsText({ ...demoReport(), requests: { ...took, ...tokens } });
  expect(text({ prompt_tokens: 1000, reused_tokens: 827, saved_bytes: 2048 })).toBe(
    "2 of 2 answered; prompts 1000 tokens, 827 of them in its cache (82.7 %, 2.00 KiB of KV)",
  );
  expect(text({ prompt_tokens: 300, reused_tokens: 0 })).toBe(
    "2 of 2 answered; prompts 300 tokens, 0 of them in its cache (0 %)",
  );
  expect(text({ prompt_tokens: 300, reused_tokens: null })).toBe("2 of 2 answered; prompts 300 tokens");
  expect(text({ prompt_tokens: 0, reused_tokens: 0 })).toBe(
    "2 of 2 answered; prompts 0 tokens, 0 of them in its cache",
  );
  expect(text({ prompt_tokens: null, reused_tokens: 5 })).toBe("2 of 2 answered");
});

test("the line of tokens calls those of a paged cache what they are: computed for prompts, those put off more than once", () => {
  const paged = demoReport({ engine: { name: "vLLM", block_tokens: 32 } });
  expect(tokensText(paged)).toStartWith("64 computed for prompts, 4213 decoded, 140/s");
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

describe("the line of what was lost", () => {
  const step = {
    stream: "step",
    source: "step",
    way: null,
    pid: null,
    filtered: 0,
    dropped: 0,
    dropped_by: {},
  } as const;
  const whole = { ...step, stage: "segments", seen: 1000, kept: 1000, unseen_estimate: null } as const;
  const passed = { ...step, stage: "observe", seen: 990, kept: 990, unseen_estimate: 10 } as const;
  const text = (ledger: RunReport["ledger"]) => lossInShort(demoReport({ ledger, loss: lossOf(inNumbers(ledger)) }));

  test("does not count among what was lost what by an estimate was never seen", () => {
    expect(text([whole, passed])).toBe("nothing of 1000 events; about 1 % of step unseen");
    expect(text([whole, { ...passed, unseen_estimate: 0 }])).toBe("nothing of 1000 events");
  });

  test("tells of a source both the share that was dropped and the one that was never seen", () => {
    const dropping = {
      ...whole,
      stage: "ring",
      seen: 1000,
      kept: 980,
      dropped: 20,
      dropped_by: { ring_full: 20 },
    } as const;
    expect(text([dropping, passed, { ...whole, seen: 980, kept: 980 }])).toBe(
      "20 of 1000 events (step 2 %); about 0.98 % of step unseen",
    );
  });
});
