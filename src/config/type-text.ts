/** What an option takes, in words: `a whole number from 0 to 4`. */
import { z } from "zod";
import { bare } from "./schema-keys.ts";
import { duration, energy, rate, size, valueHints } from "./values.ts";

/** Ends beyond this are those of the number type, and mean nothing. */
const NO_END = 1e15;

function rangeText({ minValue, maxValue, isInt }: z.ZodNumber): string {
  const from = minValue !== null && minValue > -NO_END ? ` from ${minValue}` : "";
  const most = maxValue !== null && maxValue < NO_END ? ` to ${maxValue}` : "";
  return `${isInt ? "whole number" : "number"}${from}${most}`;
}

/** The kind of value that a schema takes. @param quote puts words of the command line or of a file in marks */
export function typeText(schema: z.ZodType, quote: (word: string) => string): string {
  const inner = bare(schema);
  if (inner === duration) return `duration, such as ${quote("30s")}`;
  if (inner === size) return `size, such as ${quote("64MB")}`;
  if (inner === rate) return `rate, such as ${quote("25.6GB/s")}`;
  if (inner === energy) return `energy, such as ${quote("3.9pJ/bit")}`;
  if (inner instanceof z.ZodPipe && inner.in instanceof z.ZodString) return typeText(inner.out as z.ZodType, quote);
  const either = inner instanceof z.ZodPipe && inner.in instanceof z.ZodUnion ? inner.in : inner;
  if (either instanceof z.ZodUnion) {
    return (either.options as readonly z.ZodType[]).map((option) => typeText(option, quote)).join(" or ");
  }
  if (inner instanceof z.ZodEnum) return inner.options.map((word) => quote(String(word))).join(", ");
  if (inner instanceof z.ZodArray) return `list of ${typeText(inner.element as z.ZodType, quote)}`;
  if (inner instanceof z.ZodNumber) return rangeText(inner);
  if (inner instanceof z.ZodBoolean) return "true or false";
  return inner instanceof z.ZodString ? "text" : "list of names";
}

/** The items of a list that is given as an array or as text with commas; null for what is no list. */
export function itemsOf(schema: z.ZodType): z.ZodType | null {
  const inner = bare(schema);
  if (inner instanceof z.ZodArray) return inner.element as z.ZodType;
  return inner instanceof z.ZodPipe && !(inner.in instanceof z.ZodTransform) ? itemsOf(inner.in as z.ZodType) : null;
}

/** The words that an option or each item of a list may be; null where any value of a kind may stand. */
export function choiceText(schema: z.ZodType): string | null {
  const one = itemsOf(schema) ?? bare(schema);
  return one instanceof z.ZodEnum ? one.options.join(", ") : null;
}

/** What was wanted of an option that received something else; null where the check itself says it better. */
export function wantedText(schema: z.ZodType): string | null {
  const inner = bare(schema);
  const words = typeText(schema, (word) => word);
  if (inner instanceof z.ZodNumber) return `a ${words}`;
  const items = itemsOf(schema);
  if (items instanceof z.ZodEnum) return `one or more of ${typeText(items, (word) => word)}`;
  return inner instanceof z.ZodEnum ? `one of ${words}` : null;
}

/** Longest list of choices that stands in place of a value. */
const MOST_CHOICES = 20;

/** What stands for a value of the schema in help: its choices, TIME, SIZE, N, or what the option was given as hint. */
export function hintText(schema: z.ZodType): string {
  const hint = valueHints.get(schema)?.hint;
  if (hint !== undefined) return hint;
  const inner = bare(schema);
  if (inner === duration || (inner instanceof z.ZodPipe && inner.in === duration)) return "TIME";
  if (inner === size) return "SIZE";
  if (inner instanceof z.ZodNumber) return "N";
  if (inner instanceof z.ZodEnum) return inner.options.join("|");
  const items = itemsOf(schema);
  if (items === null) return "TEXT";
  const choices = items instanceof z.ZodEnum ? items.options.join("|") : "";
  return choices !== "" && choices.length <= MOST_CHOICES ? choices : "NAMES";
}
