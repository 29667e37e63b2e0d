import { describe, expect, test } from "bun:test";
import { coveredStepNs, coveredSteps, coveredTokens, spansOf, stepNumberAt } from "../../../src/analyse/input/span.ts";
import { exposureIn } from "../../../src/analyse/watched/exposure.ts";
import { bytesError, designWeights, weightsOverTime } from "../../../src/analyse/watched/horvitz-thompson.ts";
import { mergePasses, passGapNs } from "../../../src/analyse/watched/passes.ts";
import { writeHistory } from "../../../src/analyse/watched/write-epoch.ts";
import { OP } from "../../../src/schema/operation.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { MS, watch } from "./sample-input.ts";

const [WHOLE] = spansOf([], 1000 * MS);
/** Of as many ns as there are draws in some tests, one at each. */
const [HUNDRED] = spansOf([], 100);
if (!WHOLE || !HUNDRED) throw new Error("a run without steps has one span");

function exposure(of: ReturnType<typeof watch>): NonNullable<ReturnType<typeof exposureIn>> {
  const found = WHOLE ? exposureIn(of, WHOLE, 50_000) : null;
  if (!found) throw new Error("the watch lies inside the run");
  return found;
}

describe("passes", () => {
  test("the gap is 50 us, or three traps where traps cost more", () => {
    expect(passGapNs(null)).toBe(50_000);
    expect(passGapNs(9_000)).toBe(50_000);
    expect(passGapNs(30_000)).toBe(90_000);
  });

  test("a run of hits, each closer than the gap to the one before, is one pass", () => {
    const time = Float64Array.from([0, 20_000, 60_000, 200_000, 250_000]);
    const op = Uint8Array.from([OP.load, OP.store, OP.load_store, OP.load, OP.unknown]);
    const passes = mergePasses(time, op, 50_000);
    expect(passes.count).toBe(3);
    expect([...passes.start_ns]).toEqual([0, 200_000, 250_000]);
    expect([...passes.end_ns]).toEqual([60_000, 200_000, 250_000]);
    expect([...passes.hits]).toEqual([3, 1, 1]);
    expect([...passes.reads]).toEqual([2, 1, 0]);
    expect([...passes.writes]).toEqual([2, 0, 0]);
    expect([...passes.unknown]).toEqual([0, 0, 1]);
  });
});

