import { expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const CYCLE_MS = 22;
const PROMPT_MS = 2;
const STEP_MS = 5;

/** A short prompt and so many decode steps, over and over: two decode steps, the window, are longer than a prompt. */
function promptsAndTokens(decodes: number): StepSample[] {
  return Array.from({ length: 40 }, (_, cycle): StepSample[] => {
    const begin = CYCLE_MS * cycle;
    return [
      { step: "prefill", begin_ns: begin * MS, end_ns: (begin + PROMPT_MS) * MS, n_tokens: 16 },
      ...Array.from({ length: decodes }, (_, i): StepSample => {
        const from = begin + PROMPT_MS + STEP_MS * i;
        return { step: "decode", begin_ns: from * MS, end_ns: (from + STEP_MS) * MS, n_tokens: 1 };
      }),
    ];
  }).flat();
}

/** The working set of 120 words that prompts alone touch, each watched from 4 ms before a prompt on. */
function workingSet(dwell_ms: number, decodes = 4): MetricRow | undefined {
  const watches = Array.from({ length: 120 }, (_, i) => {
    const prompt = CYCLE_MS * (1 + (i % 35));
    const begin = prompt - 4 + 0.01 * i;
    return watch([[(prompt + 0.1) * MS, "load"]], {
      watch_id: i + 1,
      addr: BigInt(4096 + 8 * i),
      begin_ns: begin * MS,
      end_ns: (begin + dwell_ms) * MS,
      dwell_limit_ns: dwell_ms * MS,
    });
  });
  const regions = [region({ region_type: "activation" })];
  return computeMetrics(input({ watches, regions, steps: promptsAndTokens(decodes) })).find(
    ({ metric, source, step }) => metric === "working_set_bytes" && source === "watch" && step === "decode",
  );
}

test("what a prompt touches is not in the working set of the decode steps around it", () => {
  expect(workingSet(15)).toMatchObject({ status: "insufficient", lo: null, hi: null });
});

test("nor is it where watches are shorter than two steps", () => {
  expect(workingSet(9)).toMatchObject({ status: "insufficient", lo: null, hi: null });
});

test("and there is none of two steps where no two follow each other", () => {
  const row = workingSet(15, 1);
  expect(row).toMatchObject({ status: "not_identifiable", value: null, lo: null, hi: null });
  expect(row?.why).toContain("no two of its steps follow each other");
});

test("of which no watch saw a use it is an upper end, and no value", () => {
  const watches = Array.from({ length: 60 }, (_, i) =>
    watch([], { watch_id: i + 1, begin_ns: 10 * i * MS, end_ns: (10 * i + 100) * MS }),
  );
  const rows = computeMetrics(input({ watches, regions: [region({ region_type: "activation" })] }));
  const row = rows.find(({ metric, source }) => metric === "working_set_bytes" && source === "watch");
  expect([row?.status, row?.value]).toEqual(["bound", null]);
  expect(row?.why).toBe("none of 60 watched words was used within the window");
  expect(row?.hi).toBeGreaterThan(0);
});

test("of watches that are shorter than the window it lies between what they saw touched and what is mapped", () => {
  const watches = Array.from({ length: 60 }, (_, i) =>
    watch([[(10 * i + 1) * MS, "load"]], { watch_id: i + 1, begin_ns: 10 * i * MS, end_ns: (10 * i + 5) * MS }),
  );
  const regions = [region({ region_type: "activation" })];
  const rows = computeMetrics(input({ watches, regions }));
  const row = rows.find(({ metric, source }) => metric === "working_set_bytes" && source === "watch");
  const mapped = regions[0]?.size_bytes ?? 0;
  expect([row?.status, row?.value, row?.hi]).toEqual(["bound", null, mapped]);
  expect(row?.lo).toBeGreaterThan(mapped / 2);
  expect(row?.why).toBe("too few watches are as long as the window");
});
