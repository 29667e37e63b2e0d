/** The only place where figures become text and text becomes figures. */
import { MrmTraceError } from "./errors.ts";

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] as const;
const COUNT_UNITS = ["", "k", "M", "G", "T", "P", "E"] as const;
const DURATION_NS: Record<string, number> = {
  // Seconds, as other tools of the command line take them.
  "": 1e9,
  ns: 1,
  us: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  min: 60e9,
  h: 3600e9,
  d: 86400e9,
};
const SIZE_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  k: 2 ** 10,
  kb: 1e3,
  kib: 2 ** 10,
  m: 2 ** 20,
  mb: 1e6,
  mib: 2 ** 20,
  g: 2 ** 30,
  gb: 1e9,
  gib: 2 ** 30,
  t: 2 ** 40,
  tb: 1e12,
  tib: 2 ** 40,
  p: 2 ** 50,
  pb: 1e15,
  pib: 2 ** 50,
};
const BYTES_PER_S = Object.fromEntries(Object.entries(SIZE_BYTES).map(([unit, bytes]) => [`${unit}/s`, bytes]));
const ENERGY_PJ_PER_BYTE: Readonly<Record<string, number>> = {
  "fj/bit": 8e-3,
  "pj/bit": 8,
  "nj/bit": 8e3,
  "fj/byte": 1e-3,
  "pj/byte": 1,
  "nj/byte": 1e3,
};

/** Three significant digits; figures too small for six decimals as 1.23e-7. */
/** Which way a figure is rounded: a lower end down and an upper end up, so that what is printed holds all that the end does. */
export type Rounding = "nearest" | "down" | "up";

/** How far a number of steps may be from a whole one by the arithmetic of floating point. */
const ROUNDING_ERROR = 1e-9;

function wholeSteps(steps: number, rounding: Rounding): number {
  const nearest = Math.round(steps);
  if (rounding === "nearest" || Math.abs(steps - nearest) <= ROUNDING_ERROR * Math.abs(steps)) return nearest;
  return rounding === "down" ? Math.floor(steps) : Math.ceil(steps);
}

function significant(value: number, rounding: Rounding): string {
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  const digits = exponent < -4 ? 2 - exponent : Math.max(0, 2 - exponent);
  const rounded = rounding === "nearest" ? value : wholeSteps(value * 10 ** digits, rounding) / 10 ** digits;
  return exponent < -4 ? rounded.toExponential(2) : rounded.toFixed(digits);
}

/** A unit in which figures are shown: `value / factor` with `unit` behind it. */
export interface Scale {
  readonly factor: number;
  readonly unit: string;
}

/** The binary unit that keeps a figure in bytes below 1024. */
export function byteScale(bytes: number): Scale {
  let factor = 1;
  let unit = 0;
  while (Math.abs(bytes / factor) >= 1024 && unit < BYTE_UNITS.length - 1) {
    factor *= 1024;
    unit += 1;
  }
  return { factor, unit: ` ${BYTE_UNITS[unit]}` };
}

/** The largest unit of time that keeps a figure in ns at or above one; seconds up to two minutes. */
export function nsScale(ns: number): Scale {
  const size = Math.abs(ns);
  if (size < 1e3) return { factor: 1, unit: " ns" };
  if (size < 1e6) return { factor: 1e3, unit: " us" };
  if (size < 1e9) return { factor: 1e6, unit: " ms" };
  if (size < 120e9) return { factor: 1e9, unit: " s" };
  return size < 7200e9 ? { factor: 60e9, unit: " min" } : { factor: 3600e9, unit: " h" };
}

const SMALL_UNITS = ["", "m", "u", "n", "p"] as const;

/** The unit of energy or power that keeps a figure at or above one: W, mW, uW and so on for `unit` "W". */
export function smallScale(value: number, unit: string): Scale {
  let place = 0;
  while (value !== 0 && Math.abs(value) * 1e3 ** place < 1 && place < SMALL_UNITS.length - 1) place += 1;
  if (place === 0) {
    const { factor, unit: large } = countScale(value);
    return { factor, unit: ` ${large}${unit}` };
  }
  return { factor: 1e3 ** -place, unit: ` ${SMALL_UNITS[place]}${unit}` };
}

/** Days in a year, and nanoseconds in a day. */
const [YEAR_DAYS, DAY_NS] = [365.25, 86_400e9];
/** ns of a year of 365.25 days. */
export const YEAR_NS = YEAR_DAYS * DAY_NS;

/** Years, days below two years, and what is shorter than two days as a duration. */
export function yearScale(years: number): Scale {
  const size = Math.abs(years);
  if (size * YEAR_DAYS < 2) {
    const { factor, unit } = nsScale(years * YEAR_NS);
    return { factor: factor / YEAR_NS, unit };
  }
  if (size < 2) return { factor: 1 / YEAR_DAYS, unit: " days" };
  const { factor, unit } = countScale(years);
  return { factor, unit: `${unit} years` };
}

