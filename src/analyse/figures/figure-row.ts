/** Figures become rows: what is too few, too censored or too lossy is held back, with the reason. */
import { lostPct, unreadSources } from "../../schema/loss.ts";
import type { MetricStatus } from "../../schema/words.ts";
import { CI_LEVEL } from "../../statistics/interval.ts";
import type { Group } from "../input/group.ts";
import type { Figure } from "../metrics/metric.ts";
import type { MetricRow } from "./metric-row.ts";

/** Fewest samples for a value. */
export const FEWEST = 30;
/** Most censored for a value. */
export const MOST_CENSORED = 0.5;
/** The label of a figure that leaves it open. */
export const UNDECIDED = "insufficient";
/** Most lost, %, for a value. */
export const MOST_LOST_PCT = 1;

interface Verdict {
  readonly status: MetricStatus;
  readonly why: string | null;
  readonly keep: { readonly value: boolean; readonly lo: boolean; readonly hi: boolean };
}

const NOTHING = { value: false, lo: false, hi: false };

interface Loss {
  readonly source: string;
  readonly pct: number | null;
  /** True where segments of it cannot be read back, however many rows they had. */
  readonly isUnread: boolean;
}

/** The source that is harmed most, of those on which a figure rests. */
function lossUnder({ input, scope, allocations, span }: Group, { source, rests_on = [] }: Figure): Loss {
  // Prefill and decode, their time and their tokens are what the engine's steps say.
  const cut = span.step === "all" ? [] : ["step"];
  // Which bytes are of a class is what the map says; memray knows its allocations without one.
  const classed = scope === "class" && allocations === null ? ["region_map"] : [];
  const sources = new Set([source, ...rests_on, ...cut, ...classed]);
  const unread = unreadSources(input.ledger) as readonly string[];
  const rank = ({ isUnread, pct }: Loss): number => (isUnread ? 100 : 0) + (pct ?? -1);
  return [...sources]
    .map((one) => ({ source: one, pct: lostPct(input.ledger, one), isUnread: unread.includes(one) }))
    .reduce((worst, one) => (rank(one) > rank(worst) ? one : worst));
}

/** Why loss takes the value away; null where it does not. */
export function tooLossy({ source, pct, isUnread }: Loss): string | null {
  if (isUnread) return `segments of capture/ with events of ${source} are missing`;
  if (pct === null || pct <= MOST_LOST_PCT) return null;
  return `${Number(pct.toPrecision(3))} % of the events of ${source} were lost`;
}

function judge(figure: Figure, lost: string | null): Verdict {
  const { n } = figure;
  const { value, lo, hi } = figure.estimate;
  if (figure.not_identifiable) return { status: "not_identifiable", why: figure.why ?? "not observed", keep: NOTHING };
  if (lost !== null) return { status: "insufficient", why: lost, keep: NOTHING };
  if (figure.label !== undefined) {
    const open = figure.label === UNDECIDED;
    return { status: open ? "insufficient" : "ok", why: figure.why ?? null, keep: NOTHING };
  }
  const fewest = figure.census ? 1 : (figure.fewest ?? FEWEST);
  if (n < fewest) {
    return { status: "insufficient", why: figure.why ?? `n = ${n}, fewer than ${fewest}`, keep: NOTHING };
  }
  const censored = figure.censored ?? (figure.n_censored ?? 0) / n;
  if (figure.bound && (lo !== null || hi !== null)) {
    return { status: "bound", why: figure.why ?? null, keep: { value: false, lo: true, hi: true } };
  }
  if (censored > MOST_CENSORED) {
    const why = `${Math.round(100 * censored)} % censored${figure.why ? `: ${figure.why}` : ""}`;
    return lo === null
      ? { status: "insufficient", why, keep: NOTHING }
      : { status: "bound", why, keep: { value: false, lo: true, hi: false } };
  }
  if (n < (figure.fewest_for_hi ?? 0) && lo !== null) {
    const why = `n = ${n}: an upper end this far out needs ${figure.fewest_for_hi}`;
    return { status: "bound", why, keep: { value: false, lo: true, hi: false } };
  }
  if (value === null) {
    if (lo === null && hi === null) return { status: "insufficient", why: figure.why ?? "no estimate", keep: NOTHING };
    return {
      status: "bound",
      why: figure.why ?? "not reached in the time observed",
      keep: { value: false, lo: true, hi: true },
    };
  }
  if ((lo === null) !== (hi === null)) {
    const end = hi === null ? "upper" : "lower";
    const why = figure.why ?? `the ${end} end of the interval lies beyond what was seen`;
    return { status: "bound", why, keep: { value: false, lo: true, hi: true } };
  }
  return { status: "ok", why: figure.why ?? null, keep: { value: true, lo: true, hi: true } };
}

