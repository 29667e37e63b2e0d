/** When rows of the cache are needed: by the steps that had their sequence, however uneven these are. */
import { describe, expect, test } from "bun:test";
import type { KvRowSample, StepSample } from "../../../../src/analyse/input/input.ts";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { kvStepSums } from "../../../../src/analyse/steps/kv-step-sums.ts";
import { sharedRows } from "../../../../src/analyse/steps/shared-rows.ts";
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

describe("rows that were there and that sequences may share", () => {
  const steps: readonly StepSample[] = [0, 1, 2].map((i) => ({
    ...{ step: "decode", begin_ns: i * 10 * MS, end_ns: (i + 1) * 10 * MS, n_tokens: 2 },
  }));
  const begins = steps.map(({ begin_ns }) => begin_ns);
  /** Rows of `kib` that the first so many steps need. */
  const row = (filling: number, kib: number, needed: number, may_share?: string): KvRowSample => ({
    ...{ write_ns: 0, is_written: false, last_read_ns: begins[needed - 1] ?? 0, evict_ns: Number.NaN },
    ...{ total_reads: needed, size_bytes: 1024 * kib, filling, writes: "once" },
    needs: [{ begins: begins.slice(), from: 0, until: needed }],
    ...(may_share === undefined ? {} : { may_share }),
  });
  const needed = (...rows: KvRowSample[]) =>
    [...kvStepSums(rows, steps, spanOf("all", "all", [[0, 30 * MS]])).needed_bytes].map((bytes) => bytes / 1024);

  test("count at each step as those of the sequence that has most of them", () => {
    expect(needed(row(0, 3, 2, "a"), row(1, 2, 3, "a"))).toEqual([3, 3, 2]);
    expect(needed(row(0, 3, 2), row(1, 2, 3))).toEqual([5, 5, 2]);
  });

  test("count all that one sequence has, and each cache by itself", () => {
    expect(needed(row(0, 3, 2, "a"), row(0, 4, 1, "a"))).toEqual([7, 3, 0]);
    expect(needed(row(0, 3, 2, "a"), row(1, 2, 3, "b"))).toEqual([5, 5, 2]);
  });

  test("may be counted too often by all but those of the sequence with the most", () => {
    const rows = [row(0, 3, 2, "a"), row(1, 2, 3, "a"), row(2, 4, 3)];
    expect(sharedRows(rows)).toEqual({ written_share: 0, needed_share: 6 / 24, sequences: 2 });
    expect(sharedRows([row(0, 3, 2, "a"), row(1, 2, 3, "b")]).sequences).toBe(0);
  });

  test("are written once for all where a state of several sequences came back", () => {
    const back = (filling: number, kib: number) => ({
      ...{ ...row(filling, kib, 1, "a"), is_written: true, write_ns: 15 * MS },
      ...{ needs: [{ begins: [20 * MS], from: 0, until: 1 }], last_read_ns: 20 * MS },
    });
    const sums = kvStepSums([back(0, 3), back(1, 2)], steps, spanOf("all", "all", [[0, 30 * MS]]));
    expect([...sums.written_bytes].map((bytes) => bytes / 1024)).toEqual([0, 3, 0]);
    expect([...sums.needed_bytes].map((bytes) => bytes / 1024)).toEqual([0, 0, 3]);
  });

  test("make a figure say so, and leave room for it in ages", () => {
    const all = requests();
    const old = (may_share?: string) =>
      Array.from(
        { length: 4 },
        (_, i): KvRowSample => ({
          ...{ write_ns: 0, is_written: false, last_read_ns: PROMPT_NS, evict_ns: Number.NaN, total_reads: 50 },
          ...{ size_bytes: 1024 * 100, filling: 100 + i, writes: "once" },
          needs: [{ begins: all.steps.slice(1, 51).map(({ begin_ns }) => begin_ns), from: 0, until: 50 }],
          ...(may_share === undefined ? {} : { may_share }),
        }),
      );
    const figures = (kvRows: readonly KvRowSample[]) =>
      computeMetrics(
        input({
          ...{ window_ns: REQUESTS * REQUEST_NS, steps: all.steps, kvRows },
          regions: [region({ region_type: "kv_cache", size_bytes: 600 * 1024 })],
        }),
      );
    const [bare, open] = [figures([...all.rows, ...old()]), figures([...all.rows, ...old("a")])];
    const both = (metric: string) => [bare, open].map((rows) => one(rows, metric, "all", "step"));
    const [sure, less] = both("read_bytes_per_s");
    expect(less?.why).toContain("4 sequences had rows that nobody told of");
    expect(sure?.why ?? "").not.toContain("nobody told of");
    expect(less?.lo ?? 1e12).toBeLessThan(sure?.lo ?? 0);
    const [narrow, wide] = both("age_at_read_p50_ns");
    expect(wide?.why).toContain("which of these they share is not known");
    expect(wide?.value).toBe(narrow?.value as number);
    expect(wide?.lo ?? 1e12).toBeLessThan(narrow?.lo ?? 0);
    const [once, still] = both("retention_p50_ns");
    expect(still?.lo).toBe(once?.lo as number);
  });
});
