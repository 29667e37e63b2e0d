import { expect, test } from "bun:test";
import { estimate } from "../../../../src/analyse/estimate.ts";
import type { KvRowSample, StepSample } from "../../../../src/analyse/input/input.ts";
import { worldSchema } from "../../../../src/config/world-schema.ts";
import { placeIndex } from "../../../../src/label/regions/place-index.ts";
import { describedWorld } from "../../../../src/simulate/described-world.ts";
import { tryWorld } from "../../../../src/simulate/trial.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { input, MS, region } from "../sample-input.ts";
import { STEPS } from "../sample-weights.ts";

const written = ({ begin_ns }: StepSample, i: number): KvRowSample => ({
  ...{ write_ns: begin_ns + MS, is_written: true, last_read_ns: Number.NaN, evict_ns: Number.NaN },
  ...{ total_reads: 0, size_bytes: 1024, filling: i, writes: "once" },
});

test("steps behind the last batch of a process that was killed in it have their own bytes on the curve", () => {
  const steps = STEPS.map((step, i) => (i === 10 ? { ...step, end_ns: 1000 * MS, is_cut: true as const } : step));
  // Nothing is written in the first half.
  const from = steps[90]?.begin_ns ?? 0;
  const regions = [region({ region_type: "kv_cache", size_bytes: 180 * 1024 })];
  const seen = input({ steps, kvRows: steps.slice(90).map(written), regions });
  const points = estimate(seen, placeIndex(seen.regions)).curves.filter(
    ({ curve, source }) => curve === "write_rate" && source === "step",
  );
  expect(points.length).toBeGreaterThan(10);
  const cut = points.filter(({ y, ci_low }) => y === null && ci_low === 0);
  expect(cut.map(({ x, x_end }) => (x ?? 0) <= 150 * MS && (x_end ?? 0) > 150 * MS)).toEqual([true]);
  const before = points.filter(({ x_end }) => (x_end ?? 0) <= from);
  for (const point of before) if (!cut.includes(point)) expect([point.x_end, point.y]).toEqual([point.x_end, 0]);
});

test("a bin of memory that no engine names has a rate only where as many watches tell it as a figure needs", () => {
  const world = worldSchema.parse({
    run: "20s",
    strata: [{ class: "activation", bytes: "1MiB", period: "20ms", touches: 4, writes: 0.25, spacing: "2ms" }],
  });
  const { input: seen } = tryWorld(describedWorld(world).make(seededRandom(7)), 7);
  const points = estimate(seen, placeIndex(seen.regions)).curves.filter(
    ({ curve, source }) => source === "watch" && (curve === "read_rate" || curve === "write_rate"),
  );
  expect(points.length).toBeGreaterThan(3);
  for (const { n, y, ci_high } of points) if (n < 85n) expect([n, y, ci_high]).toEqual([n, null, null]);
});

test("a bin of time with few samples holds the rate of which so few may come by chance", () => {
  const random = seededRandom(3);
  const [blocks, period, perBlock] = [800, 1000, 0.25];
  // Each access is one of many that may be sampled: so many of a hundred in a block.
  const loads = Float64Array.from({ length: blocks }, () => {
    let samples = 0;
    for (let i = 0; i < 100; i++) if (random() < perBlock / 100) samples += 1;
    return samples * period;
  });
  const rows = loads.reduce((sum, one) => sum + one, 0) / period;
  const window_ns = blocks * 100 * MS;
  const seen = input({
    window_ns,
    regions: [region({ region_type: "activation", death_ns: window_ns })],
    accessSums: [
      {
        ...{ region_type: "activation", mapping_kind: null, step: "none", source: "ibs", period_known: true },
        ...{ loads, stores: new Float64Array(blocks), block_ns: 100 * MS, blocks_from_ns: 0 },
        ...{ rows, load_rows: rows, store_rows: 0, seen: [], written: [] },
      },
    ],
  });
  const points = estimate(seen, placeIndex(seen.regions)).curves.filter(
    ({ curve, source }) => curve === "read_rate" && source === "ibs",
  );
  expect(points.length).toBe(100);
  const truth = perBlock * period * 10;
  const held = points.filter(({ ci_low, ci_high }) => (ci_low ?? 0) <= truth && truth <= (ci_high ?? 0));
  expect(held.length).toBeGreaterThanOrEqual(92);
});
