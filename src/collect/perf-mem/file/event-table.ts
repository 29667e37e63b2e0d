/** The events of a file and which of them a sample belongs to. */
import { KNOWN_SAMPLE_BITS } from "./abi.ts";
import { type EventAttribute, readAttribute, SMALLEST_ATTR_BYTES } from "./attribute.ts";
import type { Bytes } from "./bytes.ts";
import { type FileEvent, fileEvent } from "./event.ts";

/** More ids than this, over all events, are no file of perf: one per event, CPU and thread. */
const MOST_IDS = 1 << 20;
/** More events than this are no file of perf either. */
const MOST_EVENTS = 1 << 14;
/**
 * Events that are told anew, each time all of them, because one was named or added between samples: perf names them before the first,
 * and whoever does so before each makes a file of some MB take hours.
 */
const MOST_TOLD_ANEW = 1 << 22;
const WORD = 2 ** 32;

interface Entry {
  readonly attribute: EventAttribute;
  name: string | null;
  /** Until it is named. */
  told: FileEvent | null;
}

export interface EventTable {
  /** How many ids there is room for: an event with more is refused before they are read. */
  readonly idsLeft: number;
  /** Adds an event; false where the bytes hold none, or there is no room for it. */
  addAttribute(bytes: Bytes, offset: number, size: number, ids: readonly bigint[]): boolean;
  /** Names the event with one of these ids, or by its place in the list; false where names came too often. */
  name(name: string, ids: readonly bigint[], position: number | null): boolean;
  /** Numbers and names of the PMUs; false where they came too often. */
  pmus(byNumber: ReadonlyMap<number, string>): boolean;
  readonly list: readonly FileEvent[];
  /** Position of the event of an id, given as two words; -1 where none has it. */
  byId(low: number, high: number): number;
}

export function createEventTable(): EventTable {
  const entries: Entry[] = [];
  const positions = new Map<number, number>();
  let idsLeft = MOST_IDS;
  let pmus: ReadonlyMap<number, string> = new Map();
  let list: readonly FileEvent[] | null = null;
  let toldAnew = 0;
  const events = (): readonly FileEvent[] => {
    if (list !== null) return list;
    toldAnew += entries.length;
    list = entries.map((entry) => {
      entry.told ??= fileEvent(entry.attribute, entry.name, pmus);
      return entry.told;
    });
    return list;
  };
  const isTooOften = (): boolean => toldAnew > MOST_TOLD_ANEW;
  return {
    get idsLeft() {
      return idsLeft;
    },
    addAttribute(bytes, start, size, ids) {
      if (size < SMALLEST_ATTR_BYTES || start + size > bytes.length) return false;
      if (ids.length > idsLeft || entries.length === MOST_EVENTS || isTooOften()) return false;
      idsLeft -= ids.length;
      const claimed = bytes.u32(start + 4);
      const used = claimed >= SMALLEST_ATTR_BYTES && claimed <= size ? claimed : size;
      for (const id of ids) positions.set(Number(id), entries.length);
      entries.push({ attribute: readAttribute(bytes, start, used, KNOWN_SAMPLE_BITS), name: null, told: null });
      list = null;
      return true;
    },
    name(name, ids, position) {
      if (isTooOften()) return false;
      const found = ids.map((id) => positions.get(Number(id))).find((index) => index !== undefined) ?? position;
      const entry = found === null ? undefined : entries[found];
      if (entry === undefined || entry.name === name) return true;
      entry.name = name;
      entry.told = null;
      list = null;
      return true;
    },
    pmus(byNumber) {
      if (isTooOften()) return false;
      pmus = byNumber;
      for (const entry of entries) entry.told = null;
      list = null;
      return true;
    },
    get list() {
      return events();
    },
    byId: (low, high) => positions.get(high * WORD + low) ?? -1,
  };
}
