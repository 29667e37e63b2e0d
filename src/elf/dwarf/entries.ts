/** Entries of a unit, one behind the other: a tag, and those attributes by which the layout of a type is told. */
import { type Abbreviations, abbreviationsAt } from "./abbreviations.ts";
import { type Cursor, cursorOver, uleb } from "./cursor.ts";
import type { DebugSections } from "./debug-sections.ts";
import { FORM, formValue } from "./forms.ts";
import type { Patience } from "./patience.ts";
import type { Unit } from "./units.ts";

export const TAG = {
  arrayType: 0x01,
  classType: 0x02,
  enumerationType: 0x04,
  member: 0x0d,
  pointerType: 0x0f,
  structureType: 0x13,
  typedef: 0x16,
  unionType: 0x17,
  subrangeType: 0x21,
  baseType: 0x24,
  constType: 0x26,
  enumerator: 0x28,
  volatileType: 0x35,
  restrictType: 0x37,
  atomicType: 0x47,
} as const;

const ATTRIBUTE = {
  sibling: 0x01,
  name: 0x03,
  byteSize: 0x0b,
  constValue: 0x1c,
  upperBound: 0x2f,
  count: 0x37,
  memberLocation: 0x38,
  declaration: 0x3c,
  type: 0x49,
  stringOffsetsBase: 0x72,
} as const;

/** One entry; the same object is filled anew for each. What an entry does not tell is null. */
export interface Entry {
  /** 0 for the end of a list of children. */
  tag: number;
  hasChildren: boolean;
  /** Form and value of the name. */
  nameForm: number | null;
  nameValue: number;
  /** In the unit: where the next entry of the same list begins. */
  sibling: number | null;
  bytes: number | null;
  /** In .debug_info: the entry of the type. */
  type: number | null;
  location: number | null;
  isDeclaration: boolean;
  /** Of an enumerator. */
  constant: number | null;
  /** Elements of an array in one dimension. */
  count: number | null;
  stringOffsetsBase: number;
}

export const newEntry = (): Entry => ({
  tag: 0,
  hasChildren: false,
  nameForm: null,
  nameValue: 0,
  sibling: null,
  bytes: null,
  type: null,
  location: null,
  isDeclaration: false,
  constant: null,
  count: null,
  stringOffsetsBase: 0,
});

export interface OpenUnit {
  readonly unit: Unit;
  readonly cursor: Cursor;
  readonly abbreviations: Abbreviations;
  readonly sections: DebugSections;
  /** Of the unit's names in .debug_str_offsets. */
  stringBase: number;
  readonly patience: Patience;
}

const CONSTANTS: ReadonlySet<number> = new Set([
  FORM.data1,
  FORM.data2,
  FORM.data4,
  FORM.data8,
  FORM.udata,
  FORM.sdata,
  FORM.implicitConst,
]);
const IN_UNIT: ReadonlySet<number> = new Set([FORM.ref1, FORM.ref2, FORM.ref4, FORM.ref8, FORM.refUdata]);
const LONGEST_NAME_BYTES = 256;

function setAttribute(entry: Entry, attribute: number, form: number, value: number, unit: Unit): void {
  switch (attribute) {
    case ATTRIBUTE.sibling:
      if (IN_UNIT.has(form)) entry.sibling = value;
      break;
    case ATTRIBUTE.name:
      entry.nameForm = form;
      entry.nameValue = value;
      break;
    case ATTRIBUTE.byteSize:
      if (CONSTANTS.has(form)) entry.bytes = value;
      break;
    case ATTRIBUTE.constValue:
      if (CONSTANTS.has(form)) entry.constant = value;
      break;
    case ATTRIBUTE.upperBound:
      if (CONSTANTS.has(form)) entry.count = value + 1;
      break;
    case ATTRIBUTE.count:
      if (CONSTANTS.has(form)) entry.count = value;
      break;
    case ATTRIBUTE.memberLocation:
      if (CONSTANTS.has(form)) entry.location = value;
      break;
    case ATTRIBUTE.declaration:
      entry.isDeclaration = value !== 0;
      break;
    case ATTRIBUTE.type:
      if (IN_UNIT.has(form)) entry.type = unit.start + value;
      else if (form === FORM.refAddr) entry.type = value;
      break;
    case ATTRIBUTE.stringOffsetsBase:
      entry.stringOffsetsBase = value;
  }
}

