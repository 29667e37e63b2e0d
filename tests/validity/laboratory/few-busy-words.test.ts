/** Memory of which 3 % have half of the accesses, as the activations of a graph: some 80 watches meet two or three of these words. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { StepSample } from "../../../src/analyse/input/input.ts";
import {
  readBytesPerSecond,
  readsPerBytePerToken,
  writeBytesPerSecond,
  writesPerBytePerToken,
} from "../../../src/analyse/metrics/byte-rates.ts";
import { reuseBands, type Turn } from "../../../src/collect/ebpf/watch/frame/reuse-bands.ts";
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

type Drawn = (address: number) => Pick<WorldStratum, "stratum" | "turns">;

/**
 * Words of 55 % of the memory are never used, of 42 % twice a step, of 3 % 28 times; weights beside them once.
 * @param drawn from which stratum the words of activations at an address are drawn
 */
function fewBusyWords(random: Random, drawn: Drawn = () => ({ stratum: "activation" })): World {
  const steps = stepsOf(random);
  let address = 0;
  const piece = (region_type: "activation" | "weight", share: number, times: number): WorldStratum => {
    const from = address;
    if (region_type === "activation") address += 8 * Math.round(share * WORDS);
    const places = Array.from({ length: times }, random);
    const hits = steps.flatMap(({ begin_ns, end_ns }) =>
      places.map((place, k) => [begin_ns + place * (end_ns - begin_ns), k % 2 === 0 ? OP.store : OP.load] as const),
    );
    const draws = region_type === "activation" ? drawn(from) : { stratum: region_type };
    return { ...draws, region_type, words: [trace(hits, RUN_NS)], repeats: Math.round(share * WORDS) };
  };
  const pieces = (count: number, share: number, times: number): WorldStratum[] =>
    Array.from({ length: count }, () => piece("activation", share / count, times));
  const weights = Array.from({ length: 10 }, () => piece("weight", 0.5, 1));
  const strata = [...pieces(8, 0.03, 28), ...pieces(12, 0.42, 2), ...pieces(3, 0.55, 0), ...weights];
  return { run_ns: RUN_NS, token_period_ns: STEP_NS, steps, strata, is_named: true };
}

/** From which stratum the product draws a byte at which as many tensors take turns as it is written in a step: those of a prompt are larger, and over all. */
function drawnByTurns(): Drawn {
  const tensors: Turn[] = [];
  const pieces = [
    ...Array<[number, number]>(8).fill([0.03 / 8, 14]),
    ...Array<[number, number]>(12).fill([0.42 / 12, 1]),
  ];
  let from = 0n;
  for (const [share, times] of pieces) {
    const bytes = BigInt(8 * Math.round(share * WORDS));
    for (let i = 0; i < times; i++) {
      const prompt = BigInt(8 * WORDS) - from;
      for (const size of [bytes, prompt]) tensors.push({ name: `${i}`, from, to: from + size });
    }
    from += bytes;
  }
  const bands = reuseBands(tensors);
  return (address) => {
    const { stratum, turns } = bands.find(({ to: end }) => address < end) ?? { stratum: "none", turns: 1 };
    return { stratum, turns };
  };
}

test("passes for each token are as many as in truth in the median where tensors that take turns tell which words are busy", () => {
  const drawn = drawnByTurns();
  const kind = { name: "few busy words, known", make: (random: Random) => fewBusyWords(random, drawn) };
  const families = [readsPerBytePerToken, writesPerBytePerToken];
  const rows = coverageOf(kind, { seeds: 24, first: 7101, families });
  const sums = rows.filter(({ region_type }) => region_type === "activation");
  expect(sums.map(({ metric }) => metric).sort()).toEqual(["reads_per_byte_per_token", "writes_per_byte_per_token"]);
  for (const { ok, held, ratio } of sums) {
    expect(ok).toBe(24);
    expect(held).toBeGreaterThanOrEqual(22);
    expect(Math.abs((ratio ?? 0) - 1)).toBeLessThan(0.05);
  }
});

test("sums for each token and second hold the truth where a few words that end most of their watches have half of them", () => {
  const kind = { name: "few busy words", make: (random: Random) => fewBusyWords(random) };
  const families = [readsPerBytePerToken, writesPerBytePerToken, readBytesPerSecond, writeBytesPerSecond];
  const rows = coverageOf(kind, { seeds: 60, first: 7001, families });
  const sums = rows.filter(({ region_type, phase }) => region_type === "activation" && phase === "generation");
  const perToken = ["reads_per_byte_per_token", "writes_per_byte_per_token"];
  expect(sums.map(({ metric }) => metric).sort()).toEqual(
    ["read_bytes_per_s", ...perToken, "write_bytes_per_s"].sort(),
  );
  for (const { ok, held, bound, right } of sums) {
    expect(ok).toBeGreaterThanOrEqual(4);
    expect(held / ok).toBeGreaterThanOrEqual(0.9);
    expect([ok + bound, right]).toEqual([60, bound]);
  }
});
