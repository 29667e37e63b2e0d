/** Memory of a described work that comes and goes. */
import { describe, expect, test } from "bun:test";
import { readWorldFile } from "../../../src/config/world-file.ts";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { OP } from "../../../src/schema/operation.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";
import { simulate } from "../../../src/simulate/simulate.ts";
import type { World, WorldStratum } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

const MS = 1e6;
const RUN_NS = 10e9;

function worldOf(blocks: object, stratum: object = {}, rest: object = {}): World {
  const described = worldSchema.parse({
    run: "10s",
    strata: [{ class: "activation", bytes: "1MiB", period: "10ms", blocks, ...stratum }],
    ...rest,
  });
  return describedWorld(described).make(seededRandom(1));
}
const lifeOf = ({ life_ns }: WorldStratum): readonly [number, number] => life_ns ?? [Number.NaN, Number.NaN];
const lengths = (world: World): number[] =>
  world.strata.map((stratum) => (lifeOf(stratum)[1] - lifeOf(stratum)[0]) / MS);
const placesOf = (world: World): Set<number | undefined> => new Set(world.strata.map(({ place }) => place));
/** Blocks that are there at a moment. */
const thereAt = ({ strata }: World, moment: number): WorldStratum[] =>
  strata.filter((stratum) => lifeOf(stratum)[0] <= moment && moment < lifeOf(stratum)[1]);

describe("blocks of a described world", () => {
  test("come as often and live as long as they were told to", () => {
    const world = worldOf({ every: "50ms", life: "200ms" });
    expect(world.strata.length).toBeWithin(203, 207);
    expect(new Set(lengths(world).map(Math.round))).toEqual(new Set([200]));
    // Four of them are there from the begin to the end.
    for (let moment = 0; moment < RUN_NS; moment += 13.3 * MS) expect(thereAt(world, moment)).toHaveLength(4);
    for (const { words, repeats = 0 } of world.strata)
      expect((words.length * repeats * 8) / 2 ** 20).toBeWithin(0.99, 1 + 1e-9);
  });

  test("are apart where they live for less than the time to the next one", () => {
    const world = worldOf({ every: "250ms", life: "200ms" });
    const gaps = world.strata.slice(1).map((stratum, i) => {
      const before = world.strata[i];
      return before === undefined ? 0 : Math.round((lifeOf(stratum)[0] - lifeOf(before)[1]) / MS);
    });
    expect(new Set(gaps)).toEqual(new Set([50]));
    expect(placesOf(world).size).toBe(1);
  });

  test("lie where one was freed, or at addresses of their own, and never where another is", () => {
    const lives = { every: "20ms", life: "200ms", uneven: 0.8 };
    const again = worldOf(lives);
    expect(placesOf(again).size).toBeWithin(10, 25);
    for (let moment = 0; moment < RUN_NS; moment += 7.7 * MS) {
      const there = thereAt(again, moment);
      expect(new Set(there.map(({ place }) => place)).size).toBe(there.length);
    }
    const anew = worldOf({ ...lives, reuse: false });
    expect(placesOf(anew).size).toBe(anew.strata.length);
  });

  test("of several strata lie apart from each other and from what stays", () => {
    const blocks = { every: "100ms", life: "300ms" };
    const strata = ["a", "b", "c"].map((name) => ({ name, class: "kv_cache", bytes: "1MiB", period: "10ms" }));
    const world = worldOf({}, {}, { strata: strata.map((one, i) => ({ ...one, ...(i === 1 ? {} : { blocks }) })) });
    const places = Map.groupBy(world.strata, ({ stratum }) => stratum);
    const all = [...places.values()].flatMap((mine) => [...new Set(mine.map(({ place }) => place))]);
    expect(places.get("b")).toHaveLength(1);
    expect([all.length > 6, new Set(all).size]).toEqual([true, all.length]);
  });

  test("are used from their begin to their end, first by a write, if any", () => {
    const world = worldOf({ every: "300ms", life: "200ms", uneven: 0.5 }, { writes: 0.01, touches: 2 });
    for (const stratum of world.strata) {
      const [born, freed] = lifeOf(stratum);
      for (const { time_ns, op } of stratum.words) {
        expect(time_ns.every((time) => time >= Math.max(0, born) && time < Math.min(RUN_NS, freed))).toBe(true);
        if (born >= 0 && freed < RUN_NS) {
          expect(time_ns.length).toBeWithin((0.19 * (freed - born)) / MS - 2, (0.21 * (freed - born)) / MS + 2);
          expect([...op].map((one) => one === OP.store)).toEqual([...op].map((_, i) => i % 100 === 0));
        }
      }
    }
  });

  test("which came before the run were written when they came", () => {
    const world = worldOf({ every: "1h", life: "2h" }, { writes: 1e-6 });
    expect(world.strata.length).toBeWithin(2, 4);
    for (const { words } of world.strata)
      for (const { time_ns, op } of words) expect([time_ns.length > 900, op.includes(OP.store)]).toEqual([true, false]);
  });

  test("come and are used while the work goes on", () => {
    const world = worldOf({ every: "10ms", life: "100ms" }, {}, { busy: "1s", idle: "3s", run: "40s" });
    const born = world.strata.map((stratum) => lifeOf(stratum)[0]).filter((time) => time >= 0);
    expect(born.length).toBeWithin(900, 1100);
    // Each phase of the work lasts for a second.
    const starts = born.filter((time, i) => time - (born[i - 1] ?? Number.NEGATIVE_INFINITY) > 2000 * MS);
    for (const time of born) expect(starts.some((start) => time >= start && time < start + 1000 * MS)).toBe(true);
  });

  test("come with each token where they come as often, those before the run as well", () => {
    const world = worldOf({ every: "20ms", life: "1s" }, { period: "20ms", uneven: 0.3 }, { token: "20ms" });
    const born = new Set(world.strata.map((stratum) => lifeOf(stratum)[0]));
    for (const { begin_ns } of world.steps) expect(born.has(Math.round(begin_ns))).toBe(true);
    expect(thereAt(world, 1).length).toBeWithin(48, 52);
    for (const stratum of world.strata) {
      const [begin, end] = lifeOf(stratum);
      const steps = world.steps.filter(({ begin_ns, end_ns }) => begin_ns >= begin && end_ns <= end);
      for (const { time_ns } of stratum.words)
        for (const { begin_ns, end_ns } of steps)
          expect(time_ns.filter((time) => time >= begin_ns && time < end_ns)).toHaveLength(1);
    }
  });

  test("are there between the moments that they were told", () => {
    const world = worldOf({ every: "50ms", life: "200ms" }, { from: "3s", until: "7s" });
    const lives = world.strata.map(lifeOf);
    expect([Math.min(...lives.map(([born]) => born)), Math.max(...lives.map(([, freed]) => freed))]).toEqual([
      expect.closeTo(3.025e9, -8),
      7e9,
    ]);
    expect(lives.length).toBeWithin(78, 82);
  });

  test("have so many hot words in all, however few words are in each", () => {
    const world = worldOf(
      { every: "10ms", life: "500ms" },
      { bytes: 80, hot: { share: 0.05, times: 10 }, period: "100ms" },
    );
    const whole = world.strata.filter((stratum) => lifeOf(stratum)[0] >= 0 && lifeOf(stratum)[1] <= RUN_NS);
    const counts = whole.flatMap(({ words }) => words.map(({ time_ns }) => time_ns.length));
    expect(counts.filter((count) => count >= 40).length / counts.length).toBeWithin(0.045, 0.055);
    expect(counts.filter((count) => count > 6 && count < 40)).toEqual([]);
  });

  test("are not used all at once when they come, however unlike their words are", () => {
    for (const unlike of [{}, { sigma: 0.5 }, { hot: { share: 0.5, times: 2 } }]) {
      const world = worldOf({ every: "200ms", life: "500ms" }, { period: "100ms", bytes: 320, ...unlike });
      const firsts = world.strata
        .filter((stratum) => lifeOf(stratum)[0] >= 0)
        .flatMap((stratum) => stratum.words.map(({ time_ns }) => ((time_ns[0] ?? 0) - lifeOf(stratum)[0]) / MS));
      expect(firsts.filter((ms) => ms < 1).length / firsts.length).toBeLessThan(0.05);
      expect(Math.min(...firsts)).toBeGreaterThanOrEqual(0);
    }
  });

  test("of more accesses than can be kept are refused, with what to change", () => {
    const make = (): World => worldOf({ every: "2ms", life: "1s" }, { period: "20us", touches: 100, spacing: "100ns" });
    expect(make).toThrow(expect.objectContaining({ code: "usage", hint: expect.stringContaining("blocks.every") }));
    expect(make).toThrow(/more than 10.0M: so many are kept in memory$/);
  });

  test("may be many", () => {
    const world = worldOf({ every: "1.02ms", life: "100ms" }, { period: "50ms", bytes: "64KiB" });
    expect(world.strata.length).toBeGreaterThan(9800);
    expect(world.strata[0]?.words.length).toBe(10);
  });
});

