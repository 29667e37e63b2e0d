/** Records of processes of which no library is known yet: what they map is told elsewhere, and may be heard of later. */
import type { RawRecord } from "./raw-record.ts";

/** A record with the number of its engine. */
export interface Found {
  readonly engine: number;
  readonly record: RawRecord;
}

export interface EarlyRecords {
  /** Keeps a copy of what has to wait, also behind others that do. @returns false where it has not */
  keep(found: Found): boolean;
  /** Lets go of those that have waited long enough, or need not any more, in their order. @param all of the others too */
  take(all?: boolean): Found[];
  /** True where nothing waits. */
  isEmpty(): boolean;
}

/** What is mapped is heard of in the next turn, and looked at behind it: it is known in the third. A fork maps nothing. */
const MOST_TURNS = 3;

/** The ring gives the place of a record to another one. */
function copied({ engine, record }: Found): Found {
  const { buffer, byteOffset, byteLength } = record.payload;
  return { engine, record: { ...record, payload: new DataView(buffer.slice(byteOffset, byteOffset + byteLength)) } };
}

/** @param isKnown whether it is known by which libraries a record is to be read */
export function earlyRecords(isKnown: (found: Found) => boolean): EarlyRecords {
  const waiting = new Map<string, { turns: number; readonly records: Found[] }>();
  const keyOf = ({ engine, record }: Found): string => `${engine}/${record.pid}/${record.execEpoch}`;
  return {
    keep(found) {
      // As nearly always: no key is made for it.
      if (waiting.size === 0 && isKnown(found)) return false;
      const key = keyOf(found);
      const mine = waiting.get(key) ?? (isKnown(found) ? null : { turns: 0, records: [] });
      if (mine === null) return false;
      mine.records.push(copied(found));
      waiting.set(key, mine);
      return true;
    },
    take(all = false) {
      const due: Found[] = [];
      for (const [key, mine] of waiting) {
        mine.turns += 1;
        if (!all && mine.turns < MOST_TURNS && !mine.records.slice(0, 1).some(isKnown)) continue;
        due.push(...mine.records);
        waiting.delete(key);
      }
      return due;
    },
    isEmpty: () => waiting.size === 0,
  };
}
