/** Structures and enumerations by their names from debugging data (DWARF 4 and 5), as C and C++ compilers write it. */
import { firstIndex } from "../../statistics/first-index.ts";
import { namePlaces } from "../name-places.ts";
import type { DebugSections } from "./debug-sections.ts";
import {
  type Entry,
  nameOf,
  newEntry,
  type OpenUnit,
  openUnit,
  readEntry,
  skipChildren,
  TAG,
  unitBytes,
} from "./entries.ts";
import { newPatience } from "./patience.ts";
import { type FoundUnits, unitsIn } from "./units.ts";

export interface Member {
  readonly offset: number;
  /** Null where its type does not say. */
  readonly bytes: number | null;
}

export interface Definitions {
  readonly structures: ReadonlyMap<string, { readonly bytes: number; readonly members: ReadonlyMap<string, Member> }>;
  readonly enumerations: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export type FoundDefinitions =
  /** What was found; `untold` says why the rest was not, and is null where nothing is missing. */
  | ({ readonly ok: true; readonly untold: string | null } & Definitions)
  | { readonly ok: false; readonly hasNone: boolean; readonly reason: string };

/** Longer units are not read, and longer tables of names not searched. */
const MOST_UNIT_BYTES = 32 << 20;
const MOST_STRING_BYTES = 256 << 20;
/** Places of one name: a linker leaves one of each, and the ends of longer names. */
const MOST_PLACES = 16;
/** Members of a structure and values of an enumeration. */
const MOST_PARTS = 4096;
const MOST_STEPS = 16;
const DEFINES: ReadonlySet<number> = new Set([TAG.structureType, TAG.classType, TAG.enumerationType]);
const SAME_SIZE: ReadonlySet<number> = new Set([
  TAG.typedef,
  TAG.constType,
  TAG.volatileType,
  TAG.restrictType,
  TAG.atomicType,
]);

/** How a name is written where an entry has it: by its place in .debug_str, or itself. */
function patternsOf(name: string, places: ReadonlyMap<number, string>): Buffer[] {
  const patterns = [Buffer.from(`${name}\0`, "latin1")];
  for (const [place, found] of places) {
    if (found !== name || patterns.length > MOST_PLACES) continue;
    const pattern = Buffer.alloc(4);
    pattern.writeUInt32LE(place);
    patterns.push(pattern);
  }
  return patterns;
}

/**
 * Finds the complete definitions of these names outside of any other scope. Units are read one at a time, the smallest first,
 * as any that has the definition says the same of it: a file in C has it in some 100 KiB.
 */
export function findDefinitions(sections: DebugSections, names: readonly string[]): FoundDefinitions {
  const found: FoundUnits = unitsIn(sections.info);
  const structures = new Map<string, { bytes: number; members: Map<string, Member> }>();
  const enumerations = new Map<string, Map<string, number>>();
  const patience = newPatience();
  const places = namePlaces(sections.strings, 0, Math.min(sections.strings.length, MOST_STRING_BYTES), names);
  const missing = new Map(names.map((name) => [name, patternsOf(name, places)]));
  const [entry, scratch] = [newEntry(), newEntry()];

  /** Opens the unit in which an entry lies, at that entry. */
  function openAt(near: OpenUnit, offset: number): OpenUnit | null {
    const { start, bytes: nearBytes } = near.unit;
    if (offset >= start && offset < start + nearBytes)
      return { ...near, cursor: { ...near.cursor, at: offset - start, overran: false } };
    const { units } = found;
    const unit = units[firstIndex(units.length, (i) => (units[i]?.start ?? 0) <= offset) - 1];
    if (unit === undefined || offset >= unit.start + unit.bytes || unit.bytes > MOST_UNIT_BYTES) return null;
    const bytes = unitBytes(sections, unit, patience);
    const open = bytes && openUnit(sections, unit, bytes, patience);
    if (open !== null) open.cursor.at = offset - unit.start;
    return open;
  }

  /** Bytes of a type; null where its entries do not say. */
  function bytesOfType(near: OpenUnit, offset: number | null): number | null {
    let factor = 1;
    let place = offset;
    for (let i = 0; i < MOST_STEPS && place !== null; i++) {
      const open = openAt(near, place);
      const one = newEntry();
      if (open === null || !readEntry(open, one)) return null;
      if (one.bytes !== null) return factor * one.bytes;
      if (one.tag === TAG.pointerType) return factor * open.unit.addressBytes;
      if (one.tag === TAG.arrayType) {
        const elements = elementsOf(open, one);
        if (elements === null) return null;
        factor *= elements;
      } else if (!SAME_SIZE.has(one.tag)) return null;
      place = one.type;
    }
    return null;
  }

  /** Elements of an array in all of its dimensions; the cursor is behind its entry. */
  function elementsOf(open: OpenUnit, { hasChildren }: Entry): number | null {
    let elements = 1;
    for (let i = 0; hasChildren && i < MOST_STEPS; i++) {
      if (!readEntry(open, scratch)) return null;
      if (scratch.tag === 0) return elements;
      if (scratch.tag !== TAG.subrangeType || scratch.count === null) return null;
      elements *= scratch.count;
    }
    return null;
  }

  /** Goes through the children of a definition; false where they do not end. */
  function eachChild(open: OpenUnit, { hasChildren }: Entry, visit: (name: string, child: Entry) => void): boolean {
    const child = newEntry();
    for (let i = 0; hasChildren && i < MOST_PARTS; i++) {
      if (!readEntry(open, child)) return false;
      if (child.tag === 0) return true;
      const name = nameOf(open, child.nameForm, child.nameValue);
      if (name !== null) visit(name, child);
      if (!skipChildren(open, child, scratch)) return false;
    }
    return !hasChildren;
  }

  function define(open: OpenUnit, name: string, { ...definition }: Entry): boolean {
    if (definition.tag === TAG.enumerationType) {
      const values = new Map<string, number>();
      const isWhole = eachChild(open, definition, (part, { tag, constant }) => {
        if (tag === TAG.enumerator && constant !== null) values.set(part, constant);
      });
      if (isWhole) enumerations.set(name, values);
      return isWhole;
    }
    const members = new Map<string, Member>();
    const isWhole = eachChild(open, definition, (part, { tag, location, type }) => {
      if (tag === TAG.member && location !== null)
        members.set(part, { offset: location, bytes: bytesOfType(open, type) });
    });
    if (isWhole) structures.set(name, { bytes: definition.bytes ?? 0, members });
    return isWhole;
  }

  function search(open: OpenUnit): void {
    if (!readEntry(open, entry) || !entry.hasChildren) return;
    open.stringBase = entry.stringOffsetsBase;
    while (missing.size > 0 && readEntry(open, entry) && entry.tag !== 0) {
      if (DEFINES.has(entry.tag) && !entry.isDeclaration && entry.nameForm !== null) {
        const name = nameOf(open, entry.nameForm, entry.nameValue);
        if (name !== null && missing.has(name)) {
          if (!define(open, name, entry)) return;
          missing.delete(name);
          continue;
        }
      }
      if (!skipChildren(open, entry, scratch)) return;
    }
  }

  let gaveUp = false;
  for (const unit of [...found.units].sort((one, other) => one.bytes - other.bytes)) {
    if (missing.size === 0) break;
    const bytes = unit.bytes > MOST_UNIT_BYTES || patience.steps <= 0 ? null : unitBytes(sections, unit, patience);
    if (bytes === null) {
      gaveUp = true;
      break;
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    // Names that are told by their number in a table, or by places of 8 bytes, are not seen in the text.
    const mayHave = sections.stringOffsets.length > 0 || unit.offsetBytes === 8;
    if (!mayHave && ![...missing.values()].some((patterns) => patterns.some((one) => text.includes(one)))) continue;
    const open = openUnit(sections, unit, bytes, patience);
    if (open !== null) search(open);
  }
  if (missing.size === 0) return { ok: true, structures, enumerations, untold: null };
  const why = gaveUp ? "not in as much of its debugging data as is read" : whyMissing(found);
  const untold = `${[...missing.keys()].join(", ")}: ${why}`;
  return structures.size + enumerations.size === 0
    ? { ok: false, hasNone: false, reason: untold }
    : { ok: true, structures, enumerations, untold };
}

function whyMissing({ elsewhere, otherVersions, complete }: FoundUnits): string {
  if (elsewhere > 0) return `${elsewhere} of its units have their entries in other files (.dwo)`;
  if (otherVersions > 0) return `${otherVersions} of its units are of other versions than DWARF 4 and 5`;
  return complete ? "not defined in its debugging data" : "its debugging data is cut short";
}
