/** A limit and what was measured in words, for all ways in which they are told. */
import { figureSpans, scaleOf } from "../report/figure.ts";
import type { BudgetVerdict, CheckedLimit } from "../schema/budget-check.ts";
import { formatIn } from "../units.ts";

function inUnit(value: number, unit: string): string {
  const scale = scaleOf(unit, value);
  return formatIn(value, scale) + scale.unit;
}

/** `resident_bytes of weight`. */
export function subject({ what, class: name }: CheckedLimit): string {
  return name === null ? what : `${what} of ${name}`;
}

/** `at most 200 MiB`. */
export function limitText({ min, max, is: labels, unit }: CheckedLimit): string {
  if (labels !== null) return labels.join(" or ");
  const ends = [
    ...(min === null ? [] : [`at least ${inUnit(min, unit)}`]),
    ...(max === null ? [] : [`at most ${inUnit(max, unit)}`]),
  ];
  return ends.join(" and ");
}

/** `136 MiB [130, 140]`, a bound, a label, or the status. */
export function measuredText(limit: CheckedLimit): string {
  if (limit.label !== null) return limit.label;
  return figureSpans(limit)
    .map(({ text }) => text)
    .join("");
}

const VERDICT_WORDS: Readonly<Record<BudgetVerdict, string>> = {
  within: "keeps",
  beyond: "does not keep",
  open: "cannot be told to keep",
};

/** One sentence without its full stop. */
export function sentence(limit: CheckedLimit): string {
  const why = limit.why === null || limit.why === "" ? "" : ` (${limit.why})`;
  return `${subject(limit)} is ${measuredText(limit)}${why}, which ${VERDICT_WORDS[limit.verdict]} the limit: ${limitText(limit)}`;
}
