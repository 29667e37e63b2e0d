/** Memory of which 3 % have half of the accesses, as the activations of a graph: some 80 watches meet two or three of these words. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { readsPerBytePerToken, writesPerBytePerToken } from "../../../src/analyse/metrics/byte-rates.ts";
import { OP } from "../../../src/schema/operation.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { World, WorldStratum } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { MS, SECOND, trace } from "./shapes.ts";

setDefaultTimeout(180_000);

const RUN_NS = 8 * SECOND;
const STEP_NS = 15 * MS;
const WORDS = 100_000;

/** Decode steps of 12 to 18 ms, and a prompt six times as long before each 24 of them. */
function stepsOf(random: Random): StepSample[] {
  const steps: StepSample[] = [];
  for (;;) {
    const isPrompt = steps.length % 25 === 0;
    const begin_ns = steps.at(-1)?.end_ns ?? 0;
    const end_ns = begin_ns + (isPrompt ? 6 : 1) * STEP_NS * (0.8 + 0.4 * random());
    if (end_ns > RUN_NS) return steps;
    steps.push({ step: isPrompt ? "prefill" : "decode", begin_ns, end_ns, n_tokens: isPrompt ? 16 : 1 });
  }
}

/** Words of 55 % of the memory are never used, of 42 % twice a step, of 3 % 28 times; weights beside them once. */
function fewBusyWords(random: Random): World {
  const steps = stepsOf(random);
  const piece = (region_type: "activation" | "weight", share: number, times: number): WorldStratum => {
    const places = Array.from({ length: times }, random);
    const hits = steps.flatMap(({ begin_ns, end_ns }) =>
      places.map((place, k) => [begin_ns + place * (end_ns - begin_ns), k % 2 === 0 ? OP.store : OP.load] as const),
    );
    return { stratum: region_type, region_type, words: [trace(hits, RUN_NS)], repeats: Math.round(share * WORDS) };
  };
  const pieces = (count: number, share: number, times: number): WorldStratum[] =>
    Array.from({ length: count }, () => piece("activation", share / count, times));
  const weights = Array.from({ length: 10 }, () => piece("weight", 0.5, 1));
  const strata = [...pieces(8, 0.03, 28), ...pieces(12, 0.42, 2), ...pieces(3, 0.55, 0), ...weights];
  return { run_ns: RUN_NS, token_period_ns: STEP_NS, steps, strata };
}

test("passes for each token hold the truth where a few words that end most of their watches have half of them", () => {
  const kind = { name: "few busy words", make: fewBusyWords };
  const families = [readsPerBytePerToken, writesPerBytePerToken];
  const rows = coverageOf(kind, { seeds: 24, first: 7001, families });
  const sums = rows.filter(({ region_type }) => region_type === "activation");
  expect(sums.map(({ metric }) => metric).sort()).toEqual(["reads_per_byte_per_token", "writes_per_byte_per_token"]);
  for (const { ok, held, bound, right } of sums) {
    expect(ok).toBeGreaterThanOrEqual(4);
    expect(held / ok).toBeGreaterThanOrEqual(0.9);
    expect([ok + bound, right]).toEqual([24, bound]);
  }
});
