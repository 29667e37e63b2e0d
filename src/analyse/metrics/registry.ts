/** THE list of metrics; each says what it is, how it is estimated, who can tell it and when it is held back. */

import { rowOf } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import { eachGroup, type Group } from "../input/group.ts";
import type { AnalysisInput } from "../input/input.ts";
import { workedOver } from "../input/worked-over.ts";
import { ALLOCATION } from "../process/allocation-figures.ts";
import { sampledRates } from "../sampled/sampled-rates.ts";
import { ageAtRead } from "./age-at-read.ts";
import { allocatedBytes } from "./allocated-bytes.ts";
import { allocatedTotal } from "./allocated-total.ts";
import { readBytesPerSecond, readsPerBytePerToken, writeBytesPerSecond, writesPerBytePerToken } from "./byte-rates.ts";
import { cpuTime } from "./cpu-time.ts";
import { hitsPerPass } from "./hits-per-pass.ts";
import { interAccessInterval } from "./inter-access-interval.ts";
import { lifetime } from "./lifetime.ts";
import { locality } from "./locality.ts";
import { type Figure, type MetricFamily, notIdentifiable } from "./metric.ts";
import { nextUse, stillNeeded } from "./next-times.ts";
import { pageFaults } from "./page-faults.ts";
import { readsPerWrite } from "./reads-per-write.ts";
import { residentBytes } from "./resident-bytes.ts";
import { residentMemory } from "./resident-memory.ts";
import { retention } from "./retention.ts";
import { reuseTime } from "./reuse-time.ts";
import { figuresTold } from "./shared-memory.ts";
import { suitability } from "./suitability.ts";
import { workingSet } from "./working-set.ts";
import { writeOnce } from "./write-once.ts";

/** Families in the order of the table. */
export const METRICS: readonly MetricFamily[] = [
  residentMemory,
  cpuTime,
  pageFaults,
  residentBytes,
  allocatedBytes,
  allocatedTotal,
  lifetime,
  readsPerBytePerToken,
  writesPerBytePerToken,
  readBytesPerSecond,
  writeBytesPerSecond,
  hitsPerPass,
  interAccessInterval,
  readsPerWrite,
  writeOnce,
  ageAtRead,
  retention,
  nextUse,
  stillNeeded,
  reuseTime,
  workingSet,
  sampledRates,
  locality,
  suitability,
];

/**
 * Whether a family has something to say of a group. A group that only a recorder of allocations saw, or that is a part of
 * the allocations, has figures of births and deaths alone; a family that reads nothing but allocations says nothing of others.
 */
function applies(family: MetricFamily, group: Group): boolean {
  const { step } = group.span;
  if (!(family.scopes ?? ["class"]).includes(group.scope)) return false;
  if (family.spans === "phases" || group.is_counted_only)
    return family.spans === "phases" && group.allocations === null;
  const tells = family.sources.some(([source]) => source === ALLOCATION);
  const isBare = group.allocations?.is_part === true || (group.allocations !== null && sightOf(group).length === 0);
  if (isBare && !tells) return false;
  if (group.allocations === null && tells && family.sources.length === 1) return false;
  if (family.spans === "every") return true;
  if (family.spans === "whole") return step === "all";
  return step !== "all" || group.span.phase === "all";
}

/** One refusal for each metric of a family that samples cannot tell and each sampled source that gave no figure of it. */
function refusals(family: MetricFamily, group: Group, given: readonly Figure[]): Figure[] {
  const why = family.not_by_sampling;
  if (why === null) return [];
  const silent = [...group.sampled].filter(([source]) => !given.some((figure) => figure.source === source));
  return silent.flatMap(([source, n]) => family.metrics.map(({ name }) => notIdentifiable(name, source, n, why)));
}

/** The collectors that can answer for a group: for allocations those that record them, for others what they see beside them. */
function sightOf({ input, allocations }: Group): AnalysisInput["sight"] {
  if (allocations !== null) return input.sight.filter(({ identifies }) => identifies.includes(ALLOCATION));
  return input.sight.map((one) => ({ ...one, identifies: one.identifies.filter((source) => source !== ALLOCATION) }));
}

/** One refusal per metric and collector, where no collector of the run feeds any source of the family. */
function unseen(family: MetricFamily, group: Group): Figure[] {
  // What was counted is there or not, whichever collector feeds the figures of classes.
  if (family.scopes?.includes("process") === true) return [];
  const sight = sightOf(group);
  const named = new Set(family.sources.map(([source]) => source));
  const feeds = (source: string): boolean =>
    group.allocations === null ? named.size === 0 || named.has(source) : named.has(source);
  if (sight.some(({ identifies }) => identifies.some(feeds))) return [];
  // What runs beside every collector is told of only where it is alone.
  const asked = sight.length > 1 ? sight.filter(({ collector }) => collector !== "process") : sight;
  return asked.flatMap(({ collector, blind_to }) =>
    family.metrics.map(({ name }) => notIdentifiable(name, collector, 0, blind_to)),
  );
}

/** True for a figure of watches where nothing was watched and another source answers. */
function isIdle(figure: Figure, input: AnalysisInput, all: readonly Figure[]): boolean {
  if (figure.source !== "watch" || input.watches.length > 0) return false;
  return all.some((other) => other.metric === figure.metric && other.source !== "watch");
}

/** Every metric of a group by some families, the source that is printed first (`printedFigures`). */
export function figuresOf(group: Group, families: readonly MetricFamily[] = METRICS): MetricRow[] {
  const rows: MetricRow[] = [];
  for (const family of families) {
    if (!applies(family, group)) continue;
    const blind = unseen(family, group);
    const computed = blind.length === 0 ? figuresTold(family, group, rows) : [];
    if (computed.length > 0) workedOver();
    const refused = refusals(family, group, computed);
    const stated = refused.length === 0 && blind.length > 0 ? blind : computed;
    const figures = [...stated, ...refused].filter((figure, _, all) => !isIdle(figure, group.input, all));
    for (const { name, unit } of family.metrics) {
      for (const figure of figures) if (figure.metric === name) rows.push(rowOf(group, figure, unit));
    }
  }
  return rows;
}

/**
 * Every metric of every class, in every span of the run in which it has a meaning. Rows of one metric, class and step
 * stand together, the source that is printed first (`printedFigures`).
 * @param input reduced sums and samples; not changed
 * @returns rows of metrics.parquet; the same for the same input and seed
 */
export function computeMetrics(input: AnalysisInput): MetricRow[] {
  const rows: MetricRow[] = [];
  for (const group of eachGroup(input)) rows.push(...figuresOf(group));
  return rows;
}

/**
 * The one row of each metric, class, phase, step and grain that a table prints: of the sources in the registry's order
 * the first that says something (a value or a bound), else the first.
 */
export function printedFigures(rows: readonly MetricRow[]): MetricRow[] {
  const chosen = new Map<string, MetricRow>();
  const says = (row: MetricRow): boolean => row.status === "ok" || row.status === "bound";
  for (const row of rows) {
    const line = row.metric === "write_once_ratio" ? row.grain_bytes : null;
    const key = [row.metric, row.region_type, row.mapping_kind, row.phase, row.step, line].join("/");
    const earlier = chosen.get(key);
    if (!earlier || (says(row) && !says(earlier))) chosen.set(key, row);
  }
  return [...chosen.values()];
}
