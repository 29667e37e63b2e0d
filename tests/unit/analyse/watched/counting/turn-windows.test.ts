import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { StepSample, WatchSample } from "../../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../../src/analyse/metrics/registry.ts";
import { turnWindows } from "../../../../../src/analyse/watched/counting/turn-windows.ts";
import type { RegionType } from "../../../../../src/schema/words.ts";
import { standingStill } from "../../../../../src/simulate/standstill.ts";
import { type Random, seededRandom } from "../../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

const RUN_NS = 4000 * MS;
const TOKENS = 2;
const TRAP_NS = 16_000;

/** Decode steps of 2 to 6 ms of two tokens, one right after the other; before each `every` of them a prompt of 20 ms. */
function stepsOf(random: Random, every: number | null): StepSample[] {
  const steps: StepSample[] = [];
  for (let now = 0; now < RUN_NS; now = steps.at(-1)?.end_ns ?? RUN_NS) {
    const isPrompt = every !== null && steps.length % (every + 1) === 0;
    const end_ns = now + (isPrompt ? 20 : 2 + 4 * random()) * MS;
    steps.push({ step: isPrompt ? "prefill" : "decode", begin_ns: now, end_ns, n_tokens: isPrompt ? 32 : TOKENS });
  }
  return steps;
}

/** How often a word is read in a step. */
type Reads = (word: number, step: StepSample) => number;

/** How many accesses a read of a word is, and for how many of those it counts that a watch may have. */
interface Traps {
  readonly accesses: number;
  readonly counted: (word: number) => number;
}
const ONE: Traps = { accesses: 1, counted: () => 1 };

/** A watch each 10 ms of a word of its own, which is read at even distances from its own place in each step on; one in four has the higher limit. */
function watchesOf(
  random: Random,
  steps: readonly StepSample[],
  region_type: RegionType,
  reads: Reads,
  { accesses, counted }: Traps,
): WatchSample[] {
  return Array.from({ length: RUN_NS / (10 * MS) - 4 }, (_, i): WatchSample => {
    const begin_ns = 10 * MS * (i + random());
    const dwell_limit_ns = 32 * MS * (0.5 + random());
    const place = random();
    const trap_limit = random() < 0.25 ? 32 : 8;
    const mostReads = Math.floor(trap_limit / counted(i));
    const times = steps
      .flatMap((step) => {
        const count = reads(i, step);
        const length = step.end_ns - step.begin_ns;
        return Array.from({ length: count }, (_, k) => step.begin_ns + ((k + place) * length) / count);
      })
      .filter((time) => time > begin_ns && time < begin_ns + dwell_limit_ns)
      .slice(0, mostReads);
    const byTrap = times.length === mostReads;
    return watch(
      times.flatMap((time) => Array.from({ length: accesses }, (_, k) => [time + k * TRAP_NS, "load"] as const)),
      {
        ...{ watch_id: i + 1, region_type, mapping_kind: "anon", trap_limit, begin_ns, dwell_limit_ns },
        end_ns: byTrap ? (times.at(-1) ?? 0) + (accesses - 1) * TRAP_NS : begin_ns + dwell_limit_ns,
        ended_by: byTrap ? "trap_limit" : "dwell",
      },
    );
  });
}

/** Reads per byte and token of decode steps on a machine that stands still for 3 ms, in the mean, while it arms a watch. */
function readsPerToken(seed: number, region_type: RegionType, every: number | null, reads: Reads, traps = ONE) {
  const random = seededRandom(seed);
  const steps = stepsOf(random, every);
  const watches = watchesOf(random, steps, region_type, reads, traps);
  const seen = standingStill({ watches, steps, window_ns: RUN_NS }, 3 * MS, random);
  const regions = [region({ region_type, mapping_kind: "anon", death_ns: seen.window_ns })];
  const rows = computeMetrics(input({ ...seen, regions, trap_cost_ns: TRAP_NS, seed }));
  return rows.find(({ metric, step }) => metric === "reads_per_byte_per_token" && step === "decode");
}

test("reads per token are true where words are read so often in a step that most watches end within the next one", () => {
  const row = readsPerToken(1, "weight", null, () => 6);
  expect(row).toMatchObject({ status: "ok", source: "watch" });
  expect((row?.value ?? 0) / (6 / TOKENS)).toBeWithin(0.95, 1.05);
  expect(row?.lo ?? Number.POSITIVE_INFINITY).toBeLessThan(6 / TOKENS);
  expect(row?.hi ?? 0).toBeGreaterThan(6 / TOKENS);
});

test("reads per token are true where prompts end the watches that they meet", () => {
  const row = readsPerToken(2, "weight", 8, (_, { step }) => (step === "prefill" ? 40 : 1));
  expect(row).toMatchObject({ status: "ok", source: "watch" });
  expect((row?.value ?? 0) / (1 / TOKENS)).toBeWithin(0.99, 1.01);
  // Of nine steps the first comes right after a prompt: no watch that was armed before that tells of it.
  expect(row?.hi ?? 0).toBeGreaterThan((1 + 1 / 9) / TOKENS);
});

test("one word of many that is read in each step is within the bound of reads of which no watch saw one", () => {
  const row = readsPerToken(3, "kv_cache", null, () => 0);
  expect(row).toMatchObject({ status: "bound", value: null, lo: 0 });
  // Of 396 words one in 150 is not drawn with a chance of 7 %; eight reads of it are what a watch could count.
  expect(row?.hi ?? 0).toBeGreaterThan(8 / 150 / TOKENS);
  expect(row?.hi ?? 1).toBeLessThan(8 / 50 / TOKENS);
});

test("reads per token are true where an access of several elements counts once of those that a watch may have", () => {
  const row = readsPerToken(4, "weight", null, () => 12, { accesses: 3, counted: () => 1 });
  expect(row).toMatchObject({ status: "ok", source: "watch" });
  expect((row?.value ?? 0) / (12 / TOKENS)).toBeWithin(0.95, 1.05);
});

test("reads per token are true where a kernel counts the elements of the copies of some words", () => {
  // Of one word in three a read is a copy of four elements: a watch with the lower limit sees two of its four reads in a step.
  const isCopied = (word: number): boolean => word % 3 === 0;
  const traps = { accesses: 1, counted: (word: number) => (isCopied(word) ? 4 : 1) };
  const real = (4 / 3 + (2 * 12) / 3) / TOKENS;
  for (const seed of [5, 6]) {
    const row = readsPerToken(seed, "weight", null, (word) => (isCopied(word) ? 4 : 12), traps);
    expect(row).toMatchObject({ status: "ok", source: "watch" });
    expect((row?.value ?? 0) / real).toBeWithin(0.9, 1.1);
    expect(row?.lo ?? Number.POSITIVE_INFINITY).toBeLessThan(real);
    expect(row?.hi ?? 0).toBeGreaterThan(real);
  }
});

test("a stratum may have as many watches as are armed in a day", () => {
  const steps: StepSample[] = [{ step: "decode", begin_ns: 100 * MS, end_ns: 200 * MS, n_tokens: 1 }];
  const group = groupsOf(input({ steps, regions: [region()] })).find(({ span }) => span.step === "decode");
  expect(group).toBeDefined();
  const day = Array.from({ length: 1e6 }, (_, i) => i);
  // None of them was given time in the span: that there are so many is all that matters.
  if (group !== undefined) expect(turnWindows(group.uniform, day)).toBeNull();
});
