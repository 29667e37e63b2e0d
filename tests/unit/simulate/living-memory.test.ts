import { describe, expect, test } from "bun:test";
import { groupsOf } from "../../../src/analyse/input/group.ts";
import { underlookedShare } from "../../../src/analyse/watched/young-memory.ts";
import { OP } from "../../../src/schema/operation.ts";
import { truthOf } from "../../../src/simulate/reference.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import type { WordTrace, World } from "../../../src/simulate/world.ts";

const MS = 1e6;
const RUN_NS = 6000 * MS;
const LIFE_NS = 500 * MS;
const PERIOD_NS = 40 * MS;
const BIRTHS = Array.from({ length: 8 }, (_, k) => (100 + 700 * k) * MS);

/** A word that is written every 40 ms from one moment up to another, and read 4 ms later. */
function used(from: number, until: number, place: number): WordTrace {
  const time_ns: number[] = [];
  for (let t = from + place; t + 4 * MS < until; t += PERIOD_NS) time_ns.push(t, t + 4 * MS);
  return {
    time_ns: Float64Array.from(time_ns),
    op: Uint8Array.from(time_ns, (_, i) => (i % 2 === 0 ? OP.store : OP.load)),
  };
}

const ofWords = (from: number, until: number): WordTrace[] =>
  Array.from({ length: 50 }, (_, i) => used(from, until, (i / 50) * PERIOD_NS));

/** Half of the memory is there all the time, the other half comes anew for half a second, eight times. */
const WORLD: World = {
  run_ns: RUN_NS,
  token_period_ns: null,
  steps: [],
  strata: [
    { stratum: "activation", region_type: "activation", words: ofWords(0, RUN_NS) },
    ...BIRTHS.map((born) => ({
      stratum: "activation",
      region_type: "activation" as const,
      words: ofWords(born, born + LIFE_NS),
      life_ns: [born, born + LIFE_NS] as const,
    })),
  ],
};

describe("memory of a world that comes and goes", () => {
  const { input } = tryWorld(WORLD, 1);
  const [group] = groupsOf(input).filter(({ region_type }) => region_type === "activation");
  const passing = input.watches.filter(({ region_death_ns }) => region_death_ns !== null);

  test("is watched while it is there, and the free ends its watches", () => {
    expect(passing.length).toBeGreaterThan(20);
    for (const { begin_ns, end_ns, region_birth_ns, region_death_ns, ended_by } of passing) {
      const freed = region_birth_ns + LIFE_NS;
      expect(BIRTHS).toContain(region_birth_ns);
      expect(region_death_ns).toBe(freed);
      expect(begin_ns).toBeWithin(region_birth_ns, freed);
      expect(end_ns).toBeLessThanOrEqual(freed);
      if (ended_by === "unmap") expect(end_ns).toBe(freed);
    }
    expect(passing.some(({ ended_by }) => ended_by === "unmap")).toBe(true);
  });

  test("has what was last written needed up to its last read, and lives no longer", () => {
    const truth = truthOf(WORLD.strata, RUN_NS, 50_000);
    expect(truth.get("retention_p99_ns")).toEqual({ lo: 4 * MS, hi: 4 * MS });
    // Passes 4 and 36 ms apart by turns, and none after the last ones of a life.
    expect(truth.get("next_use_p50_ns")?.hi).toBeWithin(15 * MS, 20 * MS);
  });

  test("is looked at too little right after its birth, by half of a window for each birth", () => {
    if (group === undefined) throw new Error("no group");
    const set = group.uniform;
    const window = 50 * MS;
    const share = underlookedShare(set, new Float64Array(set.exposures.length).fill(window));
    // 25 of the 500 ms of each life of one half of the words, of which the other half are there for 6 s.
    const missing = (8 * 25) / (8 * 500 + 6000);
    expect(share).toBeWithin(0.4 * missing, 2.5 * missing);
    const lasting = { ...set, exposures: set.exposures.filter(({ watch }) => watch.region_death_ns === null) };
    expect(underlookedShare(lasting, new Float64Array(lasting.exposures.length).fill(window))).toBe(0);
  });
});

test("memory that comes and goes does so later where the program stands still, as all that is done to it", () => {
  const { world, input } = tryWorld({ ...WORLD, standstill_ns: 2 * MS }, 1);
  const [, ...lives] = world.strata;
  for (const [i, { life_ns: [born, freed] = [0, 0], words }] of lives.entries()) {
    expect(born).toBeGreaterThan((BIRTHS[i] ?? 0) + MS);
    for (const { time_ns } of words) {
      expect(time_ns[0]).toBeGreaterThanOrEqual(born);
      expect(time_ns.at(-1)).toBeLessThan(freed);
    }
  }
  const born = lives.map(({ life_ns }) => life_ns?.[0]);
  const passing = input.watches.filter(({ region_death_ns }) => region_death_ns !== null);
  expect(passing.length).toBeGreaterThan(20);
  for (const { begin_ns, hit_ns, region_birth_ns, region_death_ns } of passing) {
    expect(born).toContain(region_birth_ns);
    expect(begin_ns).toBeWithin(region_birth_ns, region_death_ns ?? 0);
    for (const time of hit_ns) expect(time).toBeLessThan(region_death_ns ?? 0);
  }
  expect([...input.regions.birth_ns].filter((time) => time > 0)).toEqual(born.map(Number));
});
