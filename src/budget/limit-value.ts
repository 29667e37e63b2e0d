/** Limits of a budget in the units of the metrics that they limit. */
import { MrmTraceError } from "../errors.ts";
import { parseBytesPerSecond, parseDurationNs, parseSizeBytes } from "../units.ts";

/** How a limit of a metric in this unit is written; undefined for plain numbers. */
const PARSERS: Readonly<Record<string, (text: string) => number>> = {
  bytes: parseSizeBytes,
  "bytes/s": parseBytesPerSecond,
  ns: parseDurationNs,
  "ns/token": parseDurationNs,
};

const NUMBER = /^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;
const PERCENT = /^(\d+(?:\.\d+)?)\s*%$/;

/** @returns the limit, or what is wrong with it in words */
export function limitValue(given: number | string, unit: string): number | { readonly problem: string } {
  const parse = PARSERS[unit];
  try {
    // The parser asks for the unit that a bare number lacks; of a time it would be seconds, which nobody said.
    if (parse !== undefined && typeof given === "string" && !NUMBER.test(given)) return finite(parse(given), unit);
    if (parse !== undefined)
      return { problem: `it is in ${unit}: text with its unit expected, such as ${EXAMPLES[unit]}` };
  } catch (error) {
    if (!(error instanceof MrmTraceError)) throw error;
    return { problem: `it is in ${unit}: ${error.message.replace(/, but received .*$/s, "")} (${error.hint})` };
  }
  const percent = typeof given === "string" ? PERCENT.exec(given)?.[1] : undefined;
  if (unit === "ratio" && percent !== undefined) return finite(Number(percent) / 100, unit);
  if (typeof given === "string" && !NUMBER.test(given)) return { problem: `it is in ${unit}: a number expected` };
  return finite(Number(given), unit);
}

const EXAMPLES: Readonly<Record<string, string>> = {
  bytes: "200MiB",
  "bytes/s": "25.6GB/s",
  ns: "5ms",
  "ns/token": "5ms",
};

function finite(value: number, unit: string): number | { readonly problem: string } {
  return Number.isFinite(value) && value >= 0 ? value : { problem: `it is in ${unit}: a number of 0 or more expected` };
}
