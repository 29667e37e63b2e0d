/** Captured accesses of one part of the trace, decoded without the SQL engine. */
import { assertRefusal } from "../../columnar/read/refusal.ts";
import { rowGroups, type ScannedGroup } from "../../columnar/read/scan.ts";
import { type TwoWords, twoWords } from "../../columnar/two-words.ts";
import { MOST_ROWS, type TracePart } from "../trace/trace-plan.ts";
import {
  type AccessRows,
  type AccessWords,
  addWord,
  FACTS,
  gatherRows,
  makeRoom,
  type WordLists,
} from "./access-rows.ts";

/**
 * Columns of the stream by the array that takes them, and the fact that a row has a value: 0 where nobody asks, null
 * where it must have one. Rows without a value have 0.
 */
const NUMBERS = [
  ["timestamp_ns", "timestamp", null],
  ["address", "address", null],
  ["ip", "ip", null],
  ["period", "period", null],
  ["pid", "pid", null],
  ["tid", "tid", null],
  ["cpu", "cpu", null],
  ["data_src", "data_src", 0],
  ["watch_id", "watch", FACTS.HAS_WATCH],
  ["weight_cycles", "weight", FACTS.HAS_WEIGHT],
] as const satisfies readonly (readonly [string, keyof AccessWords, number | null])[];

/** Arrays for the rows of one group. */
function groupRoom(rows: number) {
  return { rows, codes: new Uint32Array(rows), valid: new Uint8Array(rows) };
}

/** Appends the rows of a group. @throws Error where a required value is missing, or something is not decoded here */
function appendGroup(
  group: ScannedGroup,
  lists: WordLists,
  out: AccessRows,
  { codes, valid }: ReturnType<typeof groupRoom>,
): void {
  const { rows } = group;
  const start = out.rows;
  makeRoom(out, start + rows);
  const facts = out.words.facts.subarray(start, start + rows);
  facts.fill(0);
  for (const [name, target, fact] of NUMBERS) {
    const step = group.column(name)?.kind === "i64" ? 2 : 1;
    const words = out.words[target].subarray(step * start, step * (start + rows));
    const nulls = group.numbers(name, words, fact ? valid : null);
    if (nulls > 0 && fact === null) throw new Error(`${nulls} rows without ${name}`);
    if (!fact || nulls === rows) continue;
    for (let row = 0; row < rows; row++) if (valid[row] === 1) facts[row] = (facts[row] as number) | fact;
  }
  for (const [name, list, shift] of [
    ["op_type", lists.ops, 0],
    ["source", lists.sources, FACTS.SOURCE_SHIFT],
  ] as const) {
    const factOf = Uint32Array.from(group.texts(name, codes), (text) => addWord(list, text) << shift);
    for (let row = 0; row < rows; row++) {
      const code = codes[row] as number;
      if (code >= factOf.length) throw new Error(`a row without ${name}`);
      facts[row] = (facts[row] as number) | (factOf[code] as number);
    }
  }
  out.rows = start + rows;
}

const isBefore = (low: number, high: number, bound: TwoWords): boolean =>
  high < bound.high || (high === bound.high && low < bound.low);

/** Closes the gaps of rows outside the part; times have two words, as above 2^53 ns, 104 days, one number is not exact. */
function keepBetween(rows: AccessRows, from: TwoWords | null, end: TwoWords | null): void {
  const { timestamp } = rows.words;
  const inside = new Uint32Array(rows.rows);
  let kept = 0;
  for (let row = 0; row < rows.rows; row++) {
    const low = timestamp[2 * row] as number;
    const high = timestamp[2 * row + 1] as number;
    if ((from !== null && isBefore(low, high, from)) || (end !== null && !isBefore(low, high, end))) continue;
    inside[kept++] = row;
  }
  gatherRows(rows.words, inside, 0, kept, rows.words);
  rows.rows = kept;
}

/**
 * Reads the rows of a part, in the order of its segments, in place of what `rows` held.
 * @returns false where a segment has rows that are not complete, or what only the SQL engine decodes, or is broken:
 *   that says how
 */
export function decodeAccessRows(part: TracePart, lists: WordLists, rows: AccessRows): boolean {
  rows.rows = 0;
  makeRoom(rows, Math.min(part.most_rows, MOST_ROWS));
  let room = groupRoom(0);
  try {
    for (const group of rowGroups(part.segments)) {
      if (group.rows > MOST_ROWS) return false;
      if (group.rows > room.rows) room = groupRoom(group.rows);
      appendGroup(group, lists, rows, room);
    }
  } catch (error) {
    assertRefusal(error);
    return false;
  }
  const { from_ns, to_ns } = part;
  if (from_ns === null && to_ns === null) return true;
  keepBetween(rows, from_ns === null ? null : twoWords(from_ns), to_ns === null ? null : twoWords(to_ns));
  return true;
}
