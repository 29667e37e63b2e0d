/** Captured accesses of one part of the trace as typed arrays. */
import { wordsOf } from "../../schema/row.ts";
import { type Database, parquetScan, quote } from "../../sql/database.ts";
import { vectorWords } from "../../sql/vector-words.ts";
import { MOST_ROWS, partFilter, type TracePart } from "../trace/trace-plan.ts";

const WIDE = ["timestamp", "address", "ip", "period", "data_src"] as const;
const NARROW = ["pid", "tid", "cpu", "watch", "weight", "facts"] as const;

/**
 * Columns of accesses, 64-bit ones as pairs of words, low word first. What has no value is 0; `facts` has the fields of
 * FACTS.
 */
export type AccessWords = Record<(typeof WIDE)[number] | (typeof NARROW)[number], Uint32Array<ArrayBuffer>>;

/** Rows of accesses; arrays may be longer than `rows`. */
export interface AccessRows {
  rows: number;
  capacity: number;
  readonly words: AccessWords;
}

/** Positions of op_type and source in their lists, and whether watch and weight have a value. */
export const FACTS = { MASK: 0xfff, SOURCE_SHIFT: 12, HAS_WATCH: 1 << 24, HAS_WEIGHT: 1 << 25 } as const;
/** Position of a text that is not in its list. */
const UNLISTED = FACTS.MASK;

/** Texts of op_type and source; grows when a capture has others. */
export interface WordLists {
  readonly ops: string[];
  readonly sources: string[];
}

export function wordLists(): WordLists {
  return {
    ops: [...wordsOf("access", "op_type")],
    sources: [...wordsOf("access", "source")],
  };
}

/** Room for so many rows. */
export function accessWords(capacity: number): AccessWords {
  return Object.fromEntries([
    ...WIDE.map((name) => [name, new Uint32Array(2 * capacity)]),
    ...NARROW.map((name) => [name, new Uint32Array(capacity)]),
  ]) as AccessWords;
}

export function accessRows(): AccessRows {
  return { rows: 0, capacity: 0, words: accessWords(0) };
}

/** Makes room, keeping the rows that are there. */
export function makeRoom(rows: AccessRows, needed: number): void {
  if (needed <= rows.capacity) return;
  rows.capacity = needed;
  const larger = accessWords(rows.capacity);
  for (const name of [...WIDE, ...NARROW]) {
    larger[name].set(
      rows.words[name].subarray(0, (WIDE as readonly string[]).includes(name) ? 2 * rows.rows : rows.rows),
    );
    rows.words[name] = larger[name];
  }
}

function positionSql(column: string, list: readonly string[]): string {
  const cases = list.map((word, position) => `WHEN ${quote(word)} THEN ${position}`);
  return `(CASE ${column} ${cases.join(" ")} ELSE ${UNLISTED} END)`;
}

function rowsSql(part: TracePart, { ops, sources }: WordLists): string {
  const facts = [
    positionSql("op_type", ops),
    `${positionSql("source", sources)} * ${1 << FACTS.SOURCE_SHIFT}`,
    `(CASE WHEN watch_id IS NULL THEN 0 ELSE ${FACTS.HAS_WATCH} END)`,
    `(CASE WHEN weight_cycles IS NULL THEN 0 ELSE ${FACTS.HAS_WEIGHT} END)`,
  ];
  return `SELECT timestamp_ns, address, ip, period, coalesce(data_src, 0), pid, tid, CAST(cpu AS UINTEGER),
      coalesce(watch_id, 0), coalesce(weight_cycles, 0), CAST(${facts.join(" + ")} AS UINTEGER)
    FROM ${parquetScan(part.segments)} WHERE ${partFilter(part)}`;
}

function isUnlisted(facts: Uint32Array, from: number, end: number): boolean {
  for (let row = from; row < end; row++) {
    const word = facts[row] as number;
    if ((word & FACTS.MASK) === UNLISTED || ((word >>> FACTS.SOURCE_SHIFT) & FACTS.MASK) === UNLISTED) return true;
  }
  return false;
}

