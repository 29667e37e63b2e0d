/**
 * What `--check-invariance` says: figures that watching does not move are not marked, whatever the work does by itself, and
 * those of work that a budget slows down are, with what they would be unwatched. Seeds are fixed, so the outcome is too.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { type Invariance, invarianceOf, type Turns } from "../../../src/analyse/watched/invariance.ts";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { OP } from "../../../src/schema/operation.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";
import { type Trial, tryWorld } from "../../../src/simulate/trial.ts";
import { USUAL_POLICY, type World } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

setDefaultTimeout(60_000);

const RUN_S = 30;
const POLICY = { ...USUAL_POLICY, by_turns: true };
const STRATUM = { class: "activation", bytes: "64MiB", period: "20ms", uneven: 0.3 };

const turnsOf = ({ summary }: Trial): Turns =>
  (summary.budget.turns ?? []).map(({ begin_ns, budget_pct }) => ({ begin_ns: Number(begin_ns), budget_pct }));

function invarianceIn(world: World, seed: number): Invariance {
  const trial = tryWorld(world, seed, POLICY);
  const found = invarianceOf(trial.input, computeMetrics(trial.input), turnsOf(trial));
  if (found === null) throw new Error("too few turns");
  return found;
}

const WORLDS: [name: string, world: object][] = [
  ["work that rests for as long as it is busy, 1 s", { strata: [STRATUM], busy: "1s", idle: "1s" }],
  ["a buffer that is rewritten", { strata: [{ ...STRATUM, touches: 4, writes: 0.25 }] }],
];
const SEEDS = 3;

describe("budgets by turns", () => {
  test("have as many watches each, and turns of uneven length", () => {
    const world = describedWorld(worldSchema.parse({ run: RUN_S, strata: [STRATUM] })).make(seededRandom(1));
    const trial = tryWorld(world, 1, POLICY);
    const turns = turnsOf(trial);
    expect(new Set(turns.map(({ budget_pct }) => budget_pct))).toEqual(new Set([1, 0.25]));
    const lengths = turns.slice(1).map(({ begin_ns }, i) => begin_ns - (turns[i]?.begin_ns ?? 0));
    expect(new Set(lengths).size).toBe(lengths.length);
    const whole = trial.input.watches.filter(({ begin_ns }) => {
      return turns.findLast((turn) => turn.begin_ns <= begin_ns)?.budget_pct === 1;
    });
    expect(whole.length / trial.input.watches.length).toBeWithin(0.35, 0.65);
  });

  test("mark next to nothing where watching moves nothing", () => {
    const marks: boolean[] = [];
    for (const [, described] of WORLDS) {
      const kind = describedWorld(worldSchema.parse({ ...described, run: RUN_S }));
      for (let seed = 1; seed <= SEEDS; seed++) {
        const { figures, turns } = invarianceIn(kind.make(seededRandom(seed, 77)), seed);
        expect(turns).toBeGreaterThan(15);
        for (const { differs, whole, reduced } of figures) {
          marks.push(differs);
          expect([whole.n, reduced.n].every((n) => n >= 30)).toBe(true);
        }
      }
    }
    expect(marks.length).toBeGreaterThan(20);
    expect(marks.filter(Boolean).length / marks.length).toBeLessThan(0.1);
  });

  test("mark what a budget slows down, and say what it would be unwatched", () => {
    // 40 % slower at 1 %, 10 % at a quarter of that: nothing at none.
    const pace = new Map([
      [1, 0.6],
      [0.25, 0.9],
    ]);
    const perSecond = 150;
    const idle: World = { run_ns: RUN_S * 1e9, token_period_ns: null, steps: [], strata: [] };
    let marked = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      // When turns begin depends on the seed alone.
      const turns = turnsOf(tryWorld(idle, seed, POLICY));
      const begins: number[] = [];
      for (let now = 0; now < idle.run_ns; ) {
        begins.push(now);
        const budget = turns.findLast(({ begin_ns }) => begin_ns <= now)?.budget_pct ?? 1;
        now += 1e9 / (perSecond * (pace.get(budget) ?? 1));
      }
      const random = seededRandom(seed);
      const words = Array.from({ length: 400 }, () => {
        const place = 5e6 * random();
        const time_ns = Float64Array.from(begins, (begin) => begin + place).filter((time) => time < idle.run_ns);
        return { time_ns, op: new Uint8Array(time_ns.length).fill(OP.load) };
      });
      const stratum = { stratum: "activation", region_type: "activation", words, repeats: 1000 } as const;
      const { figures } = invarianceIn({ ...idle, strata: [stratum] }, seed);
      const rate = figures.find(({ metric }) => metric === "read_bytes_per_s");
      if (rate?.differs === true) marked += 1;
      expect(rate?.difference.value).toBeLessThan(0);
      // Watches look a little into the next turn, so that less than the whole effect is seen.
      expect((rate?.unwatched.value ?? 0) / (8 * 400_000 * perSecond)).toBeWithin(0.9, 1.1);
      expect(rate?.unwatched.value ?? 0).toBeGreaterThan(rate?.reduced.value ?? 0);
    }
    expect(marked).toBe(SEEDS);
  });

  test("say nothing of a run with few turns", () => {
    const world = describedWorld(worldSchema.parse({ run: 5, strata: [STRATUM] })).make(seededRandom(1));
    const trial = tryWorld(world, 1, POLICY);
    expect(invarianceOf(trial.input, computeMetrics(trial.input), turnsOf(trial))).toBeNull();
  });
});
