/** One figure as a cell: value, interval, samples, method and reason. */
import type { ReportMetric } from "../schema/run-json.ts";
import {
  byteScale,
  countScale,
  formatCount,
  formatIn,
  isShown,
  nsScale,
  type Rounding,
  type Scale,
  smallScale,
  yearScale,
} from "../units.ts";
import type { Footnotes } from "./footnotes.ts";
import type { Line, Span } from "./terminal.ts";

/** What a figure is shown by. */
export type ShownFigure = Pick<ReportMetric, "unit" | "value" | "lo" | "hi" | "status" | "label">;

/** The scale for a figure of this unit; `size` decides between ns and s, B and GiB. */
export function scaleOf(unit: string, size: number): Scale {
  if (unit === "ns") return nsScale(size);
  if (unit === "bytes") return byteScale(size);
  if (unit === "bytes/s") {
    const { factor, unit: bytes } = byteScale(size);
    return { factor, unit: `${bytes}/s` };
  }
  if (unit === "ns/token") return nsScale(size);
  if (unit === "years") return yearScale(size);
  if (unit === "W" || unit === "J/token") return smallScale(size, unit);
  if (unit.endsWith("/s")) {
    const scale = countScale(size);
    return { factor: scale.factor, unit: `${scale.unit}/s` };
  }
  return unit === "%" ? { factor: 1, unit: " %" } : countScale(size);
}

/** Nothing that a run tells of its target is below nothing. */
const isNumber = (value: number | null): value is number => isShown(value) && value >= 0;

/** `1.20 ms`, with the unit. */
export function withUnit(value: number, unit: string, rounding: Rounding = "nearest"): string {
  const scale = scaleOf(unit, value);
  return formatIn(value, scale, rounding) + scale.unit;
}

/** `[4.40, 4.52]`, in the scale of a value that stands before it, each end rounded away from the other. */
export function intervalText({ lo, hi, unit }: Pick<ShownFigure, "lo" | "hi" | "unit">, scale: Scale): string {
  const end = (value: number | null, rounding: Rounding): string => {
    if (!isNumber(value)) return "?";
    // An end far from the value has its own unit: 12 s in ms would be unreadable.
    const far = value !== 0 && (Math.abs(value / scale.factor) >= 1e4 || Math.abs(value / scale.factor) < 1e-3);
    return far ? withUnit(value, unit, rounding) : formatIn(value, scale, rounding);
  };
  return `[${end(lo, "down")}, ${end(hi, "up")}]`;
}

function boundText({ lo, hi, unit }: ShownFigure): string {
  // Nothing here can be negative: a lower end of 0 says nothing.
  const least = isNumber(lo) ? withUnit(lo, unit, "down") : null;
  const most = isNumber(hi) ? withUnit(hi, unit, "up") : null;
  if (least !== null && most !== null && lo !== 0) return `${least} to ${most}`;
  if (most !== null) return `≤ ${most}`;
  return least === null ? "no bound" : `≥ ${least}`;
}

/** Samples, and those of them that were censored: `64/12c`. */
function samplesText({ n, n_censored }: ReportMetric): string {
  return formatCount(Number(n)) + (Number(n_censored) > 0 ? `/${formatCount(Number(n_censored))}c` : "");
}

/** The figure and its interval, or what stands in their place. */
export function figureSpans(metric: ShownFigure): Span[] {
  if (metric.status === "not_identifiable") return [{ text: "not identifiable", ink: "dim" }];
  if (metric.status === "insufficient") return [{ text: "insufficient", ink: "warn" }];
  if (metric.status === "bound") return [{ text: boundText(metric), ink: "warn" }];
  if (metric.label !== null) return [{ text: metric.label, ink: "bold" }];
  if (!isNumber(metric.value)) return [{ text: "unknown", ink: "warn" }];
  const scale = scaleOf(metric.unit, metric.value);
  const value: Span = { text: formatIn(metric.value, scale) + scale.unit, ink: "bold" };
  const hasInterval = isNumber(metric.lo) || isNumber(metric.hi);
  return hasInterval ? [value, { text: ` ${intervalText(metric, scale)}`, ink: "dim" }] : [value];
}

/** True where the row says something of the size of its figure. */
export function isFigure({ status }: Pick<ReportMetric, "status">): boolean {
  return status === "ok" || status === "bound";
}

/** The cell: `4.47 ms [4.40, 4.52] 64 a`, a bound `≥ 28.1 s 20 b (1)`, or the status in words with its reason. */
export function figureCell(metric: ReportMetric | undefined, footnotes: Footnotes): Line {
  if (metric === undefined) return [{ text: "-", ink: "dim" }];
  const spans = figureSpans(metric);
  if (metric.status !== "not_identifiable") spans.push({ text: ` ${samplesText(metric)}`, ink: "dim" });
  if (isFigure(metric)) spans.push({ text: ` ${footnotes.methodOf(metric)}`, ink: "dim" });
  if (metric.why !== null && metric.why !== "") {
    spans.push({ text: ` (${footnotes.reasonOf(`${metric.status.replace("_", " ")}: ${metric.why}`)})`, ink: "dim" });
  }
  return spans;
}