/** @returns false at the first row with a text that the lists lack, where it is `strict` about it */
async function fill(
  database: Database,
  part: TracePart,
  lists: WordLists,
  rows: AccessRows,
  strict: boolean,
): Promise<boolean> {
  rows.rows = 0;
  const result = await database.connection.stream(rowsSql(part, lists));
  let coming = result.fetchChunk();
  for (;;) {
    const chunk = await coming;
    if (chunk === null || chunk.rowCount === 0) return true;
    // The engine decodes the next rows while these are taken.
    coming = result.fetchChunk();
    const nextRow = rows.rows;
    rows.rows += chunk.rowCount;
    if (rows.rows > rows.capacity) makeRoom(rows, 2 * rows.rows);
    for (const [i, name] of WIDE.entries()) {
      rows.words[name].set(vectorWords(chunk.getColumnVector(i)).subarray(0, 2 * chunk.rowCount), 2 * nextRow);
    }
    for (const [i, name] of NARROW.entries()) {
      rows.words[name].set(vectorWords(chunk.getColumnVector(WIDE.length + i)).subarray(0, chunk.rowCount), nextRow);
    }
    if (!strict || !isUnlisted(rows.words.facts, nextRow, rows.rows)) continue;
    await coming;
    return false;
  }
}

/** Position of a word in its list, which takes it where it is new; UNLISTED where the list is full. */
export function addWord(list: string[], word: string): number {
  const index = list.indexOf(word);
  if (index >= 0) return index;
  return list.length < UNLISTED ? list.push(word) - 1 : UNLISTED;
}

async function extend(database: Database, part: TracePart, lists: WordLists): Promise<void> {
  for (const [column, list] of [
    ["op_type", lists.ops],
    ["source", lists.sources],
  ] as const) {
    const found = await database.rows(
      `SELECT DISTINCT ${column} AS word FROM ${parquetScan(part.segments)} WHERE ${partFilter(part)} ORDER BY 1 LIMIT ${UNLISTED}`,
    );
    for (const { word } of found) addWord(list, String(word));
  }
}

/**
 * Reads the complete rows of a part, in the order of its segments, in place of what `rows` held.
 * A text beyond the 4,095th of its column has no position in its list.
 */
export async function readAccessRows(
  database: Database,
  part: TracePart,
  lists: WordLists,
  rows: AccessRows,
): Promise<void> {
  // A footer may claim any number of rows.
  rows.rows = 0;
  makeRoom(rows, Math.min(part.most_rows, MOST_ROWS));
  if (await fill(database, part, lists, rows, true)) return;
  await extend(database, part, lists);
  await fill(database, part, lists, rows, false);
}

/** Copies rows `order[from .. from + n - 1]` to the start of `out`, which may be `words` itself where they ascend. */
export function gatherRows(words: AccessWords, order: Uint32Array, from: number, n: number, out: AccessWords): void {
  for (const name of WIDE) {
    const source = words[name];
    const target = out[name];
    for (let i = 0; i < n; i++) {
      const row = order[from + i] as number;
      target[2 * i] = source[2 * row] as number;
      target[2 * i + 1] = source[2 * row + 1] as number;
    }
  }
  for (const name of NARROW) {
    const source = words[name];
    const target = out[name];
    for (let i = 0; i < n; i++) target[i] = source[order[from + i] as number] as number;
  }
}

/** The same rows without a copy. */
export function sliceRows(words: AccessWords, from: number, n: number): AccessWords {
  return Object.fromEntries([
    ...WIDE.map((name) => [name, words[name].subarray(2 * from, 2 * (from + n))]),
    ...NARROW.map((name) => [name, words[name].subarray(from, from + n)]),
  ]) as AccessWords;
}