const EXAMPLE = new URL("../../../config/world-blocks.yaml", import.meta.url).pathname;

describe("the example of memory that comes and goes", () => {
  const { described } = readWorldFile(EXAMPLE);
  const { figures } = simulate({ ...described, run: 12e9 }, { seeds: 4 });
  const figureOf = (region_type: string, metric: string, step = "all") =>
    figures.find((figure) => figure.region_type === region_type && figure.metric === metric && figure.step === step);

  test("is true to its description", () => {
    // Each cache of 8 MiB is read once in a token of 20 ms; one comes every 600 ms and lives for 1.5 s.
    const perSecond = (8 * 2 ** 20 * (1.5 / 0.6)) / 0.02;
    expect((figureOf("kv_cache", "read_bytes_per_s")?.truth?.lo ?? 0) / perSecond).toBeWithin(0.8, 1.2);
    // A buffer is written once and read twice.
    const reads = figureOf("activation", "reads_per_write")?.truth?.lo ?? 0;
    expect(reads).toBeWithin(1.98, 2.02);
    expect(figureOf("activation", "write_once_ratio")?.truth?.lo ?? 0).toBeGreaterThan(0.98);
    expect(figureOf("kv_cache", "write_once_ratio")?.truth?.lo ?? 0).toBe(1);
  });

  test("tells figures of what comes and goes, which hold the truth", () => {
    const sum = (key: "ok" | "held" | "bound" | "right") => figures.reduce((all, figure) => all + figure[key], 0);
    expect([sum("ok"), sum("bound")].map((count) => count > 40)).toEqual([true, true]);
    expect(sum("held") / sum("ok")).toBeGreaterThanOrEqual(0.95);
    expect(sum("right") / sum("bound")).toBeGreaterThanOrEqual(0.97);
    expect(figureOf("kv_cache", "reads_per_byte_per_token", "decode")).toMatchObject({ refused: 0 });
  });
});