describe("spans", () => {
  const step = (kind: "prefill" | "decode", begin: number, end: number, n = 1) => ({
    step: kind,
    begin_ns: begin * MS,
    end_ns: end * MS,
    n_tokens: n,
  });

  test("without steps the run is one span of all phases", () => {
    expect(spansOf([], 5).map((s) => [s.phase, s.step, s.window_ns, s.tokens])).toEqual([["all", "all", 5, null]]);
  });

  test("decode runs from its first call to the end of its last, with the time between calls", () => {
    const spans = spansOf([step("prefill", 10, 30, 64), step("decode", 32, 36), step("decode", 37, 41)], 100 * MS);
    expect(spans.map((s) => s.step)).toEqual(["all", "prefill", "decode"]);
    expect(spans.map((s) => [s.begin_ns[0], s.end_ns[0]])).toEqual([
      [10 * MS, 41 * MS],
      [10 * MS, 32 * MS],
      [32 * MS, 41 * MS],
    ]);
    expect(spans[1]?.tokens).toBe(64);
    expect([spans[2]?.tokens, spans[2]?.window_ns]).toEqual([2, 9 * MS]);
  });

  test("sequences that are decoded together are tokens of one turn over the data", () => {
    const decode = spansOf([step("decode", 0, 4, 4), step("decode", 4, 8, 4)], 100 * MS)[1];
    expect([decode?.tokens, decode?.window_ns, decode?.turn_ns]).toEqual([8, 8 * MS, 4 * MS]);
  });

  test("tokens lie evenly in their step, and none between two steps", () => {
    const steps = [
      step("prefill", 0, 2, 16),
      step("decode", 10, 14),
      step("decode", 20, 24, 4),
      step("decode", 30, 30),
    ];
    const decode = spansOf(steps, 100 * MS).find((span) => span.step === "decode");
    if (decode === undefined) throw new Error("no decode");
    const tokens = (from: number, end: number) => coveredTokens(decode, from * MS, end * MS);
    expect([tokens(0, 10), tokens(0, 11), tokens(11, 13), tokens(14, 20)]).toEqual([0, 0.25, 0.5, 0]);
    expect([tokens(13, 21), tokens(0, 40), tokens(24, 31), tokens(21, 13)]).toEqual([1.25, 6, 1, 0]);
  });

  test("the whole generation knows its steps of either kind, and the time in them", () => {
    const generation = spansOf(
      [step("prefill", 0, 2, 16), step("decode", 10, 14), step("decode", 12, 24)],
      100 * MS,
    )[0];
    if (generation === undefined) throw new Error("no generation");
    const steps = (from: number, end: number) =>
      (["prefill", "decode"] as const).map((kind) => coveredSteps(generation, kind, from * MS, end * MS));
    expect([steps(0, 100), steps(1, 11), steps(3, 9), steps(13, 12)]).toEqual([
      [1, 2],
      [0.5, 0.5],
      [0, 0],
      [0, 0],
    ]);
    const inSteps = (from: number, end: number) => coveredStepNs(generation, from * MS, end * MS) / MS;
    expect([inSteps(0, 100), inSteps(1, 11), inSteps(3, 9), inSteps(13, 12)]).toEqual([16, 2, 0, 0]);
    const at = (moment: number) => stepNumberAt(generation, moment * MS);
    expect([-1, 0, 1, 2, 9].map(at)).toEqual([null, 0, 0, null, null]);
    expect([10, 13, 23, 24].map(at)).toEqual([1, 2, 2, null]);
    expect(generation.tokens).toBeNull();
  });

  test("a step that another one overtakes ends there", () => {
    const decode = spansOf([step("decode", 0, 10), step("decode", 4, 8)], 100 * MS)[1];
    if (decode === undefined) throw new Error("no decode");
    expect(coveredTokens(decode, 0, 4 * MS)).toBe(1);
    expect(coveredTokens(decode, 4 * MS, 6 * MS)).toBe(0.5);
  });

  test("a pause in which nobody waits for a token is not decode time", () => {
    const spans = spansOf([step("decode", 0, 4), step("decode", 5, 9), step("decode", 900, 904)], 1000 * MS);
    const decode = spans.find((s) => s.step === "decode");
    expect([...(decode?.begin_ns ?? [])]).toEqual([0, 900 * MS]);
    expect(decode?.window_ns).toBe(13 * MS);
  });

  test("a watch is cut to the span, and a cut is an end by time", () => {
    const decode = spansOf([step("decode", 0, 40), step("decode", 41, 60)], 1000 * MS)[1];
    const w = watch(
      [
        [10 * MS, "load"],
        [70 * MS, "load"],
      ],
      { ended_by: "trap_limit", end_ns: 70 * MS },
    );
    const cut = decode ? exposureIn(w, decode, 50_000) : null;
    expect(cut?.end_ns).toBe(60 * MS);
    expect(cut?.window_end_ns).toBe(60 * MS);
    expect(cut?.byTrap).toBe(false);
    expect(cut?.passes.count).toBe(1);
    expect(decode ? exposureIn(watch([], { begin_ns: 60 * MS }), decode, 50_000) : 1).toBeNull();
  });
});

