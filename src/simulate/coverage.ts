/** Many runs of one kind of world: how far the figures are from the truth, and how often their intervals hold it. */
import type { MetricRow } from "../analyse/figures/metric-row.ts";
import { eachGroup, type Group, groupsOf } from "../analyse/input/group.ts";
import { type Span, type StepName, spansOf } from "../analyse/input/span.ts";
import type { MetricFamily } from "../analyse/metrics/metric.ts";
import { nextUse, stillNeeded } from "../analyse/metrics/next-times.ts";
import { figuresOf, METRICS } from "../analyse/metrics/registry.ts";
import { passGapNs } from "../analyse/watched/passes.ts";
import { collectAfter } from "../columnar/collect-after.ts";
import type { RegionType } from "../schema/words.ts";
import { seededRandom } from "../statistics/prng.ts";
import { withoutNumbers } from "../units.ts";
import { truthOf, truthOfSteps, truthWithin } from "./reference.ts";
import { tryWorld } from "./trial.ts";
import type { Truth } from "./true-quantiles.ts";
import { type Policy, USUAL_POLICY, type World, type WorldKind, type WorldStratum } from "./world.ts";

/** What many runs said of one metric of one class in one world. */
export interface CoverageRow {
  readonly world: string;
  /** Where the figure comes from: watch, step, ... */
  readonly source: string;
  readonly region_type: RegionType;
  readonly metric: string;
  /** `generation` where steps are known, `all` where the run is looked at as if none were. */
  readonly phase: Span["phase"];
  /** `all` is the whole of a phase. */
  readonly step: StepName;
  readonly unit: string;
  readonly runs: number;
  readonly ok: number;
  readonly bound: number;
  /** Runs that refused: insufficient or not identifiable. */
  readonly refused: number;
  /** Of the runs that said ok: those whose interval holds the truth, and the median of value over truth; null where that is none. */
  readonly held: number;
  readonly ratio: number | null;
  /** Median of half of the interval over the truth. */
  readonly half_width: number | null;
  /** Of the runs that gave a bound: those whose bound is right. */
  readonly right: number;
  /** Medians over the runs in which the world has such a truth; null where it has none. Infinity: longer than the run. */
  readonly truth: Truth | null;
  /** Medians over the runs that said ok, and over those that gave a bound. */
  readonly medians: Ends & { readonly value: number | null };
  readonly bounds: Ends;
  /** The reason that most of the runs gave that did not say ok, with the numbers of one of them. */
  readonly why: string | null;
}

interface Ends {
  readonly lo: number | null;
  readonly hi: number | null;
}

/** Times are written as whole ns. */
const ROUNDING = 1e-6;
/** Separates the worlds of a seed from its draws. */
export const WORLD_STREAM = 77;

/** What one run said, and what is true in it. */
export interface Answer {
  readonly row: MetricRow;
  readonly real: Truth | null;
  /** True where what it said is true. */
  readonly isTrue: boolean;
}

const median = (values: readonly number[]): number | null =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? null;

const medianOf = (rows: readonly MetricRow[], end: "value" | "lo" | "hi"): number | null =>
  median(rows.flatMap((row) => row[end] ?? []));

/** The first of those that are alike but for their numbers, which are each run's own. */
function mostFrequent(texts: readonly (string | null)[]): string | null {
  const alike = Map.groupBy(
    texts.flatMap((text) => text ?? []),
    withoutNumbers,
  );
  return [...alike.values()].sort((a, b) => b.length - a.length)[0]?.[0] ?? null;
}

/** Holds a figure against what is true. */
export function answerOf(row: MetricRow, real: Truth | null): Answer {
  // What a world has none of cannot be held.
  const isTrue =
    real !== null &&
    (row.lo ?? Number.NEGATIVE_INFINITY) <= real.hi * (1 + ROUNDING) &&
    real.lo * (1 - ROUNDING) <= (row.hi ?? Number.POSITIVE_INFINITY);
  return { row, real, isTrue };
}

type TruthByMetric = ReadonlyMap<string, Truth | null>;

/** The figures of a group by those families of which a figure has a truth to be held against. */
function judgedRows(group: Group, families: readonly MetricFamily[], truth: TruthByMetric | undefined): MetricRow[] {
  return figuresOf(
    group,
    families.filter(({ metrics }) => metrics.some(({ name }) => truth?.has(name))),
  );
}

