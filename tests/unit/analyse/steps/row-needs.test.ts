/** When rows of the cache are needed: by the steps that had their sequence, however uneven these are. */
import { expect, test } from "bun:test";
import type { KvRowSample, StepSample } from "../../../../src/analyse/input/input.ts";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { kvStepSums } from "../../../../src/analyse/steps/kv-step-sums.ts";
import { input, MS, region } from "../sample-input.ts";
import { one } from "../sample-weights.ts";

const SECOND = 1000 * MS;
const PROMPT_NS = 5 * SECOND;
const TOKEN_NS = 0.1 * SECOND;
const ANSWER = 50;
const REQUESTS = 12;
const REQUEST_NS = PROMPT_NS + ANSWER * TOKEN_NS;

/** One request after the other: a prompt that takes 5 s, and then 50 tokens in 5 s. */
function requests() {
  const steps: StepSample[] = [];
  const rows: KvRowSample[] = [];
  for (let filling = 0; filling < REQUESTS; filling++) {
    const sent = filling * REQUEST_NS;
    const begins = [sent, ...Array.from({ length: ANSWER }, (_, i) => sent + PROMPT_NS + i * TOKEN_NS)];
    begins.forEach((begin_ns, i) => {
      const [step, length, tokens] =
        i === 0 ? (["prefill", PROMPT_NS, 200] as const) : (["decode", TOKEN_NS, 1] as const);
      steps.push({ step, begin_ns, end_ns: begin_ns + length, n_tokens: tokens });
      rows.push({
        ...{ write_ns: begin_ns, is_written: true, last_read_ns: i < ANSWER ? (begins.at(-1) ?? 0) : Number.NaN },
        ...{ evict_ns: sent + REQUEST_NS, total_reads: ANSWER - i, size_bytes: 1024 * tokens, filling, writes: "once" },
        needs: [{ begins, from: i + 1, until: begins.length }],
      });
    });
  }
  return { steps, rows };
}

test("rows of a prompt that took long are old when they are needed first", () => {
  const { steps, rows } = requests();
  const regions = [region({ region_type: "kv_cache", size_bytes: 250 * 1024 })];
  const figures = computeMetrics(input({ window_ns: REQUESTS * REQUEST_NS, steps, kvRows: rows, regions }));
  const ages = rows.flatMap(({ needs, write_ns, size_bytes }) =>
    (needs ?? []).flatMap(({ begins, from }) =>
      begins.slice(from).map((need) => ({ age: need - write_ns, size_bytes })),
    ),
  );
  const all = ages.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  let before = 0;
  const median = ages
    .sort((a, b) => a.age - b.age)
    .find(({ size_bytes }) => {
      before += size_bytes;
      return 2 * before >= all;
    })?.age;
  const { status, value, lo, hi } = one(figures, "age_at_read_p50_ns", "all", "step");
  expect(status).toBe("ok");
  expect((value ?? 0) / (median ?? Number.NaN)).toBeCloseTo(1, 1);
  expect(lo ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual((median ?? 0) * 1.02);
  expect(hi ?? 0).toBeGreaterThanOrEqual((median ?? 0) * 0.98);
});

test("a prompt of another sequence does not need the rows of those that decode beside it", () => {
  const begins = [0, 30, 40].map((ms) => ms * MS);
  const steps: readonly StepSample[] = [
    { begin_ns: 0, end_ns: 10 * MS, step: "decode", n_tokens: 1 },
    { begin_ns: 10 * MS, end_ns: 30 * MS, step: "prefill", n_tokens: 9 },
    { begin_ns: 30 * MS, end_ns: 40 * MS, step: "decode", n_tokens: 1 },
    { begin_ns: 40 * MS, end_ns: 50 * MS, step: "decode", n_tokens: 1 },
  ];
  const row: KvRowSample = {
    ...{ write_ns: 0, is_written: true, last_read_ns: 40 * MS, evict_ns: Number.NaN },
    ...{ total_reads: 2, size_bytes: 1024, filling: 0, writes: "once" },
    needs: [{ begins, from: 1, until: 3 }],
  };
  const needed = (step: "all" | "prefill" | "decode") => [
    ...kvStepSums([row, { ...row, filling: 1 }], steps, spanOf("all", step, [[0, 50 * MS]])).needed_bytes,
  ];
  expect(needed("all")).toEqual([0, 0, 2048, 2048]);
  expect(needed("prefill")).toEqual([0]);
});

test("what a step needed before those that are counted is none of theirs", () => {
  const steps: readonly StepSample[] = [{ begin_ns: 20 * MS, end_ns: 30 * MS, step: "decode", n_tokens: 1 }];
  const row: KvRowSample = {
    ...{ write_ns: 0, is_written: true, last_read_ns: 20 * MS, evict_ns: Number.NaN },
    ...{ total_reads: 2, size_bytes: 1024, filling: 0, writes: "once" },
    needs: [{ begins: [0, 10 * MS, 20 * MS], from: 1, until: 3 }],
  };
  expect([...kvStepSums([row], steps, spanOf("all", "all", [[0, 30 * MS]])).needed_bytes]).toEqual([1024]);
});
