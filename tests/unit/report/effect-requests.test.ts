import { expect, test } from "bun:test";
import { effectRequestsText } from "../../../src/report/effect-requests.ts";
import type { EffectRun, RequestOfRun } from "../../../src/schema/observer-effect.ts";

const request: RequestOfRun = {
  ...{ client: 0, request: "cmpl-a-0-f", ttft_ms: 9, token_p50_ms: 2, token_p99_ms: 3, wait_ms: 4 },
  ...{
    prompt_tokens: 40,
    reused_tokens: 32,
    output_tokens: 8,
    sequence_id: 1,
    kv_bytes: 2048,
    saved_bytes: 1024,
    why: null,
  },
};
const lost = {
  ...request,
  request: null,
  wait_ms: null,
  kv_bytes: null,
  why: "the engine named none that it could be",
};
const run = (block: number, requests?: readonly RequestOfRun[]) =>
  ({ block, ...(requests && { requests }) }) as EffectRun;

test("compare says how many requests of traced runs are joined to the engine's steps, what these say, and why others are not", () => {
  const runs = [run(-1, [request]), run(0), run(0, [request, { ...request, wait_ms: 6 }, lost]), run(1, [lost])];
  expect(effectRequestsText({ runs })).toBe(
    "of 4 in traced runs 2 joined to the engine's steps; waited p50 5.00 ms; KV p50 2.00 KiB; 64 tokens of prompts in its cache; not joined: 2 (the engine named none that it could be)",
  );
  expect(effectRequestsText({ runs: [run(0, [lost])] })).toBe(
    "of 1 in traced runs 0 joined to the engine's steps; not joined: 1 (the engine named none that it could be)",
  );
  expect(effectRequestsText({ runs: [run(-1, [request]), run(0)] })).toBeNull();
});
