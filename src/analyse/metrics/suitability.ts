/** Whether a class suits managed-retention memory: the thresholds of the Python package, where what was seen decides. */

import { interval } from "../../statistics/interval.ts";
import { type Lives, lifeQuantiles } from "../../statistics/weighted-lives.ts";
import { FEWEST, MOST_CENSORED, UNDECIDED } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import { isUnwritable } from "../input/write-rights.ts";
import { keptLives } from "./kept-lives.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const METRIC = "suitability";
/** A class has the first label whose two conditions hold; `low_mrm` where neither label's do. */
const LABELS = [
  { label: "high_mrm", write_once: 0.8, quantile: "p99", q: 0.99, least_ns: 10e9 },
  { label: "medium_mrm", write_once: 0.5, quantile: "p50", q: 0.5, least_ns: 1e9 },
] as const;
/** Ascending. */
const QUANTILES = [0.5, 0.99] as const;
const LOWEST = "low_mrm";
/** The label of what nothing was seen to end: how long a device must keep it depends on how long one looks. */
const KEPT = "kept_throughout";
/** Of data that is written evenly and needed until the end of the look, the need at q is that share of the look; less a tenth. */
const OF_THE_LOOK = 0.9;

/** What is known of a time that a device must keep data: its ends, or how long it was kept while nothing ended it. */
interface Kept {
  readonly lo: number | null;
  readonly hi: number | null;
  /** True where nothing was seen to end it: `lo` is how long that is known. */
  readonly isThroughout: boolean;
  /** Such as `retention p99 is at least 3.2 s`. */
  readonly words: string;
}

/** True, false, or undefined where the interval holds the threshold or nothing is known. */
function reaches({ lo, hi }: Pick<Kept, "lo" | "hi">, threshold: number): boolean | undefined {
  if (lo !== null && lo >= threshold) return true;
  return hi !== null && hi < threshold ? false : undefined;
}

const saysSomething = (row: MetricRow | undefined): row is MetricRow & { readonly status: "ok" | "bound" } =>
  row !== undefined && (row.status === "ok" || row.status === "bound");

const endsOf = (row: MetricRow | undefined): Pick<Kept, "lo" | "hi"> =>
  saysSomething(row) ? row : { lo: null, hi: null };

/** True where enough addresses were watched, no hit on them was, or may have been, a write, and no page was given for one. */
function onlyRead(group: Group): boolean {
  const { exposures } = group.every;
  if ((group.faults?.write_faults ?? 0) > 0) return false;
  if (group.kvRows.length > 0 || group.kvUntold !== null || exposures.length < FEWEST) return false;
  return exposures.every(({ passes }) => passes.writes.every((n) => n === 0) && passes.unknown.every((n) => n === 0));
}

const seconds = (ns: number): string => `${Number((ns / 1e9).toPrecision(3))} s`;

/** `between 1 s and 2 s`, `at least 1 s` or `at most 2 s`, where one end at least is known. */
function endsInWords(lo: number | null, hi: number | null, show: (x: number) => string): string {
  if (lo !== null && hi !== null) return `between ${show(lo)} and ${show(hi)}`;
  return lo === null ? `at most ${show(hi ?? 0)}` : `at least ${show(lo)}`;
}

/** What a row leaves open, such as `retention_p99_ns is at least 3.2 s`. */
function openEnd(name: string, row: MetricRow | undefined, show: (x: number) => string): string {
  if (!saysSomething(row)) return `${name} is ${(row?.status ?? "insufficient").replace("_", " ")}`;
  return row.lo === null && row.hi === null
    ? `${name} has no interval`
    : `${name} is ${endsInWords(row.lo, row.hi, show)}`;
}

/** Grains above a line tell of pages: a page that is filled in pieces is rewritten, though its bytes are not. */
const LARGEST_GRAIN = 64;

