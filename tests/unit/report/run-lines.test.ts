import { expect, test } from "bun:test";
import { requestsText } from "../../../src/report/run-lines.ts";
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