describe("the time of a watch", () => {
  test("goes on to its deadline where the last trap ended it, and to the free of its bytes", () => {
    const early = { ended_by: "trap_limit", end_ns: 20 * MS } as const;
    const hits = [[20 * MS, "load"]] as const;
    const stopped = exposure(watch(hits, early));
    expect([stopped.byTrap, stopped.end_ns, stopped.window_end_ns]).toEqual([true, 20 * MS, 100 * MS]);
    const freed = exposure(watch(hits, { ...early, region_death_ns: 50 * MS }));
    expect([freed.window_end_ns, freed.freed_ns]).toEqual([50 * MS, 50 * MS]);
  });

  test("ends at its deadline though it was taken out later, as it was looked at every 20 ms only", () => {
    const late = exposure(watch([[115 * MS, "load"]], { end_ns: 120 * MS }));
    expect([late.end_ns, late.window_end_ns, late.passes.count]).toEqual([100 * MS, 100 * MS, 0]);
  });

  test("ends at its deadline though its last trap came later, before it was taken out", () => {
    const late = exposure(watch([[115 * MS, "load"]], { ended_by: "trap_limit", end_ns: 115 * MS }));
    expect([late.byTrap, late.end_ns, late.window_end_ns, late.passes.count]).toEqual([false, 100 * MS, 100 * MS, 0]);
  });
});

const retained = (h: ReturnType<typeof writeHistory>, whole: boolean): number[] =>
  h.epochs.filter(({ isWhole }) => isWhole === whole).map(({ need_ns }) => need_ns);
const aged = (h: ReturnType<typeof writeHistory>, isKnown: boolean): number[] =>
  h.reads.filter((read) => read.isKnown === isKnown).map(({ age_ns }) => age_ns);

describe("write epochs", () => {
  test("retention is the write to the last read before the overwrite, 0 where nobody read", () => {
    const h = writeHistory(
      exposure(
        watch([
          [1 * MS, "load"],
          [2 * MS, "store"],
          [3 * MS, "load"],
          [5 * MS, "load"],
          [9 * MS, "store"],
          [12 * MS, "store"],
          [20 * MS, "load"],
        ]),
      ),
    );
    expect(h.epochs.map(({ write_ns }) => write_ns)).toEqual([2 * MS, 9 * MS, 12 * MS]);
    expect(retained(h, true)).toEqual([3 * MS, 0]);
    expect(h.epochs[2]).toEqual({
      pass: 6 - 1,
      write_ns: 12 * MS,
      need_ns: 8 * MS,
      traps: 1,
      reads: 1,
      seen_ns: 88 * MS,
      isWhole: false,
    });
    expect(aged(h, true)).toEqual([1 * MS, 3 * MS, 8 * MS]);
    expect(aged(h, false)).toEqual([1 * MS]);
  });

  test("data whose end was not seen is known to be needed until its last read, and complete where it was freed", () => {
    const hits = [
      [2 * MS, "store"],
      [7 * MS, "load"],
    ] as const;
    expect(retained(writeHistory(exposure(watch(hits))), false)).toEqual([5 * MS]);
    const freed = watch(hits, { ended_by: "unmap", region_death_ns: 100 * MS });
    expect(retained(writeHistory(exposure(freed)), true)).toEqual([5 * MS]);
  });

  test("an instruction that reads and writes reads the old data and writes the new", () => {
    const h = writeHistory(
      exposure(
        watch([
          [2 * MS, "load_store"],
          [6 * MS, "load_store"],
          [9 * MS, "load_store"],
        ]),
      ),
    );
    expect(retained(h, true)).toEqual([4 * MS, 3 * MS]);
    expect(aged(h, true)).toEqual([4 * MS, 3 * MS]);
    expect(aged(h, false)).toEqual([2 * MS]);
  });

  test("a read within the pass of its write is a read of the new data", () => {
    const h = writeHistory(
      exposure(
        watch([
          [2 * MS, "store"],
          [2 * MS + 30_000, "load"],
          [9 * MS, "store"],
        ]),
      ),
    );
    expect(retained(h, true)).toEqual([30_000]);
  });
});

