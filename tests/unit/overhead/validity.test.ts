import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { judgeValidity, type ValidityInput } from "../../../src/overhead/validity.ts";
import { VALIDITY_CLASSES } from "../../../src/schema/run-json.ts";

const MIB = 2 ** 20;
const good: ValidityInput = {
  loss_pct: 0,
  slowdown_pct: 0.5,
  observer_cpu_pct: 3,
  contention_pct: 0.2,
  observer_rss_bytes: 40 * MIB,
  target_rss_bytes: 1000 * MIB,
  mem_available_bytes: 8000 * MIB,
  baseline_cpu_pct: 2,
  throttle_events: 0,
  peak_temperature_c: 60,
};
const judge = (change: Partial<ValidityInput>) => judgeValidity({ ...good, ...change });

describe("the validity class", () => {
  test("is clean without reasons where every figure is good", () => {
    expect(judge({})).toMatchObject({ validity: "clean", reasons: [], not_measured: [] });
  });

  test.each([
    ["contention_pct", 2, 2.01, 5.01],
    ["baseline_cpu_pct", 14.99, 15, 30],
    ["loss_pct", 1, 1.01, 5.01],
    ["slowdown_pct", 2, 2.01, 5.01],
    ["throttle_events", 0, 1, 3],
    ["peak_temperature_c", 85, 85.1, 90.1],
  ] as const)("follows %s from clean over marginal to contaminated", (name, clean, marginal, contaminated) => {
    expect(judge({ [name]: clean }).validity).toBe("clean");
    expect(judge({ [name]: marginal }).validity).toBe("marginal");
    expect(judge({ [name]: contaminated }).validity).toBe("contaminated");
    expect(judge({ [name]: contaminated }).reasons).toHaveLength(1);
  });

  test("asks what the tracer's work cost the target, and how much it was only where that is not measured", () => {
    expect(judge({ observer_cpu_pct: 45 })).toMatchObject({ validity: "clean", reasons: [] });
    const unmeasured = (observer_cpu_pct: number) => judge({ contention_pct: null, observer_cpu_pct });
    expect(unmeasured(9.99).validity).toBe("clean");
    expect(unmeasured(10).reasons).toEqual(["CPU of the tracer 10 % of one CPU, clean is below 10"]);
    expect(unmeasured(20).validity).toBe("contaminated");
    expect(judge({ contention_pct: 2.6 }).reasons).toEqual([
      "time that the process waited for a CPU that the tracer had 2.6 % of its CPU time, clean is at most 2",
    ]);
  });

  test("names the reason that made the class first", () => {
    const { validity, reasons } = judge({ contention_pct: 4.9, baseline_cpu_pct: 100 });
    expect(validity).toBe("contaminated");
    expect(reasons.map((reason) => reason.split(" ").slice(0, 2).join(" "))).toEqual(["CPU of", "time that"]);
  });

  test("takes memory by the better of its two ratios and names both when it fails", () => {
    const small = { target_rss_bytes: 50 * MIB };
    expect(judge(small)).toMatchObject({ validity: "clean", reasons: [] });
    expect(judge({ mem_available_bytes: 100 * MIB }).validity).toBe("clean");
    const tight = judge({ ...small, mem_available_bytes: 1000 * MIB });
    expect(tight.validity).toBe("marginal");
    expect(tight.reasons).toEqual([
      "memory of the tracer against the process's RSS 80 %, marginal is below 15",
      "memory of the tracer against MemAvailable 4 %, clean is below 2",
    ]);
    expect(judge({ ...small, mem_available_bytes: 400 * MIB }).validity).toBe("contaminated");
  });

  test("passes memory by one ratio where the other is not measured, and lists it", () => {
    expect(judge({ target_rss_bytes: null })).toMatchObject({
      validity: "clean",
      not_measured: ["memory of the tracer against the process's RSS"],
    });
  });

  test("is not clean without a required figure, and NaN is not a figure", () => {
    for (const name of ["loss_pct", "slowdown_pct", "contention_pct", "baseline_cpu_pct"] as const) {
      for (const value of [null, Number.NaN]) {
        const { validity, reasons } = judge({ [name]: value, observer_cpu_pct: null });
        expect(validity).toBe("marginal");
        expect(reasons[0]).toContain("not measured");
      }
    }
    expect(judge({ observer_rss_bytes: null }).validity).toBe("marginal");
  });

  test("is not lowered by what the machine cannot tell, which it lists", () => {
    expect(judge({ throttle_events: null, peak_temperature_c: null })).toMatchObject({
      validity: "clean",
      reasons: [],
      not_measured: ["thermal throttling", "peak temperature"],
    });
  });

  test("never improves when a figure gets worse", () => {
    const names = Object.keys(good).filter((name) => name !== "target_rss_bytes" && name !== "mem_available_bytes");
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.double({ min: 0, max: 1e12, noNaN: true }),
        fc.double({ min: 0, max: 1e12, noNaN: true }),
        (name, a, b) => {
          const rank = (value: number) => VALIDITY_CLASSES.indexOf(judge({ [name]: value }).validity);
          return rank(Math.min(a, b)) <= rank(Math.max(a, b));
        },
      ),
    );
  });
});
