/** The first look at a capture: which times, addresses and processes it has, before any of them is changed. */
import { collectAfter } from "../columnar/collect-after.ts";
import { rowGroups, type ScannedGroup } from "../columnar/read/scan.ts";
import { columnsOf, type StreamName } from "../schema/columns.ts";
import { wordsOf } from "../schema/row.ts";
import { GRANULE_BITS, granuleOf, type IslandSurvey, type Relocation, relocationOf, surveyIslands } from "./islands.ts";
import { type ProcessNumbers, processNumbers } from "./process-numbers.ts";
import { LENGTH_OF, RESULT_IS, RULES, type Rule } from "./rules.ts";

const COLLECT_ROWS = 1 << 20;
const GRANULE_BYTES = 2 ** GRANULE_BITS;
const WORD = 2 ** 32;

/** What every number of the run is counted from. */
export interface Zeros {
  /** Time from which the run counts; 0n where nothing has a time. */
  readonly time_ns: bigint;
  /** The least of each column that counts since boot, by `stream/column`. */
  readonly since_boot: ReadonlyMap<string, bigint>;
}

export interface Survey {
  /** Looks at a segment. @throws Error where it is not decoded here */
  look(stream: StreamName, path: string): void;
  readonly processes: ProcessNumbers;
  zeros(): Zeros;
  relocation(): Relocation;
}

const isNegative = (high: number): boolean => high >= 2 ** 31;

/** What the result of each row of a group is, by its kind; null where no kind says so. */
export function resultKinds(stream: "mapping" | "step", kinds: readonly string[]): (("address" | "process") | null)[] {
  const words: readonly string[] = wordsOf(stream, "kind");
  return kinds.map((kind) => (words.includes(kind) ? (RESULT_IS[kind] ?? null) : null));
}

/** A survey of no segments yet. */
export function surveyCapture(): Survey {
  const processes = processNumbers();
  const islands: IslandSurvey = surveyIslands();
  const collected = collectAfter(COLLECT_ROWS);
  const since_boot = new Map<string, bigint>();
  let earliest = { high: WORD, low: 0 };
  let words = new Uint32Array(0);
  let lengths = new Uint32Array(0);
  let codes = new Uint32Array(0);
  let valid = new Uint8Array(0);

  function room(rows: number): void {
    if (valid.length >= rows) return;
    words = new Uint32Array(2 * rows);
    lengths = new Uint32Array(2 * rows);
    codes = new Uint32Array(rows);
    valid = new Uint8Array(rows);
  }

  /** The least value above 0 of what is in `words`; null where there is none. */
  function least(rows: number): { high: number; low: number } | null {
    let found: { high: number; low: number } | null = null;
    for (let row = 0; row < rows; row++) {
      const [low, high] = [words[2 * row] as number, words[2 * row + 1] as number];
      if (valid[row] === 0 || (low === 0 && high === 0)) continue;
      if (found === null || high < found.high || (high === found.high && low < found.low)) found = { high, low };
    }
    return found;
  }

  function addRange(row: number, hasLength: boolean): void {
    const [low, high] = [words[2 * row] as number, words[2 * row + 1] as number];
    const first = granuleOf(low, high);
    const bytes = (lengths[2 * row] as number) + (lengths[2 * row + 1] as number) * WORD;
    // A length that no address space has is no range. An address of 0 is one that a call left open: its length says not where.
    const isRange = hasLength && bytes > 0 && bytes < 2 ** 47 && (low > 0 || high > 0);
    islands.add(first, isRange ? first + Math.floor(((low % GRANULE_BYTES) + bytes - 1) / GRANULE_BYTES) : first);
  }

  function addresses(group: ScannedGroup, name: string): void {
    const { rows } = group;
    const length = LENGTH_OF[name];
    const hasLength = length !== undefined && group.column(length) !== null;
    if (hasLength) group.words(length, lengths, valid);
    group.words(name, words, valid);
    for (let row = 0; row < rows; row++) if (valid[row] !== 0) addRange(row, hasLength);
  }

  function results(group: ScannedGroup, stream: "mapping" | "step"): void {
    const kinds = resultKinds(stream, group.texts("kind", codes));
    const hasLength = group.column("size_bytes") !== null;
    if (hasLength) group.words("size_bytes", lengths, valid);
    group.words("result", words, valid);
    for (let row = 0; row < group.rows; row++) {
      if (valid[row] === 0 || isNegative(words[2 * row + 1] as number)) continue;
      const kind = kinds[codes[row] as number];
      if (kind === "address") addRange(row, hasLength);
      else if (kind === "process") processes.add(words[2 * row] as number);
    }
  }

  function column(group: ScannedGroup, stream: StreamName, name: string, rule: Rule): void {
    const { rows } = group;
    if (rule === "process") {
      group.words(name, words, valid);
      for (let row = 0; row < rows; row++) if (valid[row] !== 0) processes.add(words[row] as number);
    } else if (rule === "address") addresses(group, name);
    else if (rule === "result") results(group, stream as "mapping" | "step");
    else if (rule === "time" || rule === "since_boot") {
      group.words(name, words, valid);
      const found = least(rows);
      if (found === null) return;
      if (rule === "time") {
        if (found.high < earliest.high || (found.high === earliest.high && found.low < earliest.low)) earliest = found;
        return;
      }
      const key = `${stream}/${name}`;
      const value = (BigInt(found.high) << 32n) | BigInt(found.low);
      const before = since_boot.get(key);
      if (before === undefined || value < before) since_boot.set(key, value);
    }
  }

  return {
    processes,
    look(stream, path) {
      const rules: Readonly<Record<string, Rule>> = RULES[stream];
      for (const group of rowGroups([path])) {
        room(group.rows);
        for (const { name } of columnsOf(stream)) {
          const rule = rules[name];
          if (rule !== undefined && group.column(name) !== null) column(group, stream, name, rule);
        }
        collected(group.rows);
      }
    },
    zeros: () => ({
      time_ns: earliest.high === WORD ? 0n : (BigInt(earliest.high) << 32n) | BigInt(earliest.low),
      since_boot,
    }),
    relocation: () => relocationOf(islands.islands()),
  };
}
