import { expect, test } from "bun:test";
import type { KvRowSample } from "../../../../src/analyse/input/input.ts";
import { stepSamples, watchSamples } from "../../../../src/analyse/input/load-samples.ts";
import { spansOf } from "../../../../src/analyse/input/span.ts";
import { kvStepSums } from "../../../../src/analyse/steps/kv-step-sums.ts";
import type { WatchHits } from "../../../../src/label/capture/watch-hits.ts";
import { stepRows } from "../../../../src/label/timeline/step-row.ts";
import { rowWith } from "../../../fixtures/row-with.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** A watch that was drawn from a cache, and began 10 ms after that was freed; its traps come later. */
const hits = (): WatchHits => {
  const sample = watch([[40 * MS, "load"]], { region_type: "kv_cache", begin_ns: 10 * MS, end_ns: 60 * MS });
  const { watch_id, pid, addr, mode, begin_ns, end_ns, hit_ns, hit_op } = sample;
  const row = { ...sample, n_accesses: 1 } as unknown as WatchHits["row"];
  return { watch_id, pid, addr, mode, begin_ns, end_ns, hit_ns, hit_op, row };
};

/** Of memory that came at 30 ms. */
const deathOver = (region_type: "kv_cache" | "runtime") => {
  const { regions } = input({ regions: [region({ region_type, birth_ns: 30 * MS })] });
  const [sample] = watchSamples([hits()], regions, { find: (_pid, _addr, time) => (time >= 30 * MS ? 0 : -1) });
  return sample?.region_death_ns;
};

test("where nothing lay as a watch began, what comes later for another class ends it", () => {
  expect(deathOver("runtime")).toBe(30 * MS);
});

test("memory of its own class that the map has a little later is what it was drawn from", () => {
  expect(deathOver("kv_cache")).toBeNull();
});

const batch = (begin_ms: number, n_tokens: number, detail: object) =>
  rowWith("step", {
    ...{ pid: 1, kind: "decode", n_tokens, n_sequences: 1, sequence_id: 3, detail: JSON.stringify(detail) },
    ...{ timestamp_ns: BigInt(begin_ms * MS), end_ns: BigInt((begin_ms + 5) * MS) },
  });
const trim = (time_ms: number, kept_guesses: number) =>
  rowWith("step", {
    ...{ pid: 1, kind: "kv_trim", timestamp_ns: BigInt(time_ms * MS) },
    detail: JSON.stringify({ context: "0x1", kept_guesses }),
  });
/** A prompt, and two drafts of four guesses, of which two stay and none, each guessed by another context before. */
const drafted = stepRows(
  [
    batch(0, 64, { context: "0x1" }),
    batch(5, 64, { context: "0x2" }),
    batch(10, 1, { context: "0x2" }),
    batch(20, 5, { context: "0x1", drafts: [[3, 4]], drafted_by: "0x2" }),
    trim(26, 2),
    batch(30, 1, { context: "0x2" }),
    batch(40, 5, { context: "0x1", drafts: [[3, 4]], drafted_by: "0x2" }),
  ],
  0n,
);

test("a step has the tokens that stay of its guesses, and what a draft model computes has none", () => {
  const samples = stepSamples(drafted, 100 * MS);
  expect(samples.map(({ step, n_tokens, is_guess }) => [step, n_tokens, is_guess ?? false])).toEqual([
    ["prefill", 64, false],
    ["prefill", 0, true],
    ["prefill", 0, true],
    ["decode", 3, false],
    ["decode", 0, true],
    ["decode", 1, false],
  ]);
});

test("the time in which a draft model guesses is of the step in front", () => {
  const spans = spansOf(stepSamples(drafted, 100 * MS), 100 * MS);
  const spanOf = (step: string) => spans.find((span) => span.step === step);
  expect(spanOf("prefill")).toMatchObject({ window_ns: 20 * MS, tokens: 64 });
  expect(spanOf("decode")).toMatchObject({ window_ns: 25 * MS, tokens: 4 });
  expect([...(spanOf("decode")?.steps.begin_ns ?? [])]).toEqual([20 * MS, 40 * MS]);
});

test("rows that a draft model writes and needs count among the bytes of the steps that it guesses for", () => {
  const samples = stepSamples(drafted, 100 * MS);
  const span = spansOf(samples, 100 * MS).find(({ step }) => step === "decode");
  if (span === undefined) throw new Error("no step decodes");
  const row = {
    ...{ write_ns: 31 * MS, is_written: true, last_read_ns: 40 * MS, evict_ns: Number.NaN, total_reads: 1 },
    ...{ size_bytes: 100, filling: 0, writes: "once", is_copy: false },
  } as const;
  const sums = kvStepSums([row as unknown as KvRowSample], samples, span);
  expect([...sums.tokens]).toEqual([3, 0, 1]);
  expect(sums.written_bytes.reduce((a, b) => a + b, 0)).toBe(100);
  expect(sums.needed_bytes.reduce((a, b) => a + b, 0)).toBe(100);
  expect(sums.isRestored).toBe(false);
});
