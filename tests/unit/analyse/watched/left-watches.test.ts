import { expect, test } from "bun:test";
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { AnalysisInput } from "../../../../src/analyse/input/input.ts";
import { figuresOf, METRICS } from "../../../../src/analyse/metrics/registry.ts";
import { lostShare } from "../../../../src/analyse/watched/lost-watches.ts";
import { moreTime } from "../../../../src/analyse/watched/more-time.ts";
import { passGapNs } from "../../../../src/analyse/watched/passes.ts";
import { unwatchedShare } from "../../../../src/analyse/watched/unwatched.ts";
import { watchSieve } from "../../../../src/label/capture/drawn-watches.ts";
import type { LedgerRow } from "../../../../src/schema/ledger.ts";
import { OP } from "../../../../src/schema/operation.ts";
import { answerOf } from "../../../../src/simulate/coverage.ts";
import { truthOf } from "../../../../src/simulate/reference.ts";
import { tryWorld } from "../../../../src/simulate/trial.ts";
import type { WordTrace, World } from "../../../../src/simulate/world.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

const MS = 1e6;
const RUN_NS = 200_000 * MS;
const random = seededRandom(9);

/** Used now and then, in the mean once in `mean`; every so many times it is written. */
function word(mean: number, each: number): WordTrace {
  const times: number[] = [];
  for (let time = mean * random(); time < RUN_NS; time += mean * (0.5 + random())) times.push(time);
  return {
    time_ns: Float64Array.from(times),
    op: Uint8Array.from(times, (_, i) => (i % each === 0 ? OP.store : OP.load)),
  };
}

const WORLD: World = {
  run_ns: RUN_NS,
  token_period_ns: null,
  steps: [],
  strata: (["weight", "kv_cache"] as const).map((name, s) => ({
    stratum: name,
    region_type: name,
    words: Array.from({ length: 60 }, (_, i) => word((10 + i / 2) * MS, s === 0 ? 20 : 3)),
  })),
};
const { input: whole } = tryWorld(WORLD, 1);
const inOrder = whole.watches.toSorted((a, b) => a.begin_ns - b.begin_ns);

/** The run with a third of its watches. */
function thinned(seed: number): AnalysisInput {
  const isTaken = watchSieve(seed, 1 / 3);
  const taken = new Set(inOrder.filter(isTaken));
  const left_watches = inOrder.filter((watch) => !taken.has(watch));
  return { ...whole, watches: whole.watches.filter((watch) => taken.has(watch)), left_watches };
}

type Told = MetricRow & { readonly value: number; readonly lo: number; readonly hi: number };
const isTold = (row: MetricRow): row is Told =>
  row.status === "ok" && row.value !== null && row.lo !== null && row.hi !== null && row.hi > row.lo;
/** The figures of watches that are told with an interval, by class, metric and block. */
const toldOf = (input: AnalysisInput): Map<string, Told> =>
  new Map(
    groupsOf(input)
      .flatMap((group) => figuresOf(group, METRICS))
      .filter(({ source }) => source === "watch")
      .filter(isTold)
      .map((row) => [`${row.region_type}/${row.metric}/${row.grain_bytes}`, row]),
  );

const parts = [1, 2, 3, 4].map(thinned);
const ofParts = parts.map(toldOf);

test("what a third of the watches tells holds what all of them tell, less sharply", () => {
  const ofAll = toldOf(whole);
  for (const { watches } of parts) expect(watches.length / whole.watches.length).toBeWithin(0.31, 0.35);
  const both = ofParts.flatMap((told) =>
    [...told].flatMap(([key, row]) => {
      const same = ofAll.get(key);
      return same === undefined ? [] : [{ row, same }];
    }),
  );
  const held = both.filter(({ row, same }) => row.lo <= same.value && same.value <= row.hi);
  const widths = Float64Array.from(both, ({ row, same }) => (row.hi - row.lo) / (same.hi - same.lo)).sort();
  expect(both.length).toBeGreaterThan(60);
  expect(held.length / both.length).toBeGreaterThan(0.93);
  // Of a third the root of three.
  expect(widths[widths.length >> 1]).toBeWithin(1.6, 1.9);
});

test("the truth of the world lies in them as often as in those of all", () => {
  const gapNs = passGapNs(whole.trap_cost_ns);
  const answers = ofParts
    .flatMap((told) => [...told.values()])
    .flatMap((row) => {
      const strata = WORLD.strata.filter(({ region_type }) => region_type === row.region_type);
      const real = truthOf(strata, RUN_NS, gapNs, false).get(row.metric);
      return real === undefined || real === null ? [] : [answerOf(row, real)];
    });
  expect(answers.filter(({ isTrue }) => isTrue).length / answers.length).toBeGreaterThan(0.93);
});

test("watches that were left are not lost, and looked all the time", () => {
  const part = thinned(1);
  const lossy: LedgerRow = {
    ...{ stream: "access", source: "watch", stage: "ring", way: null, pid: null, filtered: 0 },
    ...{ seen: 1000, kept: 999, dropped: 1, dropped_by: { ring_full: 1 }, unseen_estimate: null },
  };
  expect(lostShare({ ...part, ledger: [lossy] })).toBeCloseTo(0.001, 9);
  const [group] = groupsOf(part);
  expect(group?.uniform.lost).toBe(0);
  const [same] = groupsOf(whole);
  expect(group?.uniform.unwatched).toBe(same?.uniform.unwatched ?? Number.NaN);
  // A pause in which none of them began is one, however few were taken beside it.
  const isOutside = ({ begin_ns }: { readonly begin_ns: number }): boolean => begin_ns < 50e9 || begin_ns > 54e9;
  const span = group?.span;
  if (span === undefined) throw new Error("no class is there");
  const paused = { ...part, left_watches: part.left_watches?.filter(isOutside) ?? [] };
  expect(unwatchedShare(part.watches.filter(isOutside), span, paused)).toBeWithin(0.019, 0.022);
});

test("no longer run is advised where there is no memory for the watches of this one", () => {
  const part = thinned(3);
  const rows = groupsOf(part).flatMap((group) => figuresOf(group, METRICS));
  const { left_watches: _, ...alone } = part;
  expect(moreTime(alone, rows)).not.toBeNull();
  expect(moreTime(part, rows)).toBeNull();
});
