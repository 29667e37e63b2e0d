/** Samples of stores, read back from the labelled trace in order of time. */
import { readNumbers, readScratch, readTexts } from "../../columnar/read/column.ts";
import { chunkOfColumn, type FileGroup } from "../../columnar/read/footer.ts";
import { storedPages, unpackAside } from "../../columnar/read/pages.ts";
import { openParquetSource, type ParquetSource } from "../../columnar/read/parquet-file.ts";

/** Samples of one row group; arrays may be longer than `rows`, and change when the next group is asked for. */
export interface StoreSamples {
  readonly rows: number;
  /** Pairs of 32-bit words, low word first. */
  readonly address: Uint32Array;
  /** CLOCK_MONOTONIC, ns: pairs of words as above. */
  readonly timestamp_ns: Uint32Array;
  readonly region_id: Uint32Array;
  readonly pid: Uint32Array;
  /** Position in `sources`. */
  readonly source: Uint32Array;
  readonly sources: readonly string[];
}

const STORES: ReadonlySet<string> = new Set(["store", "load_store"]);
/** Watches see every store, and a timer sees loads that stall. */
const NO_SAMPLES: ReadonlySet<string> = new Set(["watch", "clock"]);
const TEXTS = ["op_type", "source"] as const;
const NUMBERS = ["period", "address", "timestamp_ns", "region_id", "pid"] as const;

function groupRoom(rows: number) {
  return {
    scratch: readScratch(rows),
    /** Rows of the group that are kept. */
    rows: new Uint32Array(rows),
    valid: new Uint8Array(rows),
    op_type: new Uint32Array(rows),
    source: new Uint32Array(rows),
    period: new Uint32Array(2 * rows),
    address: new Uint32Array(2 * rows),
    timestamp_ns: new Uint32Array(2 * rows),
    region_id: new Uint32Array(rows),
    pid: new Uint32Array(rows),
  };
}

type GroupRoom = ReturnType<typeof groupRoom>;

/** A column of one group, decompressed on other threads. */
async function load(source: ParquetSource, group: FileGroup, name: string) {
  const found = chunkOfColumn(source.footer, group, name);
  if (found === null) throw new Error(`no column ${name}`);
  const pages = await Promise.all(storedPages(source.bytes(found.chunk), found.chunk).map(unpackAside));
  return { ...found, pages };
}

/** Finds the rows that are samples of stores; returns how many, and the texts of `source`. */
async function findStores(source: ParquetSource, group: FileGroup, room: GroupRoom) {
  const [ops = [], sources = []] = await Promise.all(
    TEXTS.map(async (name) => {
      const { pages, column, chunk } = await load(source, group, name);
      return readTexts(pages, column, chunk, room.scratch, room[name]);
    }),
  );
  const isStore = ops.map((text) => STORES.has(text));
  const isSample = sources.map((text) => !NO_SAMPLES.has(text));
  let kept = 0;
  for (let row = 0; row < group.rows; row++) {
    if (isStore[room.op_type[row] as number] && isSample[room.source[row] as number]) room.rows[kept++] = row;
  }
  return { kept, sources };
}

/** Moves the rows that are kept to the front, but for those that stand for no store. */
function gather(room: GroupRoom, kept: number): number {
  const { rows, valid, period, address, timestamp_ns, region_id, pid, source } = room;
  let to = 0;
  for (let i = 0; i < kept; i++) {
    const row = rows[i] as number;
    if (valid[row] === 1 && period[2 * row] === 0 && period[2 * row + 1] === 0) continue;
    address[2 * to] = address[2 * row] as number;
    address[2 * to + 1] = address[2 * row + 1] as number;
    timestamp_ns[2 * to] = timestamp_ns[2 * row] as number;
    timestamp_ns[2 * to + 1] = timestamp_ns[2 * row + 1] as number;
    region_id[to] = region_id[row] as number;
    pid[to] = pid[row] as number;
    source[to++] = source[row] as number;
  }
  return to;
}

/**
 * Samples of stores of every source but watches and timers, one row group after the other.
 * @param parts files of `trace/` as this package writes them, in order of time
 * @throws Error where one is missing or is not such a file
 */
export async function* storeSamples(parts: readonly string[]): AsyncGenerator<StoreSamples> {
  let room = groupRoom(0);
  for (const path of parts) {
    using source = openParquetSource(path);
    for (const group of source.footer.groups) {
      if (group.rows > room.rows.length) room = groupRoom(group.rows);
      const { kept, sources } = await findStores(source, group, room);
      if (kept === 0) continue;
      const loaded = await Promise.all(NUMBERS.map((name) => load(source, group, name)));
      for (const [i, { pages, column, chunk }] of loaded.entries()) {
        // The period comes first: of the others no row that is kept lacks a value.
        readNumbers(pages, column, chunk, room.scratch, room[NUMBERS[i] ?? "pid"], i === 0 ? room.valid : null);
      }
      yield { ...room, rows: gather(room, kept), sources };
    }
  }
}
