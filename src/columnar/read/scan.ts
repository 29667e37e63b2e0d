/** One scan over the row groups of Parquet files, and of each the columns that are asked for, as typed arrays. */
import { type ReadScratch, readBools, readNumbers, readScratch, readTexts } from "./column.ts";
import { chunkOfColumn, type FileChunk, type FileColumn, type FileGroup } from "./footer.ts";
import { type Page, storedPages, unpackAside, unpackPage } from "./pages.ts";
import { openParquetSource, type ParquetSource } from "./parquet-file.ts";

/** A file may claim any number of rows; nobody's groups have more. */
export const MOST_GROUP_ROWS = 1 << 21;

/** One row group, valid until the next is asked for. A column is read anew each time that it is asked for. */
export interface ScannedGroup {
  readonly rows: number;
  /** Null where the file has no column of that name. */
  column(name: string): FileColumn | null;
  /**
   * Whole numbers of a column as words: those of 64 bits as two, low word first; 0 in rows without a value.
   * @param words room for all rows
   * @param valid set to 1 for each row with a value, else to 0; null where nobody asks
   * @returns rows without a value
   * @throws Error where there is no such column, or it is broken or encoded in a way that is not decoded here
   */
  numbers(name: string, words: Uint32Array, valid: Uint8Array | null): number;
  /** The words of numbers of any kind, floating ones too. @throws Error as `numbers` does */
  words(name: string, words: Uint32Array, valid: Uint8Array): number;
  /** Values that are true or false, as 1 or 0. @throws Error as `numbers` does */
  bools(name: string, values: Uint8Array, valid: Uint8Array): number;
  /** Texts of a column: `codes[row]` indexes what is returned, or is NULL_CODE. @throws Error as `numbers` does */
  texts(name: string, codes: Uint32Array): string[];
  /** Reads columns at once and decompresses them on other threads, for the next time that each is asked for. */
  load(names: readonly string[]): Promise<void>;
}

interface FoundColumn {
  readonly column: FileColumn;
  readonly chunk: FileChunk;
}

/** Room that is used for one column after the other. */
interface ScanRoom {
  rows: number;
  scratch: ReadScratch;
  /** For the pages of a column as they lie in the file. */
  stored: Uint8Array<ArrayBuffer>;
}

function scanRoom(): ScanRoom {
  return { rows: 0, scratch: readScratch(0), stored: new Uint8Array(0) };
}

function makeRoom(room: ScanRoom, rows: number): void {
  if (rows <= room.rows) return;
  room.rows = rows;
  room.scratch = readScratch(rows);
  room.stored = new Uint8Array(16 * rows);
}

function scannedGroup(source: ParquetSource, group: FileGroup, room: ScanRoom): ScannedGroup {
  const { rows } = group;
  if (rows > MOST_GROUP_ROWS) throw new Error(`a row group of ${rows} rows`);
  makeRoom(room, rows);
  const loaded = new Map<string, readonly Page[]>();

  function find(name: string): FoundColumn {
    const found = chunkOfColumn(source.footer, group, name);
    if (found === null) throw new Error(`no column ${name}`);
    return found;
  }

  function pagesOf(name: string, { chunk }: FoundColumn): readonly Page[] {
    const ready = loaded.get(name);
    if (ready === undefined) return storedPages(source.bytes(chunk, room.stored), chunk).map(unpackPage);
    loaded.delete(name);
    return ready;
  }

  function numbers(name: string, words: Uint32Array, valid: Uint8Array | null): number {
    const found = find(name);
    return readNumbers(pagesOf(name, found), found.column, found.chunk, room.scratch, words, valid);
  }

  return {
    rows,
    column: (name) => source.footer.columns.find((column) => column.name === name) ?? null,
    numbers(name, words, valid) {
      const { kind } = find(name).column;
      if (kind !== "i32" && kind !== "i64") throw new Error(`${name} is no whole number`);
      return numbers(name, words, valid);
    },
    words: numbers,
    bools(name, values, valid) {
      const found = find(name);
      return readBools(pagesOf(name, found), found.column, found.chunk, room.scratch, values, valid);
    },
    texts(name, codes) {
      const found = find(name);
      return readTexts(pagesOf(name, found), found.column, found.chunk, room.scratch, codes);
    },
    async load(names) {
      const loading = names.map(async (name) => {
        const found = chunkOfColumn(source.footer, group, name);
        if (found === null) return;
        const { chunk } = found;
        loaded.set(name, await Promise.all(storedPages(source.bytes(chunk), chunk).map(unpackAside)));
      });
      await Promise.all(loading);
    },
  };
}

/** Every row group of a file that is open, in order. @throws Error as `rowGroups` does */
export function* groupsOf(source: ParquetSource, room = scanRoom()): Generator<ScannedGroup, void, void> {
  for (const group of source.footer.groups) yield scannedGroup(source, group, room);
}

/** Every row group of the files, in order. @throws Error where a file is missing or is not decoded here */
export function* rowGroups(paths: Iterable<string>): Generator<ScannedGroup, void, void> {
  const room = scanRoom();
  for (const path of paths) {
    using source = openParquetSource(path);
    yield* groupsOf(source, room);
  }
}

/**
 * The same with some columns loaded: other threads decompress those of the next group while one is taken.
 * @throws Error as `rowGroups` does
 */
export async function* loadedGroups(
  paths: Iterable<string>,
  names: readonly string[],
): AsyncGenerator<ScannedGroup, void, void> {
  const room = scanRoom();
  for (const path of paths) {
    using source = openParquetSource(path);
    const load = (index: number): { group: ScannedGroup; ready: Promise<void> } | null => {
      const next = source.footer.groups[index];
      if (next === undefined) return null;
      const group = scannedGroup(source, next, room);
      const ready = group.load(names);
      // What it fails with is thrown when it is waited for; until then nobody listens.
      ready.catch(() => {});
      return { group, ready };
    };
    let coming = load(0);
    for (let index = 1; coming !== null; index++) {
      const { group, ready } = coming;
      await ready;
      coming = load(index);
      yield group;
    }
  }
}
