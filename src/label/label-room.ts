/** How much of what labels hold there is memory for: a run that holds more is refused, before it is held. */
import { MrmTraceError } from "../errors.ts";
import { formatCount } from "../units.ts";
import { enoughGib } from "./memory-shares.ts";

/**
 * Bytes that one of each takes while a run is labelled and its figures are made: measured (docs/memory.md), but for tensors,
 * which are an estimate on the high side.
 */
export const BYTES_OF = {
  /** A stay of a mapping, or a region, in columns, with what sorting all of them takes at a time. */
  "lives of mappings": 62,
  /** A mapping that is there, while the rows of its process are followed. */
  "mappings at one time": 700,
  /** Its time and its place, while rows are put into order. */
  "rows of mappings": 20,
  /** With what its figures make of all of them. */
  "steps of engines": 1500,
  "rows of tensors": 1000,
  /** With eight accesses each, all of one class: what its metrics make of them is there with what they left behind. */
  watches: 12_000,
  /** Of a run with more watches than fit, the beginning of each, with what going over all of them takes. */
  "watches that are left": 1500,
  /** A token in a tensor, or in several that keep it equally long, in columns, with what the metrics make of it. */
  "tokens in caches": 500,
} as const;
export type Held = keyof typeof BYTES_OF;

export interface LabelRoom {
  /** How many there is room for beside what is held. */
  most(what: Held): number;
  /** The same beside so many of another that are to come; for half of what there is room for at least. */
  mostBeside(what: Held, other: Held, count: number): number;
  /** Room for so many less. @throws MrmTraceError environment where there is none */
  take(what: Held, count: number): void;
  /** Memory for deriving that is enough for so many beside what is held, in whole GiB. */
  enoughGib(what: Held, count: number): number;
  /** Throws where there is no room for so many, and takes none. @throws MrmTraceError environment */
  check(what: Held, count: number): void;
}

/** @param bytes for all labels */
export function labelRoom(bytes = Number.POSITIVE_INFINITY): LabelRoom {
  let left = bytes;
  const most = (what: Held): number => Math.floor(left / BYTES_OF[what]);
  const enough = (what: Held, count: number): number => enoughGib(bytes - left + count * BYTES_OF[what]);
  const check = (what: Held, count: number): void => {
    if (count * BYTES_OF[what] > left) throw tooMany(what, most(what), enough(what, count));
  };
  return {
    most,
    mostBeside: (what, other, count) => Math.floor(Math.max(left / 2, left - count * BYTES_OF[other]) / BYTES_OF[what]),
    enoughGib: enough,
    check,
    take(what, count) {
      check(what, count);
      left -= count * BYTES_OF[what];
    },
  };
}

/**
 * The refusal of a run that holds more.
 * @param gib that are enough for all that is known until then; null where nobody knows how many there are
 */
export function tooMany(what: Held, most: number, gib: number | null = null): MrmTraceError {
  const orMore = gib === null ? ", or with more: how many there are is not known before they are read" : "";
  return new MrmTraceError(
    "environment",
    `the run holds more than ${formatCount(most)} ${what}, which are all that the memory for deriving holds; what was recorded is kept`,
    `allow more where there is more: mrm-trace analyse RUN_DIR --memory ${gib ?? 2}GiB${orMore}`,
  );
}
