import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { spansOf } from "../../../../src/analyse/input/span.ts";
import { stratumLives } from "../../../../src/analyse/watched/stratum-life.ts";
import { input, MS, region, watch } from "../sample-input.ts";

const [span] = spansOf([], 1000 * MS);
/** 60 watches of memory that lives from one moment to another. */
const draws = (stratum: string, born: number, freed: number | null, over: Parameters<typeof watch>[1] = {}) =>
  Array.from({ length: 60 }, (_, i) => {
    const begin_ns = born + (((freed ?? 1000 * MS) - born) * i) / 60;
    const life = { region_birth_ns: born, region_death_ns: freed };
    return watch([], {
      watch_id: i + 1,
      stratum,
      begin_ns,
      end_ns: begin_ns + MS,
      dwell_limit_ns: MS,
      ...life,
      ...over,
    });
  });
const groupOf = (given: Parameters<typeof input>[0], type: string) =>
  groupsOf(input(given)).find(({ region_type }) => region_type === type);

test("the bytes of a stratum are its mean over the span: it has none before its memory comes", () => {
  const watches = draws("s", 600 * MS, null);
  const group = groupOf({ watches, regions: [region({ birth_ns: 600 * MS })] }, "activation");
  expect(group?.uniform.weights.total_bytes).toBeCloseTo(0.4 * 8000, 6);
});

test("without regions, or where memory was there before and stays, it has them all the time", () => {
  const watches = draws("s", 0, null);
  expect(groupOf({ watches }, "activation")?.uniform.weights.total_bytes).toBeCloseTo(8000, 6);
  expect(groupOf({ watches, regions: [region()] }, "activation")?.uniform.weights.total_bytes).toBeCloseTo(8000, 6);
});

test("each stratum has the time of the regions that its watches fell on, and of those that none fell on", () => {
  const regions = groupOf(
    {
      watches: draws("a", 0, 300 * MS),
      regions: [region({ death_ns: 300 * MS }), region({ addr: 1n << 20n, birth_ns: 800 * MS, death_ns: 900 * MS })],
    },
    "activation",
  )?.regions;
  if (span === undefined || regions === undefined) throw new Error("no regions");
  const lives = stratumLives([...draws("a", 0, 300 * MS), ...draws("b", 200 * MS, null)], regions, span);
  expect(lives("a")).toBeCloseTo(0.4, 9);
  expect(lives("b")).toBeCloseTo(0.8, 9);
});

test("draws that fell on another class, as the memory had changed, stand for what of the stratum is of that class", () => {
  // 60 draws of the cache; 6 of them found runtime memory, which has a stratum of its own.
  const cache = draws("kv_cache", 0, null, { region_type: "kv_cache" });
  const late = draws("kv_cache", 0, null, { region_type: "runtime" }).slice(0, 6);
  const given = { watches: [...cache.slice(6), ...late, ...draws("runtime", 0, null, { region_type: "runtime" })] };
  expect(groupOf(given, "runtime")?.uniform.weights.total_bytes).toBeCloseTo(8000 + 800, 6);
  expect(groupOf(given, "kv_cache")?.uniform.weights.total_bytes).toBeCloseTo(7200, 6);
});