/** How far a ratio may stand above one by rounding. */
const ROUNDING = 1e-9;

/**
 * The estimate where it can be: nothing that is measured here is below nothing, and no ratio above one. An interval that
 * reaches farther ends there; a value that does is none, and `impossible` says what it was.
 */
function withinRange({ value: estimated, lo, hi }: Figure["estimate"], unit: string) {
  const value = Number.isFinite(estimated) ? estimated : null;
  const most = unit === "ratio" ? 1 : Number.POSITIVE_INFINITY;
  const within = (figure: number): number => Math.min(most, Math.max(0, figure));
  const isOutside = value !== null && !(value >= -ROUNDING && value <= most + ROUNDING);
  const end = (figure: number | null): number | null => (figure === null ? null : within(figure));
  const estimate = { value: value === null || isOutside ? null : within(value), lo: end(lo), hi: end(hi) };
  return { estimate, impossible: isOutside ? value : null };
}

/** A lower end of nothing, and no upper one, tells nothing. */
function unlessEmpty(judged: Verdict, { lo, hi }: Figure["estimate"]): Verdict {
  if (judged.status !== "bound") return judged;
  const isOpen = !judged.keep.hi || hi === null;
  const isLeast = !judged.keep.lo || lo === null || lo <= 0;
  return isOpen && isLeast ? { ...judged, status: "insufficient", keep: NOTHING } : judged;
}

/** The row of a figure. Missing segments of its source, loss above 1 %, n below 30 or more than half censored take its value away. */
export function rowOf(group: Group, figure: Figure, unit: string): MetricRow {
  const loss = lossUnder(group, figure);
  const { estimate, impossible } = withinRange(figure.estimate, unit);
  const judged = unlessEmpty(judge({ ...figure, estimate }, tooLossy(loss)), estimate);
  const { status, why, keep } =
    impossible === null || judged.status === "not_identifiable"
      ? judged
      : {
          status: "insufficient" as const,
          why: `the estimate was ${Number(impossible.toPrecision(3))}, which cannot be`,
          keep: NOTHING,
        };
  const { value, lo, hi } = estimate;
  const shownLo = keep.lo ? lo : null;
  const shownHi = keep.hi ? hi : null;
  return {
    metric: figure.metric,
    scope: group.scope,
    region_type: group.region_type,
    mapping_kind: group.mapping_kind,
    phase: group.span.phase,
    step: group.span.step,
    grain_bytes: figure.grain_bytes ?? null,
    source: figure.source,
    unit,
    value: keep.value ? value : null,
    lo: shownLo,
    hi: shownHi,
    ci_level: figure.census || (shownLo === null && shownHi === null) ? null : CI_LEVEL,
    n: Math.round(figure.n),
    n_censored: Math.round(figure.n_censored ?? 0),
    coverage: figure.coverage ?? null,
    window_ns: Math.round(figure.window_ns ?? group.span.window_ns),
    method: figure.method,
    // A label that is held back is the one that leaves it open.
    label: figure.label !== undefined && status === "insufficient" ? UNDECIDED : (figure.label ?? null),
    status,
    why,
    lost_pct: loss.pct,
  };
}