test("weights give each stratum its bytes, whatever its share of the draws", () => {
  const draws = [
    ...Array.from({ length: 10 }, () => watch([], { stratum: "a", inclusion_probability: 0.001 })),
    ...Array.from({ length: 30 }, () => watch([], { stratum: "b", inclusion_probability: 0.0001 })),
  ];
  const weights = designWeights(draws);
  expect(weights.total_bytes).toBeCloseTo(8000 + 80_000, 6);
  expect(weights.bytes[0] ?? 0).toBeCloseTo(800, 9);
  expect(weights.bytes[39] ?? 0).toBeCloseTo(80_000 / 30, 9);
});

test("draws of a stratum that fell on another class count among its draws", () => {
  const draws = Array.from({ length: 10 }, () => watch([], { stratum: "a", inclusion_probability: 0.001 }));
  const weights = designWeights(draws.slice(0, 2), undefined, draws.slice(2));
  expect(weights.total_bytes).toBeCloseTo(1600, 6);
});

test("the bytes of a stratum are as sure as its draws are alike", () => {
  const draws = (p: (i: number) => number) =>
    Array.from({ length: 100 }, (_, i) => watch([], { begin_ns: i, inclusion_probability: p(i) }));
  const errorOf = (p: (i: number) => number): number => {
    const some = draws(p);
    return bytesError(some, designWeights(some), HUNDRED, () => true);
  };
  expect(errorOf(() => 0.001)).toBe(0);
  // 4 or 12 kB by turns of chance, 8 in the mean: half of that over the root of 100 draws.
  const random = seededRandom(1);
  expect(errorOf(() => (random() < 0.5 ? 1 / 500 : 1 / 1500))).toBeWithin(0.035, 0.07);
  // As much, but once: what lies between two draws is one in a hundred of it.
  expect(errorOf((i) => (i < 50 ? 1 / 500 : 1 / 1500))).toBeLessThan(0.01);
});

test("two draws that strayed from another stratum make the bytes no less sure than the few bytes that they stand for", () => {
  const even = Array.from({ length: 100 }, (_, i) => watch([], { begin_ns: i, inclusion_probability: 0.001 }));
  const strays = [0.0005, 0.004].map((p, i) => watch([], { begin_ns: i, stratum: "b", inclusion_probability: p }));
  const others = Array.from({ length: 98 }, () => watch([], { stratum: "b", inclusion_probability: 0.001 }));
  const draws = [...even, ...strays];
  expect(
    bytesError(draws, designWeights(draws, undefined, others), HUNDRED, (stratum) => stratum !== "b"),
  ).toBeLessThan(0.02);
});

describe("the bytes of a stratum over the time of a span", () => {
  /** 8 kB in the first half and 80 in the second; three of four draws are in the first. */
  const draws = Array.from({ length: 100 }, (_, i) => {
    const begin_ns = i < 75 ? (50 * i) / 75 : 50 + 2 * (i - 75);
    return watch([], { begin_ns, inclusion_probability: begin_ns < 50 ? 0.001 : 0.0001 });
  });

  test("are those of the draws by the time that is nearest to each, however many began when", () => {
    const weights = designWeights(draws);
    expect(weights.total_bytes).toBeCloseTo(8000 * 0.75 + 80_000 * 0.25, 6);
    const over = weightsOverTime(draws, weights, HUNDRED, () => true);
    expect(over.total_bytes).toBeWithin(43_000, 45_000);
    // Among the draws none has come to weigh more than another.
    expect((over.bytes[99] ?? 0) / (over.bytes[0] ?? 1)).toBeCloseTo(
      (weights.bytes[99] ?? 0) / (weights.bytes[0] ?? 1),
      9,
    );
  });

  test("are left as they are where draws of the stratum are missing, and where it has as many bytes all the time", () => {
    const weights = designWeights(draws);
    expect(weightsOverTime(draws, weights, HUNDRED, () => false)).toEqual(weights);
    const even = draws.map((draw) => ({ ...draw, inclusion_probability: 0.001 }));
    expect(weightsOverTime(even, designWeights(even), HUNDRED, () => true).total_bytes).toBeCloseTo(8000, 6);
  });
});
