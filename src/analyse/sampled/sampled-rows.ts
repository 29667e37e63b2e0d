/** Sampled accesses, read back from the labelled trace in order of time. */

import { NULL_CODE } from "../../columnar/batch.ts";
import { loadedGroups, type ScannedGroup } from "../../columnar/read/scan.ts";
import { opOf } from "../../schema/operation.ts";
import { wordsOf } from "../../schema/row.ts";

const WORD = 2 ** 32;
/** Steps of generation by the number that stands for them; 0 for none. */
export const STEPS = ["none", ...wordsOf("trace", "step")] as const;

/** Samples of one row group; arrays may be longer than `rows`, and change when the next group is asked for. */
export interface SampledRows {
  readonly rows: number;
  /** Pairs of 32-bit words, low word first. */
  readonly address: Uint32Array;
  /** CLOCK_MONOTONIC, ns: pairs of words as above. */
  readonly timestamp_ns: Uint32Array;
  /** Accesses that the row stands for; 0 where nobody knows, NaN for one that tells where data lay, and stands for no number. */
  readonly period: Float64Array;
  readonly region_id: Uint32Array;
  readonly pid: Uint32Array;
  /** Values of OP. */
  readonly op: Uint32Array;
  /** Position in `sources`, which holds from one group to the next. */
  readonly source: Uint32Array;
  readonly sources: readonly string[];
}

const NUMBERS = ["period", "address", "timestamp_ns", "region_id", "pid"] as const;

function groupRoom(rows: number) {
  return {
    capacity: rows,
    codes: new Uint32Array(rows),
    words: new Uint32Array(2 * rows),
    /** 1 for each row that is a sample, and that has a period. */
    kept: new Uint8Array(rows),
    valid: new Uint8Array(rows),
    period: new Float64Array(rows),
    address: new Uint32Array(2 * rows),
    timestamp_ns: new Uint32Array(2 * rows),
    region_id: new Uint32Array(rows),
    pid: new Uint32Array(rows),
    source: new Uint32Array(rows),
    op: new Uint32Array(rows),
  };
}

type GroupRoom = ReturnType<typeof groupRoom>;

/** Puts the number of each row's text into `target`, that of "" where it has none. */
function takeTexts(
  group: ScannedGroup,
  name: string,
  codes: Uint32Array,
  numberOf: (text: string) => number,
  target: Uint32Array,
): void {
  const numbers = group.texts(name, codes).map(numberOf);
  const none = numberOf("");
  for (let row = 0; row < group.rows; row++) {
    const code = codes[row] as number;
    target[row] = code === NULL_CODE ? none : (numbers[code] as number);
  }
}

function takePeriods({ words, valid, period }: GroupRoom, rows: number): void {
  for (let row = 0; row < rows; row++) {
    const accesses = (words[2 * row] as number) + (words[2 * row + 1] as number) * WORD;
    period[row] = accesses === 0 && valid[row] === 1 ? Number.NaN : accesses;
  }
}

/** Closes the gaps between the rows that are kept. */
function closeGaps(room: GroupRoom, rows: number): void {
  const wide = [room.address, room.timestamp_ns];
  const narrow = [room.period, room.region_id, room.pid, room.source, room.op];
  let written = 0;
  for (let row = 0; row < rows; row++) {
    if (room.kept[row] === 0) continue;
    for (const words of wide) {
      words[2 * written] = words[2 * row] as number;
      words[2 * written + 1] = words[2 * row + 1] as number;
    }
    for (const column of narrow) column[written] = column[row] as number;
    written += 1;
  }
}

/** Takes one group of which the source is loaded; returns how many of its rows are samples. */
async function takeGroup(
  group: ScannedGroup,
  room: GroupRoom,
  sourceOf: (text: string) => number,
  watch: number,
): Promise<number> {
  takeTexts(group, "source", room.codes, sourceOf, room.source);
  let samples = 0;
  for (let row = 0; row < group.rows; row++) {
    const sample = room.source[row] === watch ? 0 : 1;
    room.kept[row] = sample;
    samples += sample;
  }
  // A watch sees every access to its bytes: what it saw is no sample, and often all that there is.
  if (samples === 0) return 0;
  await group.load(["op_type", ...NUMBERS]);
  takeTexts(group, "op_type", room.codes, opOf, room.op);
  for (const name of NUMBERS) {
    const isPeriod = name === "period";
    group.numbers(name, isPeriod ? room.words : room[name], isPeriod ? room.valid : null);
  }
  takePeriods(room, group.rows);
  if (samples < group.rows) closeGaps(room, group.rows);
  return samples;
}

/**
 * Rows of every source but watches, one row group after the other.
 * @param parts files of `trace/` as this package writes them, in order of time
 * @throws Error where one is missing or is not such a file
 */
export async function* sampledRows(parts: readonly string[]): AsyncGenerator<SampledRows> {
  const sources: string[] = [];
  const numbers = new Map<string, number>();
  const sourceOf = (text: string): number => {
    const sourceNumber = numbers.get(text) ?? sources.push(text) - 1;
    numbers.set(text, sourceNumber);
    return sourceNumber;
  };
  const watch = sourceOf("watch");
  let room = groupRoom(0);
  for await (const group of loadedGroups(parts, ["source"])) {
    if (group.rows > room.capacity) room = groupRoom(group.rows);
    const rows = await takeGroup(group, room, sourceOf, watch);
    if (rows > 0) yield { ...room, rows, sources };
  }
}
