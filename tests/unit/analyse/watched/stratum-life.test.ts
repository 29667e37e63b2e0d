import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { spansOf } from "../../../../src/analyse/input/span.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { sharesOfTurns, stratumLives } from "../../../../src/analyse/watched/stratum-life.ts";
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
  const all = [...draws("a", 0, 300 * MS), ...draws("b", 200 * MS, null)];
  const lives = stratumLives(all, regions, span);
  expect(lives("a")).toMatchObject({ share: expect.closeTo(0.4, 9), error: 0 });
  expect(lives("b")).toMatchObject({ share: expect.closeTo(0.8, 9), error: 0 });
  // By the turns the region on which no draw fell is not of the first; what its draws show is the least.
  const byTurns = stratumLives(all, regions, span, (stratum) => (stratum === "a" ? 0.2 : 0.8));
  expect(byTurns("a")).toMatchObject({ share: expect.closeTo(0.3, 9), pieces: [[0, 300 * MS]] });
  expect(byTurns("a").error).toBeCloseTo(1 / Math.sqrt(60), 9);
});

test("turns tell in which share of the time each stratum could have been drawn", () => {
  if (span === undefined) throw new Error("no span");
  // The first is there alone for 400 ms, then both have a turn each by turns.
  const first = draws("a", 0, null, { draw_weight: 1 }).filter(({ begin_ns }) => begin_ns < 400 * MS);
  const both = draws("a", 400 * MS, null, { draw_weight: 0.5 });
  const second = both.map((watch, i) => ({ ...watch, stratum: i % 2 === 0 ? "a" : "b" })).slice(0, 36);
  const shares = sharesOfTurns([...first, ...second], span, () => 1);
  expect(shares("a")).toBeCloseTo(1, 9);
  expect(shares("b")).toBeCloseTo(0.6, 9);
  expect(shares("c")).toBeNull();
});

test("where memory is there by turns each draw stands for the time of its own turn, not for that without any", () => {
  // 24,000 bytes for 50 draws and 8,000 for 10 in the first 100 ms, and 8,000 in the last 100 ms.
  const large = { stratum_bytes: 24_000, inclusion_probability: 1 / 3000 };
  const first = draws("s", 0, 100 * MS).map((watch, i) => (i < 50 ? { ...watch, ...large } : watch));
  const watches = [...first, ...draws("s", 900 * MS, null)];
  const regions = [region({ death_ns: 100 * MS, size_bytes: 24_000 }), region({ addr: 1n << 20n, birth_ns: 900 * MS })];
  const bytes = groupOf({ watches, regions }, "activation")?.uniform.weights.total_bytes ?? 0;
  const mean = ((50 * 24_000 + 10 * 8000) / 60 + 8000) / 2;
  expect(bytes / (0.2 * mean)).toBeWithin(0.97, 1.03);
});

test("draws that fell on another class, as the memory had changed, stand for what of the stratum is of that class", () => {
  // 60 draws of the cache; 6 of them found runtime memory, which has a stratum of its own.
  const cache = draws("kv_cache", 0, null, { region_type: "kv_cache" });
  const late = draws("kv_cache", 0, null, { region_type: "runtime" }).slice(0, 6);
  const given = { watches: [...cache.slice(6), ...late, ...draws("runtime", 0, null, { region_type: "runtime" })] };
  expect(groupOf(given, "runtime")?.uniform.weights.total_bytes).toBeCloseTo(8000 + 800, 6);
  expect(groupOf(given, "kv_cache")?.uniform.weights.total_bytes).toBeCloseTo(7200, 6);
});

test("a part that was seen to be used more than the rest was so since then, or always: its time is between both", () => {
  const regions = groupOf({ watches: draws("a", 0, null), regions: [region()] }, "activation")?.regions;
  if (span === undefined || regions === undefined) throw new Error("no regions");
  const all = [...draws("a", 0, null), ...draws("a/sampled", 0, null).filter(({ begin_ns }) => begin_ns > 400 * MS)];
  const lives = stratumLives(all, regions, span, (stratum) => (stratum === "a" ? 1 : 0.6));
  expect(lives("a")).toMatchObject({ share: expect.closeTo(1, 9), error: 0 });
  expect(lives("a/sampled")).toMatchObject({ share: expect.closeTo(0.8, 9), error: expect.closeTo(0.25, 9) });
  const always = stratumLives(all, regions, span, () => 1);
  expect(always("a/sampled")).toMatchObject({ share: expect.closeTo(1, 9), error: 0 });
});

/** Mapped in the whole run, with pages in the first half: of each two turns one is its, until nothing of it is in memory and the other has all. */
function halfEmpty(bytes: number, mapped: number) {
  const place = { region_type: "unknown", mapping_kind: "anon" } as const;
  const turns = Array.from({ length: 240 }, (_, i) => i);
  const watches = turns.map((i) => {
    const begin_ns = (1000 * MS * (i + 0.5)) / 240;
    const mine = i < 120 && i % 2 === 0;
    const hits = mine ? [0.1, 0.3, 0.5, 0.7].map((ms) => [begin_ns + ms * MS, "load"] as const) : [];
    return watch(hits, {
      watch_id: i + 1,
      stratum: mine ? "unknown/anon" : "unknown/file",
      ...place,
      mapping_kind: mine ? "anon" : "file",
      draw_weight: i < 120 ? 0.5 : 1,
      stratum_bytes: bytes,
      inclusion_probability: 8 / bytes,
      begin_ns,
      end_ns: begin_ns + MS,
      dwell_limit_ns: MS,
    });
  });
  return { watches, regions: [region({ size_bytes: mapped, ...place })] };
}
const rowsOf = (given: Parameters<typeof input>[0]) =>
  groupsOf(input(given)).find(({ mapping_kind }) => mapping_kind === "anon");

test("memory that is mapped all the time, and in memory for half of it, counts by the turns that found something", () => {
  const { total_bytes } = rowsOf(halfEmpty(8000, 8000))?.uniform.weights ?? {};
  expect(total_bytes).toBeWithin(0.49 * 8000, 0.52 * 8000);
  const row = computeMetrics(input(halfEmpty(8000, 8000))).find(
    ({ metric, mapping_kind }) => metric === "read_bytes_per_s" && mapping_kind === "anon",
  );
  // Four times in each ms, over half of the time.
  expect(row?.lo ?? 0).toBeLessThan(16e6);
  expect(row?.hi ?? Number.POSITIVE_INFINITY).toBeGreaterThan(16e6);
});

test("where next to nothing of it is in memory a turn may miss what is there, so that its time is open", () => {
  const set = rowsOf(halfEmpty(8000, 80_000_000))?.uniform;
  expect(set?.weights.total_bytes).toBeWithin(0.7 * 8000, 0.8 * 8000);
  expect(set?.bytes_error()).toBeGreaterThan(0.3);
});
