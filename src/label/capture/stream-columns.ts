/** Some columns of a captured stream, one row group after the other, decoded without the SQL engine. */
import { assertRefusal } from "../../columnar/read/refusal.ts";
import { loadedGroups, type ScannedGroup } from "../../columnar/read/scan.ts";
import { columnsOf, type StreamName } from "../../schema/columns.ts";
import { type Capture, reasonOf } from "./capture.ts";

/** The values of one column in one row group; arrays may be longer than the group has rows. */
export interface ColumnWords {
  /** Whole numbers, those of 64 bits as two words, low word first, 0 without a value; of a text its code. */
  readonly words: Uint32Array;
  /** 1 where the row has a value; null where every row has one. */
  readonly valid: Uint8Array | null;
  /** By code. */
  readonly texts: readonly string[];
}

interface Room {
  readonly words: Uint32Array;
  readonly valid: Uint8Array;
}

/** Decodes columns into room that is used again for the next group. */
function columnDecoder<Name extends string>(stream: StreamName, names: readonly Name[]) {
  const meant = names.map((name) => {
    const column = columnsOf(stream).find((one) => one.name === name);
    if (column === undefined) throw new TypeError(`${stream} has no column ${name}`);
    return { name, wide: column.type === "u64" || column.type === "i64", optional: column.nullable === true };
  });
  let capacity = 0;
  let rooms: readonly Room[] = [];

  function decode(group: ScannedGroup, { name, wide, optional }: (typeof meant)[number], room: Room): ColumnWords {
    const { words, valid } = room;
    const column = group.column(name);
    if (column === null && optional) {
      // Written before there was such a column.
      words.fill(0);
      return { words, valid: valid.fill(0), texts: [] };
    }
    if (column?.kind === "text") return { words, valid: null, texts: group.texts(name, words) };
    if (column !== null && (column.kind === "i64") !== wide) throw new Error(`${name} is of another type`);
    const nulls = group.numbers(name, words, valid);
    if (nulls > 0 && !optional) throw new Error(`${nulls} rows without ${name}`);
    return { words, valid: nulls > 0 ? valid : null, texts: [] };
  }

  return (group: ScannedGroup): Record<Name, ColumnWords> => {
    if (group.rows > capacity) {
      capacity = group.rows;
      rooms = meant.map(({ wide }) => ({
        words: new Uint32Array(wide ? 2 * capacity : capacity),
        valid: new Uint8Array(capacity),
      }));
    }
    const decoded = meant.map((one, i) => [one.name, decode(group, one, rooms[i] as Room)] as const);
    return Object.fromEntries(decoded) as Record<Name, ColumnWords>;
  };
}

/**
 * Reads columns of a stream in the order in which its rows were written. Memory holds two row groups.
 * A segment that is broken goes to `capture.skipped` with all its rows, of which those before the broken row group were given.
 * @param take gets each row group; the arrays are good until it returns
 */
export async function scanColumns<Name extends string>(
  capture: Capture,
  stream: StreamName,
  names: readonly Name[],
  take: (columns: Record<Name, ColumnWords>, rows: number) => void,
): Promise<void> {
  const decode = columnDecoder(stream, names);
  const skipped = new Set(capture.skipped.map(({ path }) => path));
  for (const { path, rows } of capture.segments[stream]) {
    if (skipped.has(path)) continue;
    try {
      for await (const group of loadedGroups([path], names)) {
        take(decode(group), group.rows);
      }
    } catch (error) {
      assertRefusal(error);
      capture.skipped.push({ stream, path, rows, reason: reasonOf(error) });
    }
  }
}
