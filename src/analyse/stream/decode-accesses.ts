/** Labelled accesses of a trace file as typed arrays, one row group at a time, decoded without the SQL engine. */
import { readNumbers, readScratch, readTexts } from "../../columnar/read/column.ts";
import type { FileGroup } from "../../columnar/read/footer.ts";
import { type LoadedColumn, loadColumn } from "../../columnar/read/load-column.ts";
import type { ParquetSource } from "../../columnar/read/parquet-file.ts";
import { opOf } from "../input/input.ts";
import { type AccessColumns, CLASS_SHIFT, CLASSES, CODE_BITS, MOST_THREAD } from "./access-columns.ts";
import type { RegionCounter } from "./region-counter.ts";

/** Arrays for the rows of a group; numbers of 32 bits take the first half of theirs. */
interface GroupRoom {
  readonly address: Uint32Array;
  readonly time_ns: Uint32Array;
  readonly number: Uint32Array;
  readonly text: Uint32Array;
  readonly code: Uint32Array;
  readonly valid: Uint8Array;
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
  };
}

const classCode = (name: string): number => {
  const known = (CLASSES as readonly string[]).indexOf(name);
  return (known < 0 ? CLASSES.length - 1 : known) << CLASS_SHIFT;
};

/** Adds the code of each row's text; a row without a text has that of "". */
function addTexts(
  codes: Uint32Array,
  of: (text: string) => number,
  texts: readonly string[],
  to: Uint32Array,
  rows: number,
) {
  const codeOf = Uint32Array.from(texts, of);
  const none = of("");
  for (let row = 0; row < rows; row++) {
    const text = codes[row] as number;
    to[row] = (to[row] as number) | (text < codeOf.length ? (codeOf[text] as number) : none);
  }
}

/** Adds each row's thread; one that no kernel has is 0. */
function addThreads(words: Uint32Array, wide: boolean, to: Uint32Array, rows: number): void {
  for (let row = 0; row < rows; row++) {
    const low = words[wide ? 2 * row : row] as number;
    const thread = low > MOST_THREAD || (wide && words[2 * row + 1] !== 0) ? 0 : low;
    to[row] = (to[row] as number) | (thread << CODE_BITS);
  }
}

/** Closes the gaps of rows without an address or a time; returns how many are left. */
function closeGaps({ address, time_ns, code, whole }: GroupRoom, rows: number): number {
  let to = 0;
  for (let row = 0; row < rows; row++) {
    if (whole[row] === 0) continue;
    for (const words of [address, time_ns]) {
      words[2 * to] = words[2 * row] as number;
      words[2 * to + 1] = words[2 * row + 1] as number;
    }
    code[to++] = code[row] as number;
  }
  return to;
}

/** The columns that are read, in the order in which they are. */
const READ = ["region_type", "op_type", "region_id", "thread_id", "timestamp_ns", "address"] as const;

type LoadedGroup = ReadonlyMap<(typeof READ)[number], LoadedColumn>;

async function load(source: ParquetSource, group: FileGroup): Promise<LoadedGroup> {
  const loaded = READ.map(async (name) => {
    const column = await loadColumn(source, group, name);
    return column === null ? [] : [[name, column] as const];
  });
  return new Map((await Promise.all(loaded)).flat());
}

/**
 * Hands the rows that have an address and a time to `take`, in the order of the file; arrays are valid within the call.
 * @throws Error where the file has what is not decoded here; rows may have been handed over by then
 */
export async function decodeAccesses(
  source: ParquetSource,
  regions: RegionCounter,
  take: (columns: AccessColumns) => void,
): Promise<void> {
  const { groups } = source.footer;
  const most = groups.reduce((rows, group) => Math.max(rows, group.rows), 0);
  const room = groupRoom(most);
  const scratch = readScratch(most);

  function numbers(of: LoadedColumn | undefined, words: Uint32Array): { nulls: number; wide: boolean } | null {
    if (of === undefined) return null;
    const { pages, column, chunk } = of;
    return { nulls: readNumbers(pages, column, chunk, scratch, words, room.valid), wide: column.kind === "i64" };
  }

  function takeGroup(group: LoadedGroup, rows: number): void {
    room.code.fill(0, 0, rows);
    for (const [name, of] of [
      ["region_type", classCode],
      ["op_type", opOf],
    ] as const) {
      const found = group.get(name);
      if (found === undefined) throw new Error(`no column ${name}`);
      const texts = readTexts(found.pages, found.column, found.chunk, scratch, room.text);
      addTexts(room.text, of, texts, room.code, rows);
    }
    const region = numbers(group.get("region_id"), room.number);
    if (region !== null) regions.add(room.number, region.wide, region.nulls > 0 ? room.valid : null, room.code, rows);
    const thread = numbers(group.get("thread_id"), room.number);
    if (thread !== null) addThreads(room.number, thread.wide, room.code, rows);
    let nulls = 0;
    room.whole.fill(1, 0, rows);
    for (const [name, words] of [
      ["timestamp_ns", room.time_ns],
      ["address", room.address],
    ] as const) {
      nulls += numbers(group.get(name), words)?.nulls ?? rows;
      if (nulls > 0) for (let row = 0; row < rows; row++) if (room.valid[row] === 0) room.whole[row] = 0;
    }
    const { address, time_ns, code } = room;
    take({ rows: nulls > 0 ? closeGaps(room, rows) : rows, address, time_ns, code });
  }

  const [first] = groups;
  let coming = first === undefined ? null : load(source, first);
  for (const [i, { rows }] of groups.entries()) {
    const group = await coming;
    const next = groups[i + 1];
    // Other threads decompress the next group while the rows of this one are taken.
    coming = next === undefined ? null : load(source, next);
    // What it fails with is thrown when it is waited for; until then nobody listens.
    coming?.catch(() => {});
    if (group !== null) takeGroup(group, rows);
  }
}
