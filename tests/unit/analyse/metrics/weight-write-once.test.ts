import { describe, expect, test } from "bun:test";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { computeMetrics, printedFigures } from "../../../../src/analyse/metrics/registry.ts";
import type { GivenRegion } from "../../../fixtures/regions.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** 8000 bytes of weights from an address on. */
const weights = (addr: bigint, is_read_only: boolean): GivenRegion =>
  region({ region_type: "weight", mapping_kind: is_read_only ? "file" : "anon", addr, is_read_only });

/** Watches that begin all over the run, and what each saw. */
const watches = (count: number, op: "load" | "store" = "load"): WatchSample[] =>
  Array.from({ length: count }, (_, i) => {
    const begin_ns = (i * 990 * MS) / count;
    const place = {
      region_type: "weight" as const,
      begin_ns,
      end_ns: Math.min(1000 * MS, begin_ns + 90 * MS),
      dwell_limit_ns: 90 * MS,
    };
    return watch([[begin_ns + (5 + ((29 * i) % 80)) * MS, op]], {
      ...place,
      stratum_bytes: 16_000,
      inclusion_probability: 8 / 16_000,
    });
  });

const figure = (regions: readonly GivenRegion[], seen: readonly WatchSample[]) =>
  computeMetrics(input({ regions, watches: seen })).find(
    ({ metric, source }) => metric === "write_once_ratio" && source === "region_map",
  );

describe("write-once of weights", () => {
  test("is a count where all lie in files that the process could not write to", () => {
    const row = figure([weights(0n, true), weights(8000n, true)], watches(40));
    expect(row).toMatchObject({ status: "ok", value: 1, lo: 1, hi: 1, n: 2, ci_level: null });
    expect(figure([weights(0n, true)], [])).toMatchObject({ status: "ok", value: 1 });
  });

  test("is a bound where a part was copied into buffers: by the part that was not, or by the rate of writes", () => {
    const half = [weights(0n, true), weights(8000n, false)];
    expect(figure(half, [])).toMatchObject({
      status: "bound",
      value: null,
      lo: 0.5,
      hi: 1,
      why: expect.stringContaining("50 %"),
    });
    // 1000 watches without a write in 80 ms each: less than a twentieth of the bytes can have been written again in a second.
    const seen = figure(half, watches(1000));
    expect(seen).toMatchObject({ status: "bound", hi: 1, n: 1000 });
    expect(seen?.lo).toBeGreaterThan(0.95);
  });

  test("is not identifiable where the process may write to all of it and nothing says how much it wrote", () => {
    expect(figure([weights(0n, false)], [])).toMatchObject({
      status: "not_identifiable",
      why: "100 % of the bytes lie where the process may write, and nothing tells how much it wrote after the load",
    });
  });

  test("is not told of a recording that has mappings as they were made, and not what their protection became", () => {
    const sight = [{ collector: "perf_mem", identifies: ["pebs"], blind_to: "" }];
    const rows = computeMetrics(input({ regions: [weights(0n, true)], watches: watches(40), sight }));
    expect(rows.filter(({ source }) => source === "region_map").map(({ metric }) => metric)).not.toContain(
      "write_once_ratio",
    );
  });

  test("is below one where watches saw writes, whatever the map says", () => {
    const row = figure([weights(0n, true), weights(8000n, true)], [...watches(40), ...watches(40, "store")]);
    expect(row).toMatchObject({ status: "bound", value: null });
    expect(row?.hi).toBeLessThan(0.7);
  });
});

describe("writes of weights", () => {
  const rowOf = (regions: readonly GivenRegion[], seen: readonly WatchSample[], metric: string) =>
    printedFigures(computeMetrics(input({ regions, watches: seen }))).find((row) => row.metric === metric);
  const unwritable = (addr: bigint): GivenRegion => ({ ...weights(addr, false), is_unwritable: true });

  test("are none where all lie in files without the right to write while we looked, as of a server that was there before", () => {
    const regions = [unwritable(0n), unwritable(8000n)];
    const written = rowOf(regions, watches(40), "write_bytes_per_s");
    expect(written).toMatchObject({ status: "ok", value: 0, lo: 0, hi: 0, source: "region_map", n: 2, ci_level: null });
    expect(rowOf(regions, watches(40), "reads_per_write")).toMatchObject({
      status: "not_identifiable",
      why: "no write can be: all of it was mapped without the right to write",
    });
  });

  test("are what watches tell where the process could write to a part, or a watch saw a write", () => {
    const part = [unwritable(0n), weights(8000n, false)];
    expect(rowOf(part, watches(40), "write_bytes_per_s")).toMatchObject({ status: "bound", source: "watch", lo: 0 });
    const seen = rowOf([unwritable(0n)], watches(120, "store"), "write_bytes_per_s");
    expect(seen).toMatchObject({ status: "ok", source: "watch" });
  });
});
