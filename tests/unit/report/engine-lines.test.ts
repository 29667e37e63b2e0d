import { expect, test } from "bun:test";
import { activationsText, expertsText } from "../../../src/report/engine-lines.ts";
import { plainReport } from "../../fixtures/run-report.ts";

interface Seen {
  readonly layer: number;
  readonly tokens: number;
  readonly reads: readonly number[];
  readonly expert_bytes?: number;
  readonly untold_tokens?: number;
}

const withExperts = (...experts: readonly Seen[]) => ({
  ...plainReport(),
  engine: { name: "llama.cpp", experts },
});

test("experts are told with how many a token reads, in how many tokens they were seen, and the share of each", () => {
  const one = { layer: 1, tokens: 200, reads: [50, 100, 150, 100] };
  expect(expertsText(withExperts(one))).toBe(
    "2 of 4 for a token, 200 tokens seen in 1 layer, each by 25 to 75 % of them",
  );
  const other = { layer: 2, tokens: 100, reads: [0, 100, 100, 0] };
  expect(expertsText(withExperts(one, other))).toBe(
    "2 of 4 for a token, 100 to 200 tokens seen in 2 layers, each by 0 to 100 % of them, 2 of 8 never",
  );
});

test("experts are told with the bytes of one, and with the tokens of which they are not known", () => {
  const one = { layer: 1, tokens: 200, reads: [200, 200], expert_bytes: 24576, untold_tokens: 40 };
  expect(expertsText(withExperts(one))).toBe(
    "2 of 2 for a token, 24.0 KiB each, 200 tokens seen in 1 layer, 40 more of which they are not known, each by 100 % of them",
  );
});

test("what passes allocate is told with how long half of it and nearly all is kept, as far as that was seen", () => {
  const activations = {
    ...{ passes: 57, allocations_per_pass: 215.2, bytes_per_pass: 174_882, most_bytes: 29_444 },
    ...{ kept_p50_ns: 77_936, kept_p90_ns: 623_487, kept_p99_ns: null },
  };
  expect(activationsText({ ...plainReport(), engine: { name: "PyTorch", activations } })).toBe(
    "215 blocks of 171 KiB in a pass, 28.8 KiB at once at most, kept half of the bytes for 77.9 us at most, 57 passes seen",
  );
  expect(activationsText(plainReport())).toBeNull();
});

test("a model without experts, and one of which no token was seen, has no line for them", () => {
  expect(expertsText(plainReport())).toBeNull();
  expect(expertsText(withExperts({ layer: 0, tokens: 0, reads: [0, 0] }))).toBeNull();
});
