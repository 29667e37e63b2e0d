/** What lies between watches, but for stretches in which none of them was to begin. */
import { firstIndex } from "../../statistics/first-index.ts";

export type Pieces = readonly (readonly [begin_ns: number, end_ns: number])[];

/** What of a time lies outside some stretches. */
export function outside(from: number, end: number, passedOver: Pieces): Pieces {
  const pieces: [number, number][] = [];
  let begin = from;
  for (let i = firstIndex(passedOver.length, (k) => (passedOver[k]?.[1] ?? 0) <= from); i < passedOver.length; i++) {
    const [first, last] = passedOver[i] ?? [end, end];
    if (first >= end) break;
    if (first > begin) pieces.push([begin, first]);
    begin = Math.max(begin, last);
  }
  if (begin < end) pieces.push([begin, end]);
  return pieces;
}

export const lengthOf = (pieces: Pieces): number => pieces.reduce((sum, [from, end]) => sum + end - from, 0);
