import { describe, expect, test } from "bun:test";
import { createThermalUse } from "../../../src/overhead/thermal-summary.ts";
import { judgeValidity } from "../../../src/overhead/validity.ts";
import { batchWith, type Given } from "../../fixtures/row-with.ts";

/** Samples of two rows each, the target's and the tracer's, as the process collector writes them. */
function summaryOf(samples: readonly Given<"process">[], cpus = 4) {
  const thermal = createThermalUse(cpus);
  for (const [i, sample] of samples.entries()) {
    const row: Given<"process"> = { timestamp_ns: BigInt(i * 1e9), pid: 1, role: "target", ...sample };
    thermal.take(batchWith("process", [row, { ...row, role: "tracer" }]));
  }
  return thermal.summary();
}

describe("the thermal summary of a run", () => {
  test("says in words what a machine without sensors does not tell", () => {
    const summary = summaryOf([{ steal_ns: 0n }, { steal_ns: 1_000_000_000n }]);
    expect(summary).toMatchObject({ samples: 2, throttle_events: null, peak_temp_c: null, cpu_freq_mean_mhz: null });
    expect(summary.not_measured.map((why) => why.split(":")[0])).toEqual(["throttling", "temperature", "frequency"]);
    expect(summary.steal_pct).toBe(25);
  });

  test("is the growth of counters and the range of what goes up and down", () => {
    const frequency = (min: number, mean: number, max: number) => ({
      cpu_freq_min_mhz: min,
      cpu_freq_mean_mhz: mean,
      cpu_freq_max_mhz: max,
    });
    const summary = summaryOf([
      {
        temperature_c: 50,
        core_throttle_events: 90n,
        package_throttle_events: 7n,
        throttled_ns: 5n,
        ...frequency(800, 1000, 3000),
      },
      {},
      {
        temperature_c: 91,
        core_throttle_events: 92n,
        package_throttle_events: 7n,
        throttled_ns: 8n,
        ...frequency(900, 2000, 3600),
      },
      {
        temperature_c: 70,
        core_throttle_events: 93n,
        package_throttle_events: 8n,
        throttled_ns: 9n,
        ...frequency(900, 3000, 3100),
      },
    ]);
    expect(summary).toEqual({
      samples: 3,
      throttle_events: 3,
      core_throttle_events: 3,
      package_throttle_events: 1,
      throttled_ns: 4,
      start_temp_c: 50,
      peak_temp_c: 91,
      end_temp_c: 70,
      cpu_freq_min_mhz: 800,
      cpu_freq_mean_mhz: 2000,
      cpu_freq_max_mhz: 3600,
      steal_pct: null,
      not_measured: [],
    });
  });

  test("counts throttling that only the package saw", () => {
    const summary = summaryOf([
      { core_throttle_events: 0n, package_throttle_events: 4n },
      { core_throttle_events: 0n, package_throttle_events: 6n },
    ]);
    expect(summary.throttle_events).toBe(2);
  });

  test("gives a throttled run its reason", () => {
    const { throttle_events, peak_temp_c } = summaryOf([{ core_throttle_events: 10n }, { core_throttle_events: 12n }]);
    const { validity, reasons, not_measured } = judgeValidity({
      loss_pct: 0,
      slowdown_pct: 0,
      observer_cpu_pct: 1,
      contention_pct: 0,
      observer_rss_bytes: 1,
      target_rss_bytes: 1000,
      mem_available_bytes: 1000,
      baseline_cpu_pct: 1,
      throttle_events,
      peak_temperature_c: peak_temp_c,
    });
    expect(validity).toBe("marginal");
    expect(reasons).toEqual(["thermal throttling 2 events, clean is at most 0"]);
    expect(not_measured).toEqual(["peak temperature"]);
  });
});
