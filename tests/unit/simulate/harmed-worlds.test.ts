import { describe, expect, test } from "bun:test";
import { groupsOf } from "../../../src/analyse/input/group.ts";
import { lostPct } from "../../../src/schema/loss.ts";
import { OP } from "../../../src/schema/operation.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import type { WordTrace, World } from "../../../src/simulate/world.ts";

const MS = 1e6;
const RUN_NS = 6000 * MS;
const TURN_NS = 400 * MS;

function used(op: number, period: number, from: number, until: number): WordTrace {
  const time_ns = Float64Array.from(
    { length: Math.floor((until - from) / period) },
    (_, i) => from + (i + 0.5) * period,
  );
  return { time_ns, op: new Uint8Array(time_ns.length).fill(op) };
}

/** One place that a cache has, which is read alone, and runtime memory, which is written alone, by turns. */
const TURNS: World = {
  run_ns: RUN_NS,
  token_period_ns: null,
  steps: [],
  map_lag_ns: 30 * MS,
  strata: Array.from({ length: RUN_NS / TURN_NS }, (_, turn) => {
    const [born, freed] = [turn * TURN_NS, (turn + 1) * TURN_NS - 15 * MS];
    const name = turn % 2 === 0 ? "kv_cache" : "runtime";
    const word = used(...(turn % 2 === 0 ? ([OP.load, 20 * MS] as const) : ([OP.store, 2 * MS] as const)), born, freed);
    const words = Array.from({ length: 50 }, () => word);
    return { stratum: name, region_type: name, words, life_ns: [born, freed], place: 0 };
  }),
};

test("memory at addresses that another class had has none of that class's accesses, however late the tracer hears of it", () => {
  const { input } = tryWorld(TURNS, 1);
  const late = input.watches.filter(({ stratum, region_type }) => stratum !== region_type);
  const beyond = input.watches.filter(
    ({ hit_ns, region_death_ns }) => (hit_ns.at(-1) ?? 0) > (region_death_ns ?? RUN_NS),
  );
  expect(late.length).toBeGreaterThan(0);
  expect(beyond.length).toBeGreaterThan(0);
  const passes = (type: string) =>
    groupsOf(input)
      .find(({ region_type }) => region_type === type)
      ?.every.exposures.map(({ passes }) => passes) ?? [];
  expect(passes("kv_cache").length).toBeGreaterThan(20);
  expect(
    passes("kv_cache")
      .flatMap(({ writes }) => [...writes])
      .some((writes) => writes > 0),
  ).toBe(false);
  expect(
    passes("runtime")
      .flatMap(({ reads }) => [...reads])
      .some((reads) => reads > 0),
  ).toBe(false);
});

describe("traps that the ring does not keep", () => {
  const word = used(OP.load, 5 * MS, 0, RUN_NS);
  const world: World = {
    run_ns: RUN_NS,
    token_period_ns: null,
    steps: [],
    strata: [{ stratum: "weight", region_type: "weight", words: Array.from({ length: 100 }, () => word) }],
  };
  const whole = tryWorld(world, 1);
  const lossy = tryWorld({ ...world, lost_ns: [[2000 * MS, 2100 * MS]] }, 1);

  test("are counted, and their watches tell nothing", () => {
    expect(lostPct(whole.input.ledger, "watch")).toBe(0);
    expect(lostPct(lossy.input.ledger, "watch") ?? 0).toBeWithin(0.5, 5);
    expect(lossy.summary.counts.incomplete).toBeGreaterThan(0);
    expect(lossy.input.watches.length).toBe(lossy.summary.counts.armings - lossy.summary.counts.incomplete);
    const during = lossy.input.watches
      .flatMap(({ hit_ns }) => [...hit_ns])
      .filter((t) => t >= 2000 * MS && t < 2100 * MS);
    expect(during).toEqual([]);
  });
});