/** The figures of watches in one run, with their truth: of the whole run as if no step were known, and of its generation and steps where it has any. */
function answersOf(
  described: World,
  seed: number,
  policy: Policy,
  families: readonly MetricFamily[],
): Map<string, Answer> {
  const gapNs = passGapNs(policy.trap_ns);
  const { world, input } = tryWorld(described, seed, policy);
  const classes = [...Map.groupBy(world.strata, ({ region_type }) => region_type)];
  const answers = new Map<string, Answer>();
  const add = (groups: readonly Group[], truthOfClass: (strata: readonly WorldStratum[]) => TruthByMetric): void => {
    const truths = new Map(classes.map(([name, strata]) => [name as string, truthOfClass(strata)]));
    for (const row of groups.flatMap((group) => judgedRows(group, families, truths.get(group.region_type)))) {
      const truth = truths.get(row.region_type);
      if (row.source !== "watch" || !truth?.has(row.metric)) continue;
      if (row.metric === "write_once_ratio" && row.grain_bytes !== 8) continue;
      answers.set(
        `${row.region_type}/${row.phase}/${row.step}/${row.metric}`,
        answerOf(row, truth.get(row.metric) ?? null),
      );
    }
  };
  const perByte = families.includes(nextUse) || families.includes(stillNeeded);
  add(groupsOf({ ...input, steps: [] }), (strata) => truthOf(strata, world.run_ns, gapNs, perByte));
  const spans = spansOf(world.steps, world.run_ns);
  const isWhole = ({ phase, step }: Span): boolean => phase === "generation" && step === "all";
  const isDecode = ({ step }: Span): boolean => step === "decode";
  const [generation, decode] = [spans.find(isWhole), spans.find(isDecode)];
  if (generation === undefined) return answers;
  const inSpans = [...eachGroup(input, ({ span }) => isWhole(span) || isDecode(span))];
  const piece = [generation.begin_ns[0] ?? 0, generation.end_ns[0] ?? 0] as const;
  add(
    inSpans.filter(({ span }) => isWhole(span)),
    (strata) => truthWithin(strata, piece, gapNs),
  );
  if (decode !== undefined) {
    add(
      inSpans.filter(({ span }) => isDecode(span)),
      (strata) => truthOfSteps(strata, decode, gapNs),
    );
  }
  return answers;
}

/** What all answers to one question say together; nothing where there are none. */
export function summary(world: string, answers: readonly Answer[]): CoverageRow[] {
  const [first] = answers;
  if (first === undefined) return [];
  const { source, region_type, metric, phase, step, unit } = first.row;
  const ok = answers.filter(({ row }) => row.status === "ok" && row.value !== null);
  const bound = answers.filter(({ row }) => row.status === "bound");
  const others = answers.filter((answer) => !ok.includes(answer));
  const reals = answers.flatMap(({ real }) => real ?? []);
  const near = ok.flatMap(({ row: { value, lo, hi }, real }) => {
    if (value === null || real === null) return [];
    const nearest = Math.min(Math.max(value, real.lo), real.hi);
    return Number.isFinite(nearest) && nearest > 0
      ? [{ ratio: value / nearest, width: ((hi ?? value) - (lo ?? value)) / 2 / nearest }]
      : [];
  });
  const rowsOk = ok.map(({ row }) => row);
  const rowsBound = bound.map(({ row }) => row);
  return [
    {
      world,
      source,
      region_type: region_type as RegionType,
      metric,
      phase,
      step,
      unit,
      runs: answers.length,
      ok: ok.length,
      bound: bound.length,
      refused: answers.length - ok.length - bound.length,
      held: ok.filter(({ isTrue }) => isTrue).length,
      right: bound.filter(({ isTrue }) => isTrue).length,
      ratio: median(near.map(({ ratio }) => ratio)),
      half_width: median(near.map(({ width }) => width)),
      truth:
        reals.length === 0
          ? null
          : {
              lo: median(reals.map(({ lo }) => lo)) ?? Number.NaN,
              hi: median(reals.map(({ hi }) => hi)) ?? Number.NaN,
            },
      medians: { value: medianOf(rowsOk, "value"), lo: medianOf(rowsOk, "lo"), hi: medianOf(rowsOk, "hi") },
      bounds: { lo: medianOf(rowsBound, "lo"), hi: medianOf(rowsBound, "hi") },
      why: mostFrequent(others.map(({ row }) => row.why)),
    },
  ];
}

const accessesOf = ({ strata }: World): number =>
  strata.reduce((all, { words }) => words.reduce((sum, { time_ns }) => sum + time_ns.length, all), 0);

/** Accesses of worlds that are used no longer: some 50 MB of arrays, which lie outside of the heap. */
const ACCESSES = 4e6;

/** What holds less often falls short, unless it does by the chance of some dozen runs: more tell. */
const LEAST_HELD = 0.9;
const LEAST_RIGHT = 0.97;

const isDoubtful = ({ ok, held, bound, right }: CoverageRow): boolean =>
  held < LEAST_HELD * ok || right < LEAST_RIGHT * bound;

/** How many runs, and of which seeds: from `first` on, 1 by default. */
export interface Runs {
  readonly seeds: number;
  /** Runs of a world of which a row is in doubt after `seeds`; as many by default. */
  readonly most?: number;
  readonly first?: number;
  /** Families whose figures are judged; all by default. */
  readonly families?: readonly MetricFamily[];
}

/** Runs a world with some seeds, and with more where one of its rows is then in doubt; rows in the order of the metrics. */
export function coverageOf(
  kind: WorldKind,
  { seeds, most = seeds, first = 1, families = METRICS }: Runs,
  policy: Policy = USUAL_POLICY,
  onRun: (done: number) => void = () => {},
): CoverageRow[] {
  const all = new Map<string, Answer[]>();
  const rows = (): CoverageRow[] => [...all.values()].flatMap((answers) => summary(kind.name, answers));
  const simulated = collectAfter(ACCESSES);
  for (let seed = first; seed < first + most; seed++) {
    if (seed === first + seeds && !rows().some(isDoubtful)) break;
    const world = kind.make(seededRandom(seed, WORLD_STREAM));
    simulated(accessesOf(world));
    for (const [key, answer] of answersOf(world, seed, policy, families)) {
      const list = all.get(key);
      if (list) list.push(answer);
      else all.set(key, [answer]);
    }
    onRun(seed - first + 1);
  }
  return rows();
}
