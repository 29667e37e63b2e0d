/** Figures of single cache tensors by the engine's steps, beside those of their class. */
import { describe, expect, test } from "bun:test";
import { kvRegions } from "../../../../src/analyse/by-region/kv-regions.ts";
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { kvRowSamples } from "../../../../src/analyse/input/kv-samples.ts";
import { regionKv } from "../../../../src/analyse/input/region-kv.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import type { KvRows, KvTensor } from "../../../../src/label/kv/kv-lifecycle.ts";
import type { KvToken } from "../../../../src/label/kv/kv-token.ts";
import { placeIndex } from "../../../../src/label/regions/place-index.ts";
import { ROWS } from "../../../../src/regions/kv-layout.ts";
import { tokenList } from "../../../fixtures/listed-tokens.ts";
import { regionsOf } from "../../../fixtures/regions.ts";
import { input, MS } from "../sample-input.ts";

const SEQUENCES = 20;
const TOKENS = 10;
const CELLS = 64;

function tensor(name: string, addr: number, row_bytes: number): KvTensor {
  return {
    ...{ pid: 1, engine: "engine", name, layer: 0, context: null, streams: 1, addr: BigInt(addr), layout: ROWS },
    ...{ row_bytes, cells: CELLS, element_bytes: 2, birth_ns: 0, death_ns: Number.POSITIVE_INFINITY },
  };
}

/** Sequences one behind the other, each emptied at its end: token k of one is written in step k and needed by all that follow. */
function tokens(): KvToken[] {
  const begins = Array.from({ length: SEQUENCES * TOKENS }, (_, i) => i * MS);
  return Array.from({ length: SEQUENCES * TOKENS }, (_, i) => {
    const [filling, k] = [Math.floor(i / TOKENS), i % TOKENS];
    const begin = filling * TOKENS * MS;
    const last = begin + (TOKENS - 1) * MS;
    return {
      ...{ pid: 1, engine: "engine", context: null, sequence: 0, filling, writes: "once", position: k, cell: k },
      reads: [{ begins, from: i + 1, until: (filling + 1) * TOKENS }],
      ...{ is_written: true, write_ns: begin + k * MS, written_by_ns: begin + k * MS + MS / 2 },
      last_read_ns: k === TOKENS - 1 ? null : last,
      evict_ns: begin + TOKENS * MS - 1,
      total_reads: TOKENS - 1 - k,
      ...{ end: null, shared_with: [], requests: null },
    } satisfies KvToken;
  });
}

const PLACES = [
  ["cache_k_l0", 0x10000, 256],
  ["cache_v_l0", 0x20000, 256],
  ["cache_k_l1", 0x30000, 128],
] as const;
const regions = regionsOf(
  PLACES.map(([name, addr, row_bytes]) => ({
    ...{ addr: BigInt(addr), size_bytes: CELLS * row_bytes, region_type: "kv_cache", tensor: name },
  })),
);
const steps = Array.from(
  { length: SEQUENCES * TOKENS },
  (_, i): StepSample => ({ step: "decode", begin_ns: i * MS, end_ns: i * MS + MS / 2, n_tokens: 1 }),
);

function rowsOf(change: Partial<KvRows> = {}): KvRows {
  const tensors = PLACES.map(([name, addr, row_bytes]) => tensor(name, addr, row_bytes));
  const all = tokens();
  const room = { rooms: [tensors.map((_, k) => k)], roomOf: all.map(() => 0) };
  return {
    ...{ tokens: tokenList(all), tensors, ...room, confirmed: new Set<number>(), contradicted: 0 },
    ...{ copies: [], rowless_bytes: 0, early: null, untold: null },
    ...change,
  };
}

const seenOf = (rows: KvRows) => ({
  ...input({ steps, kvRows: kvRowSamples(rows), kvUntold: rows.untold }),
  regions,
  regionKv: regionKv(rows, regions, placeIndex(regions)),
});

describe("single cache tensors by the engine's steps", () => {
  const seen = seenOf(rowsOf());
  const found = kvRegions(seen);
  const figure = (tensorName: string, metric: string) =>
    found.find((region) => region.tensor === tensorName)?.rows.find((row) => row.metric === metric);
  const ofClass = (metric: string) =>
    computeMetrics(seen).find(
      (row) => row.metric === metric && row.source === "step" && row.region_type === "kv_cache" && row.step === "all",
    );

  test("are told each, with what says the region", () => {
    const byRegion = found.toSorted((a, b) => a.region_id - b.region_id);
    expect(byRegion.map(({ region_id, tensor: name }) => [region_id, name])).toEqual(
      PLACES.map(([name], i) => [i + 1, name]),
    );
    for (const { rows } of found) {
      for (const { source, method, status, why } of rows) {
        expect([source, method.length > 0, status === "ok" || why !== null]).toEqual(["step", true, true]);
      }
    }
  });

  test("add up to the class in what they write and need, by the size of their rows", () => {
    for (const [metric, end] of [
      ["write_bytes_per_s", "value"],
      ["read_bytes_per_s", "lo"],
    ] as const) {
      const each = PLACES.map(([name]) => figure(name, metric)?.[end] ?? Number.NaN);
      expect((each[0] ?? 0) / (each[2] ?? 1)).toBeCloseTo(2, 9);
      const sum = each.reduce((a, b) => a + b, 0);
      expect(sum / (ofClass(metric)?.[end] ?? Number.NaN)).toBeCloseTo(1, 9);
    }
  });

  test("keep their rows as long as the class does, as all share one life", () => {
    for (const metric of ["retention_p50_ns", "age_at_read_p50_ns", "write_once_ratio"]) {
      const { value, lo, hi, n, status } = ofClass(metric) ?? {};
      expect([metric, status, n]).toEqual([metric, "ok", SEQUENCES]);
      for (const [name] of PLACES) expect(figure(name, metric)).toMatchObject({ value, lo, hi, n, status });
    }
  });

  test("have a reason for what steps do not tell", () => {
    for (const metric of ["working_set_bytes", "same_page_fraction", "median_stride_bytes"]) {
      expect(figure("cache_k_l0", metric)).toMatchObject({
        status: "not_identifiable",
        value: null,
        why: expect.stringContaining("a step names the rows"),
      });
    }
  });

  test("are not told where the steps do not tell the lives of rows, nor a tensor that shares its bytes", () => {
    expect(kvRegions(seenOf(rowsOf({ untold: "a copy between sequences" })))).toEqual([]);
    const shared = {
      ...regions,
      facts: regions.facts.map((facts, i) => (i === 1 ? { ...facts, tensor: null } : facts)),
    };
    const left = kvRegions({ ...seen, regions: shared, regionKv: regionKv(rowsOf(), shared, placeIndex(shared)) });
    expect(left.map(({ tensor: name }) => name).sort()).toEqual(["cache_k_l0", "cache_k_l1"]);
  });

  test("have a row with the reason each where there are too many tokens to tell them again", () => {
    const many = { rows: [0], kvRows: null };
    const [only] = kvRegions({ ...seen, regionKv: [many] });
    expect(only?.rows.find(({ metric }) => metric === "retention_p50_ns")).toMatchObject({
      status: "not_identifiable",
      why: expect.stringContaining("too many tokens"),
    });
  });
});