/** The first row of a metric that says something, else the first. */
function rowFor(rows: readonly MetricRow[], metric: string): MetricRow | undefined {
  const metricRows = rows.filter((row) => row.metric === metric && (row.grain_bytes ?? 0) <= LARGEST_GRAIN);
  return metricRows.find(saysSomething) ?? metricRows[0];
}

/** How long what is written is needed; of what was in use for most of the look and mostly not seen to end, how long that was. */
function keptByNeed(group: Group, { quantile, q }: (typeof LABELS)[number], row: MetricRow | undefined): Kept {
  const { lo, hi } = endsOf(row);
  const wasOpen = row !== undefined && row.n_censored > MOST_CENSORED * row.n;
  const isThroughout = wasOpen && hi === null && lo !== null && lo >= OF_THE_LOOK * q * group.span.window_ns;
  return { lo, hi, isThroughout, words: openEnd(`retention ${quantile}`, row, seconds) };
}

/** How long what is only read is kept: from the birth of its region. */
function keptByLife(lives: Lives): Kept[] {
  const { seen, endless, censored } = lifeQuantiles(lives, QUANTILES);
  return LABELS.map(({ quantile, q }) => {
    const k = QUANTILES.indexOf(q);
    const [lo, hi] = [seen[k] ?? null, endless[k] ?? null];
    const isThroughout = censored > MOST_CENSORED && hi === null && lo !== null;
    return {
      lo,
      hi,
      isThroughout,
      words: lo === null ? "no region is known" : `lifetime ${quantile} is ${endsInWords(lo, hi, seconds)}`,
    };
  });
}

interface Answer {
  readonly label: string;
  readonly why: string | null;
}

/** The label that no open condition could change, else the conditions that leave it open. */
function judge(once: (least: number) => { holds: boolean | undefined; words: string }, kept: readonly Kept[]): Answer {
  for (const [i, rule] of LABELS.entries()) {
    const time = kept[i] as Kept;
    const enough = once(rule.write_once);
    const long = time.isThroughout || reaches(time, rule.least_ns);
    if (enough.holds === false || long === false) continue;
    if (enough.holds === true && time.isThroughout) return { label: KEPT, why: time.words };
    if (enough.holds === true && long === true) return { label: rule.label, why: null };
    const open = [
      ...(enough.holds === undefined ? [`${enough.words}, not clearly above or below ${rule.write_once}`] : []),
      ...(long === undefined ? [`${time.words}, not clearly above or below ${seconds(rule.least_ns)}`] : []),
    ];
    return { label: UNDECIDED, why: `${rule.label} is open: ${open.join("; ")}` };
  }
  return { label: LOWEST, why: null };
}

const share = (x: number): string => x.toPrecision(3);

/**
 * Of what is only read: how long it is kept is to be judged, and whether so much of it is never written. Watches that saw no write do not say that: of what
 * each word is written every 2 s, 30 short ones see none in one run of four. The map does, or the interval that it and the watches give.
 */
function figureByLife(group: Group, rows: readonly MetricRow[]): Figure {
  const { exposures } = group.every;
  const isNever = isUnwritable(group);
  const once = rowFor(rows, "write_once_ratio");
  const room = openEnd("write_once_ratio", once, share);
  const words = `no write seen at ${exposures.length} addresses, where the process may write: ${room}`;
  const lives = keptLives(group);
  const looked = seconds(group.span.window_ns);
  const isRead = exposures.some(({ passes }) => passes.reads.some((n) => n > 0));
  const { label, why } = isRead
    ? judge((least) => ({ holds: isNever || reaches(endsOf(once), least), words }), keptByLife(lives))
    : { label: UNDECIDED, why: `neither read nor written at ${exposures.length} addresses` };
  const never = `never written in what was seen${isNever ? "" : ` (${room})`}`;
  const reasons: Record<string, string> = {
    [UNDECIDED]: why ?? "",
    [KEPT]: `${never}, and nothing ended it in the ${looked} that we looked: ${why}`,
  };
  return {
    metric: METRIC,
    source: "region_map",
    // That nothing is written is what the watches say, too.
    rests_on: ["watch", ...(isNever || once === undefined ? [] : [once.source])],
    estimate: interval(null, null, null),
    n: Math.min(exposures.length, lives.count),
    method: `thresholds on lifetime: high_mrm p99 >= 10 s, medium_mrm p50 >= 1 s; looked for ${looked}`,
    label,
    why: reasons[label] ?? `${never}: judged by lifetime`,
  };
}