/** A plain figure below this is nothing: no run is long enough to count it. */
const LEAST_COUNT = 1e-12;

/** k, M, G and so on for large plain figures, a power of ten such as `e-4` for those below a thousandth. */
export function countScale(value: number): Scale {
  const size = Math.abs(value);
  if (size >= LEAST_COUNT && size < 1e-3) {
    const exponent = Math.floor(Math.log10(size));
    return { factor: 10 ** exponent, unit: `e${exponent}` };
  }
  if (size < 1e4) return { factor: 1, unit: "" };
  let place = 1;
  while (size / 1e3 ** place >= 1e3 && place < COUNT_UNITS.length - 1) place += 1;
  return { factor: 1e3 ** place, unit: COUNT_UNITS[place] ?? "" };
}

/** What no counter of 64 bits can hold, in any unit, is no figure. */
const MOST_SHOWN = 2 ** 64;
const UNKNOWN = "unknown";

/** True for what can be a figure: NaN, infinity and what is beyond every counter cannot. */
export function isShown(value: number | null): value is number {
  return value !== null && Math.abs(value) <= MOST_SHOWN;
}

/** Less than this part of the unit is nothing: a lower end of 1e-59 bytes is a number that nobody measured. */
const LEAST_SHOWN = 1e-6;

/** The figure in the scale, without its unit: the ends of an interval are shown in the unit of its value; `?` for what is none. */
export function formatIn(value: number, { factor, unit }: Scale, rounding: Rounding = "nearest"): string {
  if (!isShown(value)) return "?";
  const isLeast = Math.abs(value / factor) < LEAST_SHOWN;
  const isAway = value !== 0 && rounding === (value > 0 ? "up" : "down");
  const scaled = isLeast ? (isAway ? Math.sign(value) * LEAST_SHOWN : 0) : value / factor;
  const isWhole = factor === 1 && (unit === " B" || (unit === "" && Number.isInteger(value)));
  return isWhole ? String(wholeSteps(scaled, rounding)) : significant(scaled, rounding);
}

/** Bytes as text with a binary unit and three significant digits. */
export function formatBytes(bytes: number): string {
  if (!isShown(bytes)) return UNKNOWN;
  const scale = byteScale(bytes);
  return formatIn(bytes, scale) + scale.unit;
}

/** Nanoseconds as text in the largest unit that keeps the figure at or above one. */
export function formatNs(ns: number): string {
  if (!isShown(ns)) return UNKNOWN;
  const scale = nsScale(ns);
  return formatIn(ns, scale) + scale.unit;
}

/** A plain figure with three significant digits; large ones with k, M, G and so on. */
export function formatCount(value: number): string {
  if (!isShown(value)) return UNKNOWN;
  const scale = countScale(value);
  return formatIn(value, scale) + scale.unit;
}

/** A count with its word in the singular or plural: `1 run`, `12.3k accesses`. */
export function formatCounted(count: number, one: string): string {
  return `${formatCount(count)} ${one}${count === 1 ? "" : one.endsWith("s") ? "es" : "s"}`;
}

/** The text with a sign for each of its numbers: the same for texts that differ in their figures only. */
export function withoutNumbers(text: string): string {
  return text.replace(/\d+(?:\.\d+)?/g, "#");
}

function parseWithUnit(text: string, units: Readonly<Record<string, number>>, what: string, example: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*(?:\/[a-zA-Z]+)?)\s*$/.exec(text);
  const factor = match ? units[(match[2] ?? "").toLowerCase()] : undefined;
  if (!match || factor === undefined) {
    throw new MrmTraceError("usage", `${what} expected, but received "${text}"`, `write it as ${example}`);
  }
  return Number(match[1]) * factor;
}

/** Text such as `500ms`, `2s`, `1h` to nanoseconds. @throws MrmTraceError usage */
export function parseDurationNs(text: string): number {
  return parseWithUnit(text, DURATION_NS, "a duration", "500ms, 30s or 2h");
}

/** Text such as `64MB`, `1GiB`, `4096B` to bytes. @throws MrmTraceError usage */
export function parseSizeBytes(text: string): number {
  return Math.round(parseWithUnit(text, SIZE_BYTES, "a size with its unit", "64MB or 1GiB"));
}

/** Text such as `25.6GB/s` to bytes per second. @throws MrmTraceError usage */
export function parseBytesPerSecond(text: string): number {
  return parseWithUnit(text, BYTES_PER_S, "a rate with its unit", "25.6GB/s or 64GiB/s");
}

/** Text such as `3.9pJ/bit` to picojoules per byte. @throws MrmTraceError usage */
export function parseEnergyPjPerByte(text: string): number {
  return parseWithUnit(text, ENERGY_PJ_PER_BYTE, "an energy with its unit", "3.9pJ/bit or 30pJ/byte");
}
