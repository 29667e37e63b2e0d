import { describe, expect, test } from "bun:test";
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { sumAccesses } from "../../../../src/analyse/input/load-access-sums.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { regionsOf } from "../../../fixtures/regions.ts";
import { groupsOf, type Sample } from "../../../fixtures/sampled-rows.ts";
import { input, MS, region } from "../sample-input.ts";

/** Twenty tokens of 50 ms, each computed in the first 30 and sampled in the last 20. */
const STEPS = Array.from(
  { length: 20 },
  (_, i): StepSample => ({ step: "decode", begin_ns: 50 * i * MS, end_ns: (50 * i + 30) * MS, n_tokens: 1 }),
);
const GIVEN = [
  region({ region_type: "weight", size_bytes: 4096 }),
  region({ region_type: "activation", size_bytes: 4096, addr: 1n << 20n }),
];

const sample = (over: Partial<Sample>): Sample => ({
  address: 0,
  time_ns: 0,
  region_id: 1,
  pid: 1,
  source: "ibs",
  op: "load",
  period: 1000,
  ...over,
});

async function figures(samples: readonly Sample[], steps: readonly StepSample[]) {
  const summed = {
    regions: regionsOf(GIVEN),
    steps,
    originNs: 0n,
    windowNs: 1000 * MS,
    clears: new Float64Array(0),
    gapNs: 50_000,
    memoryBytes: 1 << 28,
  };
  const inOrder = samples.toSorted((a, b) => a.time_ns - b.time_ns);
  const accessSums = await sumAccesses(summed, () => groupsOf(inOrder));
  return computeMetrics(input({ regions: GIVEN, steps, accessSums }));
}

describe("samples of a run with an engine", () => {
  test("are of the step whose time they lie in, so that what is done between two calls counts in its rate", async () => {
    // Weights are read while a token is computed, and the activations by another process, up to the next token.
    const samples = STEPS.flatMap(({ begin_ns }) =>
      [1, 5, 9, 25].flatMap((ms) => [
        sample({ time_ns: begin_ns + ms * MS }),
        sample({ region_id: 2, address: 1 << 20, pid: 2, time_ns: begin_ns + (20 + ms) * MS }),
      ]),
    );
    const rows = (await figures(samples, STEPS)).filter(
      ({ metric, step }) => metric === "loads_per_s" && step === "decode",
    );
    const ofClass = (type: string) => rows.find(({ region_type }) => region_type === type);
    // The last token ends with its call, 20 ms before the end of the run.
    const seconds = 0.98;
    expect(ofClass("weight")?.value ?? 0).toBeCloseTo(80_000 / seconds, 3);
    // Of the last token the accesses at 29 ms count and those at 45 ms do not; at 21 and 25 ms they do.
    expect(ofClass("activation")?.value ?? 0).toBeCloseTo(79_000 / seconds, 3);
  });
});

describe("samples that stand for no number of accesses", () => {
  const touched = Array.from({ length: 40 }, (_, i) =>
    sample({ time_ns: 20 * i * MS, address: 64 * i, period: Number.NaN, op: "store" }),
  );

  test("tell what was touched, and say why there is no rate", async () => {
    const rows = (await figures(touched, [])).filter(({ source }) => source === "ibs");
    const set = rows.find(({ metric, grain_bytes }) => metric === "working_set_bytes" && grain_bytes === 64);
    expect([set?.status, set?.lo, set?.hi]).toEqual(["bound", 2560, 4096]);
    for (const metric of ["loads_per_s", "stores_per_s", "iai_mean_ns", "loads_per_store", "write_once_ratio"]) {
      const row = rows.find((one) => one.metric === metric);
      expect([metric, row?.status, row?.value]).toEqual([metric, "not_identifiable", null]);
      expect(row?.why).toContain("stand for no number of accesses");
    }
  });

  test("are left out where the source has others, of whichever class", async () => {
    const counted = Array.from({ length: 40 }, (_, i) =>
      sample({ time_ns: 20 * i * MS, region_id: 2, address: 1 << 20 }),
    );
    const rows = (await figures([...touched, ...counted], [])).filter(({ metric }) => metric === "working_set_bytes");
    expect(new Set(rows.filter(({ source }) => source === "ibs").map(({ region_type }) => region_type))).toEqual(
      new Set(["activation"]),
    );
  });
});
