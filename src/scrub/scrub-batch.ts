/** A batch of a stream as it may be shared: every column by its rule, in the arrays that it came in. */
import { type Batch, type ColumnData, isStringColumn, NULL_CODE, type NumberColumn } from "../columnar/batch.ts";
import { twoWords } from "../columnar/two-words.ts";
import { type Column, columnsOf, type StreamName } from "../schema/columns.ts";
import type { Relocation } from "./islands.ts";
import type { ProcessNumbers } from "./process-numbers.ts";
import type { Pseudonyms } from "./pseudonyms.ts";
import { RULES, type Rule } from "./rules.ts";
import { scrubbedDetail } from "./step-detail.ts";
import { resultKinds, type Zeros } from "./survey.ts";

export interface Scrubbing {
  readonly zeros: Zeros;
  readonly relocation: Relocation;
  readonly processes: ProcessNumbers;
  readonly names: Pseudonyms;
}

const wordsIn = ({ data }: NumberColumn): Uint32Array => new Uint32Array(data.buffer, data.byteOffset, 2 * data.length);
const isThere = ({ valid }: NumberColumn, row: number): boolean => valid === undefined || valid[row] !== 0;

/** Takes a number from each of a column; what is less becomes 0. */
function less(column: NumberColumn, zero: bigint): void {
  const { low, high } = twoWords(zero);
  const words = wordsIn(column);
  for (let row = 0; row < column.data.length; row++) {
    const [l, h] = [words[2 * row] as number, words[2 * row + 1] as number];
    const isLess = h < high || (h === high && l < low);
    words[2 * row] = isLess ? 0 : (l - low) >>> 0;
    words[2 * row + 1] = isLess ? 0 : h - high - (l < low ? 1 : 0);
  }
}

function move(column: NumberColumn, relocation: Relocation): void {
  const words = wordsIn(column);
  for (let row = 0; row < column.data.length; row++) if (isThere(column, row)) relocation.move(words, row);
}

function renumber({ data }: NumberColumn, processes: ProcessNumbers): void {
  for (let row = 0; row < data.length; row++) data[row] = processes.renumbered(Number(data[row]));
}

/** Handles and numbers of processes as their rules say; of others what fits 31 bits, as counts and errors do. */
function results(
  column: NumberColumn,
  kinds: readonly ("address" | "process" | null)[],
  codes: Uint32Array,
  { relocation, processes }: Scrubbing,
): void {
  const words = wordsIn(column);
  for (let row = 0; row < column.data.length; row++) {
    const [low, high] = [words[2 * row] as number, words[2 * row + 1] as number];
    if (!isThere(column, row) || high >= 2 ** 31) continue;
    const kind = kinds[codes[row] as number] ?? null;
    if (kind === "address") relocation.move(words, row);
    else if (kind === "process") {
      words[2 * row] = processes.renumbered(low);
      words[2 * row + 1] = 0;
    } else if (high > 0 || low >= 2 ** 31) {
      words[2 * row] = 0;
      words[2 * row + 1] = 0;
    }
  }
}

/** A number of the machine by its keyed hash. */
function identities(column: NumberColumn, { name, type }: Column, names: Pseudonyms): void {
  const found = new Map<bigint, bigint>();
  const { data } = column;
  for (let row = 0; row < data.length; row++) {
    const value = BigInt(data[row] as number | bigint);
    let hashed = found.get(value);
    if (hashed === undefined) {
      hashed = names.number(name, value, type === "u32" ? 32 : 48);
      found.set(value, hashed);
    }
    if (type === "u32") (data as Uint32Array)[row] = Number(hashed);
    else (data as BigUint64Array)[row] = hashed;
  }
}

/** What becomes of each distinct text of a column. */
function textBy(rule: Rule, { words, nullable }: Column, names: Pseudonyms): ((text: string) => string | null) | null {
  switch (rule) {
    case "word":
      // What older captures have in place of a word must be something.
      return (text) => (Object.hasOwn(words ?? {}, text) ? text : nullable === true ? null : names.name(text));
    case "detail":
      return (text) => scrubbedDetail(text, names);
    case "path":
    case "name":
    case "request":
    case "tensor":
    case "logical_id":
    case "storage_type":
    case "shape":
    case "stratum":
    case "engine":
    case "allocator":
      return names[rule];
    default:
      return null;
  }
}

/** Texts are pseudonym once however many rows have them; a text of which nothing may stay is null. */
function texts(
  { codes, values }: Extract<ColumnData, { codes: unknown }>,
  pseudonym: (text: string) => string | null,
): ColumnData {
  const kept: string[] = [];
  const numbers = new Map<string, number>();
  const newCode = values.map((value) => {
    const text = pseudonym(value);
    if (text === null) return NULL_CODE;
    const number = numbers.get(text) ?? kept.push(text) - 1;
    numbers.set(text, number);
    return number;
  });
  return { codes: codes.map((code) => newCode[code] ?? NULL_CODE), values: kept };
}

/** @returns null where nothing of the column may stay */
function scrubbedColumn(
  batch: Batch<StreamName>,
  column: Column,
  data: ColumnData,
  scrubbing: Scrubbing,
): ColumnData | null {
  const rules: Readonly<Record<string, Rule>> = RULES[batch.table];
  const rule = rules[column.name] ?? "drop";
  if (isStringColumn(data)) {
    const pseudonym = textBy(rule, column, scrubbing.names);
    return pseudonym === null ? null : texts(data, pseudonym);
  }
  switch (rule) {
    case "keep":
      return data;
    case "time":
      less(data, scrubbing.zeros.time_ns);
      return data;
    case "since_boot":
      less(data, scrubbing.zeros.since_boot.get(`${batch.table}/${column.name}`) ?? 0n);
      return data;
    case "address":
      move(data, scrubbing.relocation);
      return data;
    case "process":
      renumber(data, scrubbing.processes);
      return data;
    case "identity":
      identities(data, column, scrubbing.names);
      return data;
    case "result": {
      const kind = batch.columns.kind;
      if (kind === undefined || !isStringColumn(kind)) return null;
      results(data, resultKinds(batch.table as "mapping" | "step", kind.values), kind.codes, scrubbing);
      return data;
    }
    default:
      return null;
  }
}

/** The batch without what may not be shared; changes the arrays of `batch`. */
export function scrubbedBatch<S extends StreamName>(batch: Batch<S>, scrubbing: Scrubbing): Batch<S> {
  const columns: Record<string, ColumnData> = {};
  for (const column of columnsOf(batch.table)) {
    const data = batch.columns[column.name];
    const kept = data === undefined ? null : scrubbedColumn(batch, column, data, scrubbing);
    if (kept !== null) columns[column.name] = kept;
  }
  return { ...batch, columns };
}
