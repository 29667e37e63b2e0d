/** A figure in few words: its value and how far the interval reaches from it, or what stands in its place. */
import type { ReportMetric } from "../schema/run-json.ts";
import { formatIn, isShown, type Scale } from "../units.ts";
import { figureSpans, type ShownFigure, scaleOf } from "./figure.ts";
import type { Ink, Line } from "./terminal.ts";

/** Shares are read in percent. */
const SHARES: ReadonlySet<string> = new Set(["write_once_ratio"]);
/** A wider interval is told by its ends: "±300%" says nothing. */
const MOST_PCT = 100;
const DIGITS = 2;
/** Printed as 100 %. */
const LEAST_OF_ALL_PCT = 99.95;
/** A smaller part of the unit is nothing that anybody measured. */
const LEAST_SHOWN = 1e-3;

/** A figure with two digits, rounded away from the other end of its interval. */
function endText(value: number, { factor }: Scale, round: (x: number) => number): string {
  const scaled = value / factor;
  if (Math.abs(scaled) < LEAST_SHOWN) return "0";
  const step = 10 ** (Math.floor(Math.log10(Math.abs(scaled))) + 1 - DIGITS);
  return String(Number((round(scaled / step) * step).toPrecision(DIGITS)));
}

/** `1.2 to 32 ms`, in the unit of the upper end. */
function endsText(unit: string, lo: number, hi: number): string {
  const scale = scaleOf(unit, hi);
  return `${endText(lo, scale, Math.floor)} to ${endText(hi, scale, Math.ceil)}${scale.unit}`;
}

/** How far an interval reaches, rounded away from zero so that it is never told as narrower than it is. */
function reachText(pct: number): string {
  if (pct >= 1) return `${Math.ceil(pct)}`;
  return pct < 0.1 ? "0.1" : `${Math.ceil(pct * 10) / 10}`;
}

function inPercent<T extends ShownFigure>(metric: T): T {
  const times100 = (x: number | null): number | null => (x === null ? null : 100 * x);
  return { ...metric, unit: "%", value: times100(metric.value), lo: times100(metric.lo), hi: times100(metric.hi) };
}

/** What is said where there is no number, and with which ink. */
const WORDS: Readonly<Record<"insufficient" | "not_identifiable", readonly [string, Ink]>> = {
  insufficient: ["too few seen", "warn"],
  not_identifiable: ["not known", "dim"],
};

/**
 * `16.1 GiB/s ±3%`; the percentage is the farther end of the interval. A wide interval is told by its ends, a bound by
 * its sign, and what cannot be told by words.
 */
export function shortFigure(given: (ShownFigure & Pick<ReportMetric, "metric">) | undefined): Line {
  if (given === undefined) return [{ text: "-", ink: "dim" }];
  if (given.status === "insufficient" || given.status === "not_identifiable") {
    const [text, ink] = WORDS[given.status];
    return [{ text, ink }];
  }
  const metric = SHARES.has(given.metric) ? inPercent(given) : given;
  const { value, lo, hi } = metric;
  // That a share is one at most is known of any, and so is that nothing is less than none.
  const most = metric.unit === "%" ? LEAST_OF_ALL_PCT : Number.POSITIVE_INFINITY;
  if (metric.status === "bound" && (lo ?? 0) <= 0 && (hi ?? most) >= most) {
    return [{ text: WORDS.not_identifiable[0], ink: WORDS.not_identifiable[1] }];
  }
  if (metric.status === "bound" && isShown(lo) && isShown(hi) && lo > 0)
    return [{ text: endsText(metric.unit, lo, hi), ink: "warn" }];
  if (metric.status === "bound" || metric.label !== null || !isShown(value)) return figureSpans(metric);
  if (!isShown(lo) || !isShown(hi) || lo === hi) return figureSpans({ ...metric, lo: null, hi: null });
  const scale = scaleOf(metric.unit, value === 0 ? hi : value);
  const text = formatIn(value, scale);
  // From what is printed: rounding the value would move both ends with it.
  const printed = Number(text) * scale.factor;
  const pct = printed > 0 ? (100 * Math.max(printed - lo, hi - printed)) / printed : Number.POSITIVE_INFINITY;
  // Percent of a percentage would be misread.
  if (pct > MOST_PCT || metric.unit === "%") {
    return [{ text: endsText(metric.unit, lo, hi), ink: "bold" }];
  }
  return [
    { text: `${text}${scale.unit}`, ink: "bold" },
    { text: ` ±${reachText(pct)}%`, ink: "dim" },
  ];
}
