/** What an option may be: numbers given as text or number, quantities with their unit. */
import { z } from "zod";
import { MrmTraceError } from "../errors.ts";
import { parseBytesPerSecond, parseDurationNs, parseEnergyPjPerByte, parseSizeBytes } from "../units.ts";

/** What an option's type does not say of its value. */
export interface ValueHint {
  /** Stands for it in help: DIR, FILE, NAME. */
  readonly hint: string;
  /** Words that a shell offers for it, where other text may be right too. */
  readonly words?: readonly string[];
  /** True where the path of a file is right as well as one of the words. */
  readonly isFileToo?: boolean;
}

export const valueHints = z.registry<ValueHint>();

/** A number given as text or number; text of nothing is none, though JavaScript reads it as 0. */
export function numeric(number: z.ZodNumber) {
  return z.preprocess((value: number | string) => {
    if (typeof value !== "string") return value;
    return value.trim() === "" ? Number.NaN : Number(value);
  }, number);
}

/** Percent as a number, or as text with its sign or without. */
export function percent(least: number, most: number) {
  return z.preprocess((value: number | string) => {
    if (typeof value !== "string") return value;
    const digits = value.replace(/\s*%\s*$/, "").trim();
    return digits === "" ? Number.NaN : Number(digits);
  }, z.number().min(least).max(most));
}

/** A whole number given as text or number, within limits. */
export function whole(least: number, most: number) {
  return numeric(z.number().int().min(least).max(most));
}

/** A quantity above 0, as a number or as text with its unit. */
function withUnit(parse: (text: string) => number, example: string) {
  return z
    .union([z.number(), z.string()], { error: `text with its unit expected, such as ${example}` })
    .transform((value, context) => {
      try {
        const quantity = typeof value === "number" ? value : parse(value);
        if (quantity > 0) return quantity;
        context.addIssue({ code: "custom", message: "more than 0 expected" });
      } catch (error) {
        if (!(error instanceof MrmTraceError)) throw error;
        context.addIssue({
          code: "custom",
          message: `${error.message.replace(/, but received .*$/s, "")} (${error.hint})`,
        });
      }
      return z.NEVER;
    });
}

/** ns; text such as `500ms`. */
export const duration = withUnit(parseDurationNs, "30s");
/** Bytes; text such as `64MB`. */
export const size = withUnit(parseSizeBytes, "64MB");
/** Bytes per second; text such as `25.6GB/s`. */
export const rate = withUnit(parseBytesPerSecond, "25.6GB/s");
/** Picojoules per byte; text such as `3.9pJ/bit`. */
export const energy = withUnit(parseEnergyPjPerByte, "3.9pJ/bit");