function figureByNeed(group: Group, rows: readonly MetricRow[]): Figure {
  const once = rowFor(rows, "write_once_ratio");
  const used = LABELS.map(({ quantile }) => rowFor(rows, `retention_${quantile}_ns`));
  const { label, why } = judge(
    (least) => ({
      holds: reaches(endsOf(once), least),
      words: openEnd("write_once_ratio", once, share),
    }),
    LABELS.map((rule, i) => keptByNeed(group, rule, used[i])),
  );
  const basis = [once, ...used].filter((row) => row !== undefined);
  const looked = seconds(group.span.window_ns);
  return {
    metric: METRIC,
    source: used[0]?.source ?? "watch",
    rests_on: basis.map(({ source }) => source),
    estimate: interval(null, null, null),
    n: basis.length > 0 ? Math.min(...basis.map((row) => row.n)) : 0,
    method: `thresholds on write_once_ratio (${once?.source ?? "none"}) and retention (${used[0]?.source ?? "none"}), every end of both intervals on one side: high_mrm >= 0.8 and p99 >= 10 s, medium_mrm >= 0.5 and p50 >= 1 s; looked for ${looked}`,
    label,
    ...(why === null
      ? {}
      : { why: label === KEPT ? `nothing ended most of it in the ${looked} that we looked: ${why}` : why }),
  };
}

export const suitability: MetricFamily = {
  metrics: [
    {
      name: METRIC,
      unit: "label",
      definition:
        "`high_mrm`: write-once ratio at least 0.8 and retention p99 at least 10 s; `medium_mrm`: at least 0.5 and p50 at least 1 s; `low_mrm`: neither; `kept_throughout`: written as seldom as that, and kept as long as we looked, so that its retention is at least so long, and how much longer a run of this length cannot see; `insufficient`: the intervals do not decide. The thresholds are those of the Python package. The answer is in `label`; how long we looked is in `window_ns`, and how long the data was kept in `why`.",
      formula:
        "the first that holds of: write_once_ratio >= 0.8 and retention_p99 >= 10 s; write_once_ratio >= 0.5 and retention_p50 >= 1 s",
      averaged_over: "as the figures that it judges",
    },
  ],
  estimator: [
    "Each condition holds where the whole interval is at or above its threshold, fails where the whole interval is below, and is open otherwise; bounds count as intervals without one end.",
    "A label is given only where no open condition could change it.",
    "Kept as long as we looked is data of which more than half was not seen to end, and which was needed for as long as data can be that is written evenly until then: that share of the look that the quantile names, less a tenth.",
    "A class of which at least 30 addresses were watched, some were read and none was written, and in which no page fault was a write, is judged by the lifetime of its regions in place of retention: mapped weights are written once, before we looked.",
    "That so much of it is written once is what its mapping says, which lets nobody write, or the interval of `write_once_ratio`: that no watch saw a write does not say it.",
    "What is there at the end of the last step, or of the run, or goes in the last hundredth of that time, ended with the work, not because it was no longer needed.",
    "What is neither read nor written has no retention to judge.",
  ],
  sources: [
    ["step", "retention of KV rows"],
    ["watch", "write-once ratio, and retention of what has no steps"],
    ["import", "both, of a trace that holds every access"],
    ["region_map", "lifetime of what is only read"],
  ],
  not_by_sampling: null,
  suppressed: "An interval that holds a threshold, or a figure that is not there: `insufficient`, with which.",
  needs_every_access: true,
  spans: "whole",
  figures: (group, rows) => [onlyRead(group) ? figureByLife(group, rows) : figureByNeed(group, rows)],
};
