import { describe, expect, test } from "bun:test";
import { estimate } from "../../../../src/analyse/estimate.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const WATCHES = 400;

/** Words that are written and read 5 ms later, every 20 ms; the first of them in shared memory. */
function inputOf(shared: number) {
  const hits = Array.from({ length: 5 }, (_, i) => [
    [(20 * i + 1) * MS, "store"] as const,
    [(20 * i + 6) * MS, "load"] as const,
  ]).flat();
  const watches = Array.from({ length: WATCHES }, (_, i) => {
    const begin_ns = 2.48 * MS * i;
    const shifted = hits.map(([time, op]) => [time + begin_ns, op] as const);
    const times = { begin_ns, end_ns: begin_ns + 100 * MS, trap_limit: 64 };
    const place = { watch_id: i, addr: BigInt(4096 + 8 * i), region_type: "runtime" as const };
    return watch(shifted, { ...place, ...times, ...(i < shared ? { is_shared: true as const } : {}) });
  });
  return input({ watches, regions: [region({ region_type: "runtime", addr: 4096n })] });
}

const JOINED = [
  "iai_p50_ns",
  "reads_per_write",
  "write_once_ratio",
  "age_at_read_p50_ns",
  "retention_p50_ns",
  "next_use_p50_ns",
  "still_needed_p50_ns",
  "suitability",
];
const OF_THE_MAPPING = ["read_bytes_per_s", "write_bytes_per_s", "hits_per_pass"];

const WHY = "others may use the same bytes through another mapping";

describe("a class with memory that others may use through another mapping", () => {
  const statuses = (shared: number, metrics: readonly string[]) => {
    const rows = computeMetrics(inputOf(shared)).filter(({ metric }) => metrics.includes(metric));
    expect(new Set(rows.map(({ metric }) => metric)).size).toBe(metrics.length);
    return rows.filter(({ source }) => source === "watch" || source === "region_map");
  };

  test("does not tell what the reads and writes of a byte are together, and says why", () => {
    for (const row of statuses(WATCHES, JOINED)) {
      expect([row.metric, row.status, row.value, row.lo, row.hi]).toEqual([
        row.metric,
        "not_identifiable",
        null,
        null,
        null,
      ]);
      expect(row.why).toBe(`${WHY}: 100 % of the bytes lie in shared memory`);
    }
  });

  test("tells how often it is read and written through the mappings that were watched", () => {
    const alone = statuses(0, OF_THE_MAPPING);
    expect(statuses(WATCHES, OF_THE_MAPPING)).toEqual(alone);
    expect(alone.filter(({ status }) => status === "ok").length).toBeGreaterThan(0);
  });

  test("is told of where no more than 1 % of its bytes are such", () => {
    const refused = (shared: number) => statuses(shared, JOINED).filter(({ why }) => why?.startsWith(WHY) === true);
    expect(refused(4)).toEqual([]);
    expect(new Set(refused(5).map(({ metric }) => metric)).size).toBe(JOINED.length);
    expect(refused(5)[0]?.why).toEndWith("1.25 % of the bytes lie in shared memory");
  });

  test("has no curve of these either", () => {
    const { curves } = estimate(inputOf(WATCHES), null);
    const held = ["retention", "inter_access_interval", "write_once", "age_at_read", "reads_per_write"];
    for (const name of [...held, "stores_after_settle"]) {
      const rows = curves.filter(({ curve }) => curve === name);
      expect(rows.map(({ status, x }) => [name, status, x])).toEqual([[name, "not_identifiable", null]]);
    }
  });
});
