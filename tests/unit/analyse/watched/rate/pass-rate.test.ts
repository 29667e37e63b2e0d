import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { StepSample, WatchSample } from "../../../../../src/analyse/input/input.ts";
import { noRegions } from "../../../../../src/analyse/input/region-set.ts";
import { spansOf } from "../../../../../src/analyse/input/span.ts";
import type { WatchSet } from "../../../../../src/analyse/input/watch-set.ts";
import { computeMetrics } from "../../../../../src/analyse/metrics/registry.ts";
import type { Exposure } from "../../../../../src/analyse/watched/exposure.ts";
import { fewCarry, passRate } from "../../../../../src/analyse/watched/rate/pass-rate.ts";
import { resample } from "../../../../../src/statistics/bootstrap.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

/** 40 watches: most see 10 ms, one 15 ms and in it one write, after the time that all of them see. */
function oneLateWrite(): WatchSet {
  const exposures = Array.from({ length: 40 }, (_, i) => {
    const late = i === 0;
    const count = late ? 1 : 0;
    return {
      watch: { stratum: "runtime/heap", trap_limit: 8, mode: "rw", dwell_limit_ns: 20e6 },
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
    trap_ns: 16_000,
    unwatched: 0,
    young: 0,
    lost: 0,
    touched_per_s: 0,
    strays: [],
    regions: { all: noRegions(), rows: new Uint32Array(0) },
    exposures,
    law: new Uint32Array(40),
    lawAt: () => 0,
    rarityAt: () => 1,
    weights: { bytes: new Float64Array(40).fill(8), stratum: new Uint32Array(40), total_bytes: 320 },
    bytes_error: () => 0,
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

const ARMING_NS = 0.3 * MS;
const PERIOD_NS = 1_037_111;

/** Decode steps of 115 us, a step each period; one that was to begin while a CPU arms a watch waits until it has. */
function stepsBeside(armed: readonly number[], runNs: number): StepSample[] {
  return Array.from({ length: Math.floor(runNs / PERIOD_NS) }, (_, i) => {
    const due = i * PERIOD_NS;
    const moment = armed.find((time) => time - ARMING_NS <= due && due < time);
    const begin_ns = moment === undefined ? due : moment + 0.06 * MS;
    return { step: "decode", begin_ns, end_ns: begin_ns + 0.115 * MS, n_tokens: 1 };
  });
}

test("reads per token do not depend on steps that wait for an arming", () => {
  const random = seededRandom(1);
  const window_ns = 9000 * MS;
  const armed = Array.from({ length: 450 }, (_, i) => 19.5 * MS * (i + 1 + random()));
  const steps = stepsBeside(armed, window_ns);
  const watches = armed.map((begin_ns, i): WatchSample => {
    const place = random();
    const end_ns = begin_ns + 2 * MS;
    const times = steps
      .map((step) => step.begin_ns + place * (step.end_ns - step.begin_ns))
      .filter((time) => time > begin_ns && time < end_ns);
    return watch(
      times.map((time) => [time, "load"] as const),
      {
        watch_id: i + 1,
        region_type: "weight",
        mapping_kind: "file",
        begin_ns,
        end_ns,
        dwell_limit_ns: 2 * MS,
      },
    );
  });
  const weights = region({ region_type: "weight", mapping_kind: "file", death_ns: window_ns });
  const rows = computeMetrics(input({ window_ns, steps, watches, regions: [weights], trap_cost_ns: 16_000 }));
  const figureOf = (name: string) => rows.find(({ metric, step }) => metric === name && step === "decode");
  const perToken = figureOf("reads_per_byte_per_token");
  expect(perToken).toMatchObject({ status: "ok", source: "watch" });
  expect(perToken?.value ?? 0).toBeWithin(0.98, 1.02);
  expect(perToken?.lo ?? 2).toBeLessThan(1);
  expect(perToken?.hi ?? 0).toBeGreaterThan(1);
  // 8000 bytes in each of so many tokens.
  const perSecond = figureOf("read_bytes_per_s")?.value ?? 0;
  expect(perSecond / (8000 / (PERIOD_NS / 1e9))).toBeWithin(0.98, 1.02);
  // Of the whole generation, in which prefills may be, passes in steps count by the share of such time.
  const whole = rows.find(({ metric, step }) => metric === "read_bytes_per_s" && step === "all");
  expect(whole).toMatchObject({ status: "ok", source: "watch", phase: "generation" });
  expect((whole?.value ?? 0) / (8000 / (PERIOD_NS / 1e9))).toBeWithin(0.97, 1.03);
  expect((whole?.lo ?? Number.POSITIVE_INFINITY) / (8000 / (PERIOD_NS / 1e9))).toBeLessThan(1);
  expect((whole?.hi ?? 0) / (8000 / (PERIOD_NS / 1e9))).toBeGreaterThan(1);
});

test("what is read between steps, or at any time, is told as truly where steps wait for an arming", () => {
  const random = seededRandom(2);
  const window_ns = 9000 * MS;
  const armed = Array.from({ length: 450 }, (_, i) => 19.5 * MS * (i + 1 + random()));
  const steps = stepsBeside(armed, window_ns);
  const readAt = (what: string, times: (begin_ns: number, end_ns: number) => number[]) =>
    armed.map((begin_ns, i): WatchSample => {
      const end_ns = begin_ns + 2 * MS;
      const hits = times(begin_ns, end_ns).map((time) => [time, "load"] as const);
      return watch(hits, {
        watch_id: i + 1,
        region_type: "runtime",
        mapping_kind: what,
        begin_ns,
        end_ns,
        dwell_limit_ns: 2 * MS,
      });
    });
  // 300 us after the end of each step, and each 800 us whatever the engine does.
  const between = readAt("heap", (begin, end) =>
    steps.map((step) => step.end_ns + 0.3 * MS).filter((time) => time > begin && time < end),
  );
  const always = readAt("heap", (begin, end) => {
    const first = begin + 0.8 * MS * random();
    return [first, first + 0.8 * MS, first + 1.6 * MS].filter((time) => time < end);
  });
  const rateOf = (watches: WatchSample[]) => {
    const heap = region({ region_type: "runtime", mapping_kind: "heap", death_ns: window_ns });
    const rows = computeMetrics(input({ window_ns, steps, watches, regions: [heap], trap_cost_ns: 16_000 }));
    return rows.find(({ metric, step }) => metric === "read_bytes_per_s" && step === "all")?.value ?? 0;
  };
  expect(rateOf(always) / (8000 * (1e9 / (0.8 * MS)))).toBeWithin(0.96, 1.04);
  expect(rateOf(between) / (8000 * (1e9 / PERIOD_NS))).toBeWithin(0.95, 1.05);
});

test("a few long watches on bytes that are never written do not bound the writes of all bytes", () => {
  const window_ns = 10_000 * MS;
  const steps = Array.from({ length: 10_000 }, (_, i): StepSample => {
    return { step: "decode", begin_ns: i * MS, end_ns: (i + 1) * MS, n_tokens: 1 };
  });
  // Of 105 words some are written every 25 tokens: a sixth of all words are, so that one time in nine none is seen.
  const watches = Array.from({ length: 105 }, (_, i) => {
    const isLong = i % 21 === 0;
    const begin_ns = (i + 1) * 92 * MS;
    const dwell_limit_ns = (isLong ? 2000 : 2) * MS;
    return watch([], {
      watch_id: i + 1,
      region_type: "kv_cache",
      mode: isLong ? "w" : "rw",
      design: isLong ? "long" : "short",
      begin_ns,
      end_ns: begin_ns + dwell_limit_ns,
      dwell_limit_ns,
    });
  });
  const cache = region({ region_type: "kv_cache", death_ns: window_ns });
  const rows = computeMetrics(input({ window_ns, steps, watches, regions: [cache], trap_cost_ns: 16_000 }));
  const row = rows.find((one) => one.metric === "writes_per_byte_per_token" && one.step === "decode");
  expect(row).toMatchObject({ status: "bound", value: null, lo: 0 });
  expect(row?.hi ?? 0).toBeGreaterThan(1 / 6 / 25);
});

/** When work that was begun is done, as nothing goes on in some stretches of time: these disjoint and in order. */
function doneAt(from: number, work: number, stalls: readonly (readonly [number, number])[]): number {
  let [now, left] = [from, work];
  for (const [begin, end] of stalls) {
    if (end <= now || begin >= now + left) continue;
    left -= Math.max(0, begin - now);
    now = end;
  }
  return now + left;
}

test("reads per token do not depend on steps that stand still while a watch is armed or taken out", () => {
  const random = seededRandom(3);
  const window_ns = 9000 * MS;
  const armed = Array.from({ length: 450 }, (_, i) => 19.5 * MS * (i + 1 + random()));
  const stalls = armed.flatMap((time) => [
    [time - 0.1 * MS, time + 0.3 * MS] as const,
    [time + 1.7 * MS, time + 2.1 * MS] as const,
  ]);
  const LENGTH = 0.2 * MS;
  const steps = Array.from({ length: Math.floor(window_ns / PERIOD_NS) }, (_, i): StepSample => {
    const due = i * PERIOD_NS;
    return { step: "decode", begin_ns: due, end_ns: doneAt(due, LENGTH, stalls), n_tokens: 1 };
  });
  const watches = armed.map((begin_ns, i): WatchSample => {
    const place = LENGTH * random();
    const end_ns = begin_ns + 2 * MS;
    const times = steps
      .filter((step) => step.end_ns > begin_ns && step.begin_ns < end_ns)
      .map((step) => doneAt(step.begin_ns, place, stalls))
      .filter((time) => time > begin_ns && time < end_ns);
    const hits = times.map((time) => [time, "load"] as const);
    const at = { watch_id: i + 1, region_type: "weight", mapping_kind: "file", begin_ns, end_ns } as const;
    return watch(hits, { ...at, dwell_limit_ns: 2 * MS });
  });
  const weights = region({ region_type: "weight", mapping_kind: "file", death_ns: window_ns });
  const rows = computeMetrics(input({ window_ns, steps, watches, regions: [weights], trap_cost_ns: 16_000 }));
  const perToken = rows.find(({ metric, step }) => metric === "reads_per_byte_per_token" && step === "decode");
  expect(perToken).toMatchObject({ status: "ok", source: "watch" });
  expect(perToken?.value ?? 0).toBeWithin(0.999, 1.001);
  const whole = rows.find(({ metric, step }) => metric === "read_bytes_per_s" && step === "all")?.value ?? 0;
  expect(whole / (8000 / (PERIOD_NS / 1e9))).toBeWithin(0.995, 1.005);
});

test("where a burst was seen outside of the windows, a word that none was drawn of may have one as dense all the time", () => {
  // 200 words that nobody uses while they are watched, but one that is read 8 times, 200 us apart, at the end.
  const watches = Array.from({ length: 200 }, (_, i) => {
    const begin_ns = 4 * MS * i;
    const hits = Array.from({ length: i === 7 ? 8 : 0 }, (_, k) => [begin_ns + (40 + 0.2 * k) * MS, "load"] as const);
    const end_ns = i === 7 ? begin_ns + 41.4 * MS : begin_ns + 50 * MS;
    const ended_by = i === 7 ? "trap_limit" : "dwell";
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns, ended_by, dwell_limit_ns: 50 * MS });
  });
  const [group] = groupsOf(input({ watches }));
  if (group === undefined) throw new Error("no group");
  // 5000 in a second, of up to 1.8 % of the words.
  expect(passRate(group.uniform, "read").rate.hi ?? 0).toBeWithin(60, 150);
  // No word that is written was seen.
  expect(passRate(group.uniform, "write").rate.hi ?? 0).toBeLessThan(10);
});

test("where nothing was counted none of the addresses is said to carry it", () => {
  expect(fewCarry(3.4)).toBe("3 of the addresses carry most of it");
  expect(fewCarry(0)).toBe("no watched address shows one in the time in which passes are counted");
});
