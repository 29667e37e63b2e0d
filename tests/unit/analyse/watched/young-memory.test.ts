import { describe, expect, test } from "bun:test";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import type { GivenRegion } from "../../../fixtures/regions.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const RUN_NS = 100_000 * MS;

/** A watch each 0.8 s of a word that is read every 30 ms, in a region of 8000 bytes that is there in the whole run. */
const watches = Array.from({ length: 120 }, (_, i) => {
  const begin_ns = 800 * i * MS;
  const reads = Array.from({ length: 4 }, (_, k) => [begin_ns + (30 * k + 1 + (i % 28)) * MS, "load"] as const);
  return watch(reads, {
    ...{ watch_id: i + 1, region_type: "weight", addr: BigInt(4096 + 8 * i) },
    ...{ begin_ns, end_ns: begin_ns + 120 * MS, dwell_limit_ns: 120 * MS },
  });
});

function figure(metric: string, beside: readonly GivenRegion[]) {
  const all = [region({ death_ns: RUN_NS }), ...beside];
  const regions = all.map((one) => ({ ...one, region_type: "weight" as const }));
  const rows = computeMetrics(input({ watches, regions, window_ns: RUN_NS }));
  const row = rows.find((one) => one.metric === metric && one.source === "watch");
  if (row === undefined) throw new Error(`no ${metric}`);
  return row;
}

describe("memory that is gone before a draw meets it", () => {
  const large: GivenRegion = { addr: 1_000_000n, size_bytes: 800_000, birth_ns: 50_500 * MS, death_ns: 50_800 * MS };

  test("leaves lower bounds of what is read where it may be much of the class", () => {
    expect(figure("read_bytes_per_s", [])).toMatchObject({ status: "ok" });
    const row = figure("read_bytes_per_s", [large]);
    expect(row).toMatchObject({ status: "bound", value: null, hi: null });
    expect(row.why).toContain("lives so shortly that 23 % of its time is over");
    expect(figure("iai_p50_ns", [large]).status).toBe("insufficient");
  });

  test("leaves room for its bytes in what is touched within a window", () => {
    // 8000 bytes of which all are touched, and 800,000 for 0.3 of 100 s.
    expect(figure("working_set_bytes", [large]).hi ?? 0).toBeGreaterThan(8000 + 2400);
  });

  test("is none that is there as long as many draws, as what cannot be drawn", () => {
    const table: GivenRegion = { addr: 1_000_000n, size_bytes: 8000, birth_ns: 10_000 * MS, death_ns: RUN_NS };
    expect(figure("read_bytes_per_s", [table])).toMatchObject({ status: "ok" });
  });
});
