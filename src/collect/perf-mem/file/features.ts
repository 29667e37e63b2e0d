/** Feature sections of the header: what recorded the file, on which machine, and how its events are called. */
import { FEATURE } from "./abi.ts";
import { SMALLEST_ATTR_BYTES } from "./attribute.ts";
import type { Bytes } from "./bytes.ts";
import type { EventTable } from "./event-table.ts";

/** Facts of the recording, as far as the file has them. */
export interface FileFacts {
  hostname?: string;
  osrelease?: string;
  version?: string;
  arch?: string;
  cpudesc?: string;
  cpuid?: string;
  command?: readonly string[];
  numa_nodes?: number;
  /** Bytes that one compressed record unpacks to at most. */
  unpacked_limit_bytes?: number;
}

/** Words of a command line, events and PMUs beyond these are no file of perf. */
const MOST_ITEMS = 4096;
const TEXTS = {
  [FEATURE.HOSTNAME]: "hostname",
  [FEATURE.OSRELEASE]: "osrelease",
  [FEATURE.VERSION]: "version",
  [FEATURE.ARCH]: "arch",
  [FEATURE.CPUDESC]: "cpudesc",
  [FEATURE.CPUID]: "cpuid",
} as const;

interface Cursor {
  at: number;
  readonly end: number;
}

/** A string with its padded length before it; null where it does not end in time. */
function stringAt(bytes: Bytes, cursor: Cursor): string | null {
  const length = bytes.u32(cursor.at);
  if (cursor.at + 4 > cursor.end || length > cursor.end - cursor.at - 4) return null;
  const text = bytes.text(cursor.at + 4, cursor.at + 4 + length);
  cursor.at += 4 + length;
  return text;
}

function commandAt(bytes: Bytes, cursor: Cursor): string[] | null {
  const words = Math.min(bytes.u32(cursor.at), MOST_ITEMS);
  cursor.at += 4;
  const out: string[] = [];
  for (let i = 0; i < words; i++) {
    const word = stringAt(bytes, cursor);
    if (word === null) return null;
    out.push(word);
  }
  return out;
}

function eventNames(bytes: Bytes, cursor: Cursor, events: EventTable): boolean {
  const n = Math.min(bytes.u32(cursor.at), MOST_ITEMS);
  const attrBytes = bytes.u32(cursor.at + 4);
  cursor.at += 8;
  if (attrBytes < SMALLEST_ATTR_BYTES) return false;
  for (let position = 0; position < n; position++) {
    const idsAt = cursor.at + attrBytes;
    if (idsAt + 8 > cursor.end) return false;
    const ids = bytes.u32(idsAt);
    cursor.at = idsAt + 4;
    const name = stringAt(bytes, cursor);
    if (name === null || ids > (cursor.end - cursor.at) / 8) return false;
    const list = Array.from({ length: ids }, (_, i) => bytes.u64(cursor.at + 8 * i));
    cursor.at += 8 * ids;
    if (!events.name(name, list, position)) return false;
  }
  return true;
}

function pmuNames(bytes: Bytes, cursor: Cursor): Map<number, string> | null {
  const n = Math.min(bytes.u32(cursor.at), MOST_ITEMS);
  cursor.at += 4;
  const pmus = new Map<number, string>();
  for (let i = 0; i < n; i++) {
    const type = bytes.u32(cursor.at);
    cursor.at += 4;
    const name = stringAt(bytes, cursor);
    if (name === null) return null;
    pmus.set(type, name);
  }
  return pmus;
}

/** Reads the section of one feature at [at, end); false where it is damaged. Features that are not used are skipped. */
export function readFeature(
  bytes: Bytes,
  feature: number,
  offset: number,
  end: number,
  facts: FileFacts,
  events: EventTable,
): boolean {
  if (offset > end || end > bytes.length) return false;
  const cursor = { at: offset, end };
  const named = TEXTS[feature as keyof typeof TEXTS];
  if (named !== undefined) {
    const text = stringAt(bytes, cursor);
    if (text !== null) facts[named] = text;
    return text !== null;
  }
  switch (feature) {
    case FEATURE.CMDLINE: {
      const words = commandAt(bytes, cursor);
      if (words !== null) facts.command = words;
      return words !== null;
    }
    case FEATURE.EVENT_DESC:
      return eventNames(bytes, cursor, events);
    case FEATURE.PMU_MAPPINGS: {
      const pmus = pmuNames(bytes, cursor);
      return pmus !== null && events.pmus(pmus);
    }
    case FEATURE.NUMA:
      facts.numa_nodes = bytes.u32(offset);
      return true;
    case FEATURE.COMPRESSED:
      // Version, type, level, ratio, then the length of the buffer that was compressed at once.
      facts.unpacked_limit_bytes = bytes.u32(offset + 16);
      return true;
    default:
      return true;
  }
}
