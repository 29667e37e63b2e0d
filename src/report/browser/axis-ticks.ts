/** Where an axis has its ticks. */
import { YEAR_NS } from "../../units.ts";

/** Round numbers across a span, about `count` of them. */
export function ticks(begin: number, end: number, count: number): number[] {
  const rough = (end - begin) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough) ?? rough;
  const out: number[] = [];
  for (let tick = Math.ceil(begin / step) * step; tick <= end; tick += step) out.push(tick);
  return out;
}

const SECOND_NS = 1e9;
const HOUR_NS = 3600 * SECOND_NS;
const DAY_NS = 24 * HOUR_NS;
/** Times that people count in, from a minute on; below they are powers of ten. */
const LONG_TIMES_NS = [
  60 * SECOND_NS,
  HOUR_NS,
  DAY_NS,
  30 * DAY_NS,
  YEAR_NS,
  10 * YEAR_NS,
  100 * YEAR_NS,
  1000 * YEAR_NS,
];

/** Times from below a second to years: those that stand far enough apart. */
function timeTicks(low: number, high: number, most: number): number[] {
  const apart = (high / low) ** (1 / most);
  const short = Array.from({ length: 11 }, (_, power) => 10 ** power);
  const out: number[] = [];
  for (const time of [...short, ...LONG_TIMES_NS]) {
    if (time >= low && time <= high && time >= apart * (out.at(-1) ?? 0)) out.push(time);
  }
  return out;
}

/** At most so many powers of ten within a span, of bytes powers of two, of hours and years such times; the ends of a span that holds none. */
export function logTicks(low: number, high: number, unit: string, most: number): number[] {
  if (unit === "ns" && high > HOUR_NS) return timeTicks(low, high, most);
  const base = unit.startsWith("bytes") ? 2 : 10;
  const [first, last] = [Math.ceil(Math.log(low) / Math.log(base)), Math.floor(Math.log(high) / Math.log(base))];
  const step = Math.max(1, Math.ceil((last - first) / (most - 1)));
  const out: number[] = [];
  for (let power = first; power <= last; power += step) out.push(base ** power);
  return out.length > 0 ? out : [low, high];
}
