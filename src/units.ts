/** The only place where figures become text and text becomes figures. */
import { MrmTraceError } from "./errors.ts";

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;
const DURATION_NS: Record<string, number> = {
  ns: 1,
  us: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  min: 60e9,
  h: 3600e9,
  d: 86400e9,
};
const SIZE_BYTES: Record<string, number> = {
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
};

function significant(value: number): string {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 12));
}

/** Bytes as text with a binary unit and three significant digits. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${Math.round(value)} B` : `${significant(value)} ${BYTE_UNITS[unit]}`;
}

/** Nanoseconds as text in the largest unit that keeps the figure at or above one. */
export function formatNs(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${significant(ns)} ns`;
  if (size < 1e6) return `${significant(ns / 1e3)} us`;
  if (size < 1e9) return `${significant(ns / 1e6)} ms`;
  if (size < 120e9) return `${significant(ns / 1e9)} s`;
  return size < 7200e9 ? `${significant(ns / 60e9)} min` : `${significant(ns / 3600e9)} h`;
}

/** A plain figure with three significant digits; large ones with k, M, G. */
export function formatCount(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${significant(value / 1e9)}G`;
  if (size >= 1e6) return `${significant(value / 1e6)}M`;
  if (size >= 1e4) return `${significant(value / 1e3)}k`;
  return Number.isInteger(value) ? String(value) : significant(value);
}

function parseWithUnit(text: string, units: Record<string, number>, what: string, example: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*$/.exec(text);
  const factor = match ? units[(match[2] ?? "").toLowerCase()] : undefined;
  if (!match || factor === undefined) {
    throw new MrmTraceError("usage", `${what} expected, but received "${text}"`, `write it as ${example}`);
  }
  return Number(match[1]) * factor;
}

/** Text such as `500ms`, `2s`, `1h` to nanoseconds. @throws MrmTraceError usage */
export function parseDurationNs(text: string): number {
  return parseWithUnit(text, DURATION_NS, "a duration with its unit", "500ms, 30s or 2h");
}

/** Text such as `64MB`, `1GiB`, `4096B` to bytes. @throws MrmTraceError usage */
export function parseSizeBytes(text: string): number {
  return Math.round(parseWithUnit(text, SIZE_BYTES, "a size with its unit", "64MB or 1GiB"));
}
