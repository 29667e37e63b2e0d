import { expect, test } from "bun:test";
import type { WatchSet } from "../../../../src/analyse/input/group.ts";
import { spansOf } from "../../../../src/analyse/input/span.ts";
import type { Exposure } from "../../../../src/analyse/watched/exposure.ts";
import { passRate } from "../../../../src/analyse/watched/pass-rate.ts";
import { resample } from "../../../../src/statistics/bootstrap.ts";

/** 40 watches: most see 10 ms, one 15 ms and in it one write, after the time that all of them see. */
function oneLateWrite(): WatchSet {
  const exposures = Array.from({ length: 40 }, (_, i) => {
    const late = i === 0;
    const count = late ? 1 : 0;
    return {
      watch: { stratum: "runtime/heap", trap_limit: 8, mode: "rw" },
      armed_ns: 0,
      begin_ns: 0,
      end_ns: late ? 15e6 : 10e6,
      window_end_ns: late ? 15e6 : 10e6,
      byTrap: false,
      freed_ns: Number.NaN,
      from: 0,
      to: count,
      inside: Uint32Array.from({ length: count }, (_, p) => p),
      inside_ns: Float64Array.from({ length: count }, () => 14e6),
      passes: {
        count,
        start_ns: Float64Array.from({ length: count }, () => 14e6),
        end_ns: Float64Array.from({ length: count }, () => 14e6),
        hits: new Uint32Array(count).fill(1),
        reads: new Uint32Array(count),
        writes: new Uint32Array(count).fill(1),
        unknown: new Uint32Array(count),
      },
    } as unknown as Exposure;
  });
  const [span] = spansOf([], 1e9);
  if (span === undefined) throw new Error("no span");
  return {
    span,
    gap_ns: 50_000,
    unwatched: 0,
    young: 0,
    exposures,
    weights: { bytes: new Float64Array(40).fill(8), stratum: new Uint32Array(40), total_bytes: 320 },
    resamples: () => resample(new Uint8Array(40), 1),
  };
}

test("a write that only a longer exposure saw does not make the rate a certain zero", () => {
  const rate = passRate(oneLateWrite(), "write");
  expect(rate.n_seen).toBe(1);
  expect(rate.rate.lo).toBe(0);
  // One write in 0.4 s of exposure: the truth, 2.4 per second, lies inside.
  expect(rate.rate.hi ?? 0).toBeGreaterThan(2.4);
});
