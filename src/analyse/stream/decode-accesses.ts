/** Labelled accesses of a trace file as typed arrays, one row group at a time, decoded without the SQL engine. */
import { loadedGroups, type ScannedGroup } from "../../columnar/read/scan.ts";
import { opOf } from "../../schema/operation.ts";
import type { RegionCounter } from "./region-counter.ts";
import type { RegionSums } from "./region-sums.ts";
import { type AccessColumns, CLASS_SHIFT, CLASSES, CODE_BITS, MOST_THREAD } from "./trace-columns.ts";

/** Arrays for the rows of a group; numbers of 32 bits take the first half of theirs. */
interface GroupRoom {
  readonly address: Uint32Array;
  readonly time_ns: Uint32Array;
  readonly number: Uint32Array;
  readonly text: Uint32Array;
  readonly code: Uint32Array;
  readonly valid: Uint8Array;
  /** Number of the region and 1; 0 for none. */
  readonly region: Uint32Array;
  /** 1 for each row with an address and a time. */
  readonly whole: Uint8Array;
}

function groupRoom(rows: number): GroupRoom {
  return {
    address: new Uint32Array(2 * rows),
    time_ns: new Uint32Array(2 * rows),
    number: new Uint32Array(2 * rows),
    text: new Uint32Array(rows),
    code: new Uint32Array(rows),
    valid: new Uint8Array(rows),
    whole: new Uint8Array(rows),
    region: new Uint32Array(rows),
  };
}

const classCode = (name: string): number => {
  const index = (CLASSES as readonly string[]).indexOf(name);
  return (index < 0 ? CLASSES.length - 1 : index) << CLASS_SHIFT;
};

/** Adds the code of each row's text; a row without a text has that of "". */
function addTexts(
  codes: Uint32Array,
  numberOf: (text: string) => number,
  texts: readonly string[],
  packed: Uint32Array,
  rows: number,
) {
  const codeOf = Uint32Array.from(texts, numberOf);
  const none = numberOf("");
  for (let row = 0; row < rows; row++) {
    const text = codes[row] as number;
    packed[row] = (packed[row] as number) | (text < codeOf.length ? (codeOf[text] as number) : none);
  }
}

/** Adds each row's thread; one that no kernel has is 0. */
function addThreads(words: Uint32Array, wide: boolean, out: Uint32Array, rows: number): void {
  for (let row = 0; row < rows; row++) {
    const low = words[wide ? 2 * row : row] as number;
    const thread = low > MOST_THREAD || (wide && words[2 * row + 1] !== 0) ? 0 : low;
    out[row] = (out[row] as number) | (thread << CODE_BITS);
  }
}

/** Keeps each row's region, as another column takes the place of its number. */
function keepRegions(
  words: Uint32Array,
  wide: boolean,
  valid: Uint8Array | null,
  out: Uint32Array,
  rows: number,
): void {
  for (let row = 0; row < rows; row++) {
    out[row] = valid !== null && valid[row] === 0 ? 0 : (words[wide ? 2 * row : row] as number) + 1;
  }
}

/** Closes the gaps of rows without an address or a time; returns how many are left. */
function closeGaps({ address, time_ns, code, whole }: GroupRoom, rows: number): number {
  let written = 0;
  for (let row = 0; row < rows; row++) {
    if (whole[row] === 0) continue;
    for (const words of [address, time_ns]) {
      words[2 * written] = words[2 * row] as number;
      words[2 * written + 1] = words[2 * row + 1] as number;
    }
    code[written++] = code[row] as number;
  }
  return written;
}

/** The columns that are read, in the order in which they are. */
const READ = ["region_type", "op_type", "region_id", "thread_id", "timestamp_ns", "address"] as const;

/**
 * Hands the rows that have an address and a time to `take`, in the order of the file; arrays are valid within the call.
 * @param sums takes the rows of each region too; null where they are no accesses each
 * @throws Error where the file has what is not decoded here; rows may have been handed over by then
 */
export async function decodeAccesses(
  path: string,
  regions: RegionCounter,
  sums: RegionSums | null,
  take: (columns: AccessColumns) => void,
): Promise<void> {
  let room = groupRoom(0);

  function takeGroup(group: ScannedGroup): void {
    const { rows } = group;
    if (rows > room.valid.length) room = groupRoom(rows);
    const { address, time_ns, code, number, text, valid, whole, region: regionOf } = room;
    code.fill(0, 0, rows);
    addTexts(text, classCode, group.texts("region_type", text), code, rows);
    addTexts(text, opOf, group.texts("op_type", text), code, rows);
    const [region, thread] = [group.column("region_id"), group.column("thread_id")];
    if (region !== null) {
      const nulls = group.numbers("region_id", number, valid);
      regions.add(number, region.kind === "i64", nulls > 0 ? valid : null, code, rows);
      if (sums !== null) keepRegions(number, region.kind === "i64", nulls > 0 ? valid : null, regionOf, rows);
    }
    if (thread !== null) {
      group.numbers("thread_id", number, null);
      addThreads(number, thread.kind === "i64", code, rows);
    }
    let nulls = 0;
    whole.fill(1, 0, rows);
    for (const [name, words] of [
      ["timestamp_ns", time_ns],
      ["address", address],
    ] as const) {
      nulls += group.numbers(name, words, valid);
      if (nulls > 0) for (let row = 0; row < rows; row++) if (valid[row] === 0) whole[row] = 0;
    }
    if (region !== null) sums?.add(regionOf, address, time_ns, code, whole, rows);
    take({ rows: nulls > 0 ? closeGaps(room, rows) : rows, address, time_ns, code });
  }

  for await (const group of loadedGroups([path], READ)) takeGroup(group);
}