/** Reads the entry at the cursor; false at the end of the unit, where its bytes are none, and where patience is at its end. */
export function readEntry(open: OpenUnit, entry: Entry): boolean {
  const { cursor, abbreviations, unit, patience } = open;
  Object.assign(entry, BLANK);
  if (cursor.at >= cursor.bytes.length || patience.steps <= 0) return false;
  patience.steps -= 1;
  const code = uleb(cursor);
  if (code === 0) return !cursor.overran;
  const abbreviation = abbreviations.get(code);
  if (abbreviation === undefined) return false;
  entry.tag = abbreviation.tag;
  entry.hasChildren = abbreviation.hasChildren;
  const { attributes, forms, constants } = abbreviation;
  patience.steps -= attributes.length;
  for (let i = 0; i < attributes.length; i++) {
    const form = forms[i] as number;
    const value = formValue(cursor, form, constants[i] as number, unit);
    setAttribute(entry, attributes[i] as number, form, value, unit);
  }
  return !cursor.overran;
}
const BLANK: Readonly<Entry> = newEntry();

/** Goes on behind the children of the entry that was read last; false where they do not end. @param scratch is written over */
export function skipChildren(open: OpenUnit, { hasChildren, sibling }: Readonly<Entry>, scratch: Entry): boolean {
  if (!hasChildren) return true;
  const { cursor } = open;
  if (sibling !== null && sibling > cursor.at && sibling <= cursor.bytes.length) {
    cursor.at = sibling;
    return true;
  }
  for (let depth = 1; depth > 0; ) {
    if (!readEntry(open, scratch)) return false;
    if (scratch.tag === 0) depth -= 1;
    else if (scratch.hasChildren) depth += 1;
  }
  return true;
}

/** The bytes of a unit; null where they are not there, or where patience does not reach. */
export function unitBytes(sections: DebugSections, unit: Unit, patience: Patience): Uint8Array | null {
  patience.bytes -= unit.bytes;
  return patience.bytes < 0 ? null : (sections.info.bytes(unit.start, unit.bytes)?.slice() ?? null);
}

/** A unit at its first entry; null where it has no abbreviations. */
export function openUnit(sections: DebugSections, unit: Unit, bytes: Uint8Array, patience: Patience): OpenUnit | null {
  const abbreviations = abbreviationsAt(sections.abbreviations, unit.abbreviationsAt, patience);
  if (abbreviations === null) return null;
  return { unit, cursor: cursorOver(bytes, unit.first), abbreviations, sections, stringBase: 0, patience };
}

/** Where the text of a name that has a number begins in .debug_str; null where the table lacks it. */
function indexedPlace({ sections, unit, stringBase }: OpenUnit, index: number): number | null {
  const place = stringBase + index * unit.offsetBytes;
  return unit.offsetBytes === 8 ? sections.stringOffsets.u64(place) : sections.stringOffsets.u32(place);
}

/** A name as text; null where there is none, or where it lies in another file. */
export function nameOf(open: OpenUnit, form: number | null, value: number): string | null {
  const { sections, cursor } = open;
  switch (form) {
    case FORM.strp:
      return sections.strings.text(value, LONGEST_NAME_BYTES);
    case FORM.string: {
      const end = cursor.bytes.indexOf(0, value);
      return end < 0 || end - value > LONGEST_NAME_BYTES
        ? null
        : String.fromCharCode(...cursor.bytes.subarray(value, end));
    }
    case FORM.strx:
    case FORM.strx1:
    case FORM.strx2:
    case FORM.strx3:
    case FORM.strx4:
    case FORM.gnuStrx: {
      const place = indexedPlace(open, value);
      return place === null ? null : sections.strings.text(place, LONGEST_NAME_BYTES);
    }
    default:
      return null;
  }
}
