import { describe, expect, test } from "bun:test";
import { spansOf } from "../../../src/analyse/input/span.ts";
import { OP } from "../../../src/schema/operation.ts";
import { truthOf, truthOfSteps, truthWithin } from "../../../src/simulate/reference.ts";
import type { WordTrace, WorldStratum } from "../../../src/simulate/world.ts";

const MS = 1e6;
const GAP_NS = 50_000;

const word = (...hits: (readonly [ms: number, op: number])[]): WordTrace => ({
  time_ns: Float64Array.from(hits, ([ms]) => ms * MS),
  op: Uint8Array.from(hits, ([, op]) => op),
});
const stratum = (words: readonly WordTrace[], repeats = 1): WorldStratum => ({
  stratum: "activation",
  region_type: "activation",
  words,
  repeats,
});

describe("the truth of a world", () => {
  const written = word([100, OP.store], [200, OP.load], [201, OP.load], [500, OP.store], [900, OP.load]);
  const truth = truthOf([stratum([written])], 1000 * MS, GAP_NS);

  test("is counted from every access", () => {
    expect(truth.get("read_bytes_per_s")).toEqual({ lo: 24, hi: 24 });
    expect(truth.get("write_bytes_per_s")).toEqual({ lo: 16, hi: 16 });
    expect(truth.get("reads_per_write")).toEqual({ lo: 1.5, hi: 1.5 });
    expect(truth.get("hits_per_pass")).toEqual({ lo: 1, hi: 1 });
    expect(truth.get("write_once_ratio")).toEqual({ lo: 0, hi: 0 });
  });

  test("has times from write to last read, and none that the run cut", () => {
    // Of two writes one is kept for 101 ms, the other until the run ends at least.
    expect(truth.get("retention_p50_ns")).toEqual({ lo: 101 * MS, hi: Number.POSITIVE_INFINITY });
    expect(truth.get("age_at_read_p50_ns")).toEqual({ lo: 101 * MS, hi: 101 * MS });
  });

  test("of a part of a run is of the passes in it", () => {
    const part = truthWithin([stratum([written])], [150 * MS, 650 * MS], GAP_NS);
    expect(part.get("read_bytes_per_s")).toEqual({ lo: 32, hi: 32 });
    expect(part.get("write_bytes_per_s")).toEqual({ lo: 16, hi: 16 });
    expect(part.has("retention_p50_ns")).toBe(false);
  });

  test("of a part of a run has the frees in it, whenever it begins", () => {
    const used = word([600, OP.load], [700, OP.load]);
    const freed = (ms: number): WorldStratum => ({ ...stratum([used]), life_ns: [550 * MS, ms * MS] });
    const iai = (ms: number) => truthWithin([freed(ms)], [500 * MS, 1000 * MS], GAP_NS).get("iai_p90_ns");
    // The last pass before a free has no next one: whether that counts as longer than any the definition leaves open.
    expect(iai(800)).toEqual({ lo: 100 * MS, hi: Number.POSITIVE_INFINITY });
    expect(iai(1200)).toEqual({ lo: Number.POSITIVE_INFINITY, hi: Number.POSITIVE_INFINITY });
  });

  test("counts each word as often as it stands in memory", () => {
    const rare = word([300, OP.load]);
    const often = word([100, OP.load], [200, OP.load], [300, OP.load]);
    const all = truthOf([stratum([rare], 30), stratum([often], 10)], 1000 * MS, GAP_NS);
    expect(all.get("read_bytes_per_s")?.lo).toBe(8 * 60);
    // 20 intervals of 100 ms, and 40 words of which the next use is not seen.
    expect(all.get("iai_p50_ns")?.hi).toBe(Number.POSITIVE_INFINITY);
    const long = word([0, OP.load], [700, OP.load]);
    const two = truthOf([stratum([long], 200), stratum([often], 1000)], 1000 * MS, GAP_NS);
    expect(two.get("iai_p50_ns")).toEqual({ lo: 100 * MS, hi: 100 * MS });
  });

  test("has no moment of memory that was freed before the run", () => {
    const gone: WorldStratum = { ...stratum([word()], 5), life_ns: [-2000 * MS, -500 * MS] };
    expect(truthOf([stratum([written]), gone], 1000 * MS, GAP_NS)).toEqual(truth);
  });

  test("is none where nothing of the kind happened", () => {
    const read = truthOf([stratum([word([100, OP.load])])], 1000 * MS, GAP_NS);
    for (const name of ["reads_per_write", "retention_p50_ns", "write_once_ratio"]) expect(read.get(name)).toBeNull();
  });
});

describe("the truth of the steps of a world", () => {
  const step = (begin: number, end: number) =>
    ({ step: "decode", begin_ns: begin * MS, end_ns: end * MS, n_tokens: 1 }) as const;
  // Two stretches of two steps of 100 ms, far apart.
  const steps = [step(0, 100), step(100, 200), step(5000, 5100), step(5100, 5200)];
  const span = spansOf(steps, 10_000 * MS).find(({ step }) => step === "decode");
  if (span === undefined) throw new Error("no decode");

  test("counts the passes that begin while tokens are decoded, for each byte and token", () => {
    const used = word([50, OP.store], [150, OP.load], [151, OP.load], [2000, OP.load], [5050, OP.load]);
    const idle = word([3000, OP.store]);
    const truth = truthOfSteps([stratum([used]), stratum([idle], 3)], span, GAP_NS);
    expect(truth.get("reads_per_byte_per_token")?.lo).toBeCloseTo(3 / (4 * 4), 12);
    expect(truth.get("writes_per_byte_per_token")?.lo).toBeCloseTo(1 / (4 * 4), 12);
  });

  test("has what is touched within two tokens, of moments that leave room for them", () => {
    const longer = spansOf([...steps.slice(0, 2), step(200, 300), step(300, 400)], 10_000 * MS)[1];
    if (longer === undefined) throw new Error("no decode");
    // Of the moments up to 200 ms, those from 50 ms on have it within 200 ms.
    const truth = truthOfSteps([stratum([word([250, OP.load])], 2)], longer, GAP_NS);
    expect(truth.get("working_set_bytes")?.lo).toBeCloseTo(8 * 2 * 0.75, 9);
    expect(truthOfSteps([stratum([word([50, OP.load])])], span, GAP_NS).get("working_set_bytes")).toBeNull();
  });
});
