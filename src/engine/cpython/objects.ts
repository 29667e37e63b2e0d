/** Objects of a Python program, read in its memory from outside: it goes on meanwhile, so that what cannot be is null. */
import type { ReadMemory } from "../engine.ts";
import { FIELDS, type PythonLayout, TYPE_FLAGS } from "./layout.ts";

export interface PythonObjects {
  /** Name of the class of an object. */
  className(object: bigint): string | null;
  /** An attribute that the object has itself. */
  attribute(object: bigint, name: string): bigint | null;
  /** What a dict has by texts of ASCII, in its order. */
  entries(dict: bigint): ReadonlyMap<string, bigint> | null;
  /** Of a list or a tuple. */
  elements(sequence: bigint): readonly bigint[] | null;
  /** A text of ASCII. */
  text(object: bigint): string | null;
  /** A whole number from 0 to 2^60. */
  number(object: bigint): number | null;
  /** What a function has from around it. */
  closure(callable: bigint): readonly bigint[] | null;
  /** A pointer in an object. */
  pointer(address: bigint): bigint | null;
}

const WORD = 8;
const MOST_ELEMENTS = 2 ** 16;
const MOST_TEXT = 512;
const MOST_NAME = 64n;
const DIGIT_BITS = 30;
/** Kinds of keys: with their hashes; texts alone, with their values or without. */
const [GENERAL, TEXTS, SHARED] = [0, 1, 2];
/** Bits of the state of a text: whole in one piece, and ASCII. */
const ASCII = 0b1100000;

interface TypeFacts {
  readonly type: bigint;
  readonly flags: bigint;
  readonly name: string | null;
}
const NO_TYPE: TypeFacts = { type: 0n, flags: 0n, name: null };

/** What was read of the classes of a program, by their addresses: they stay where they are. */
export interface PythonClasses {
  readonly types: Map<bigint, TypeFacts>;
  /** Names of the attributes that the objects of one keep without a dict. */
  readonly names: Map<bigint, readonly (string | null)[] | null>;
}

/** None yet. */
export function pythonClasses(): PythonClasses {
  return { types: new Map(), names: new Map() };
}

/**
 * One look at objects: what was read of one is kept, so that another look needs another reader.
 * @param classes those that earlier looks have read
 */
export function pythonObjects(
  read: ReadMemory,
  layout: PythonLayout,
  { types, names }: PythonClasses = pythonClasses(),
): PythonObjects {
  const texts = new Map<bigint, string | null>();
  const attributes = new Map<bigint, ReadonlyMap<string, bigint>>();

  function bytesAt(address: bigint, length: number): DataView | null {
    const bytes = read(address, length);
    return bytes === null ? null : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  const pointer = (address: bigint): bigint | null => bytesAt(address, WORD)?.getBigUint64(0, true) ?? null;
  const field = (object: bigint, offset: number): bigint | null => pointer(object + BigInt(offset));

  function typeName(address: bigint): string | null {
    const name: number[] = [];
    // A name may end with its page.
    for (let i = 0n; i < MOST_NAME; i++) {
      const [byte = 0] = read(address + i, 1) ?? [];
      if (byte === 0) break;
      name.push(byte);
    }
    return name.length === 0 ? null : String.fromCharCode(...name);
  }

  function typeOf(object: bigint): TypeFacts {
    const type = field(object, FIELDS.type);
    if (type === null) return NO_TYPE;
    const earlier = types.get(type);
    if (earlier !== undefined) return earlier;
    const nameAt = field(type, FIELDS.typeName);
    const name = nameAt === null ? null : typeName(nameAt);
    const facts = { type, flags: field(type, FIELDS.typeFlags) ?? 0n, name };
    types.set(type, facts);
    return facts;
  }
  const isA = (object: bigint, flag: bigint): boolean => (typeOf(object).flags & flag) !== 0n;

  function words(address: bigint, count: number): bigint[] | null {
    if (count === 0) return [];
    const view = bytesAt(address, count * WORD);
    return view && Array.from({ length: count }, (_, i) => view.getBigUint64(i * WORD, true));
  }

  function text(object: bigint): string | null {
    const earlier = texts.get(object);
    if (earlier !== undefined) return earlier;
    const found = readText(object);
    texts.set(object, found);
    return found;
  }

  function readText(object: bigint): string | null {
    if (!isA(object, TYPE_FLAGS.text)) return null;
    const head = bytesAt(object, layout.text);
    const length = Number(head?.getBigInt64(FIELDS.textLength, true) ?? -1n);
    if (head === null || length < 0 || length > MOST_TEXT) return null;
    if ((head.getUint32(FIELDS.textState, true) & ASCII) !== ASCII) return null;
    if (length === 0) return "";
    const characters = read(object + BigInt(layout.text), length);
    return characters === null || characters.some((byte) => byte > 127) ? null : String.fromCharCode(...characters);
  }

  /** Names and values of the keys of a dict; values are 0 where they lie elsewhere. */
  function keyed(keys: bigint): { readonly keys: readonly bigint[]; readonly values: readonly bigint[] } | null {
    const head = bytesAt(keys, FIELDS.keysIndexes);
    const count = Number(head?.getBigInt64(FIELDS.keysCount, true) ?? -1n);
    if (head === null || count < 0 || count > MOST_ELEMENTS) return null;
    const kind = head.getUint8(FIELDS.keysKind);
    if (kind !== GENERAL && kind !== TEXTS && kind !== SHARED) return null;
    const indexBits = head.getUint8(FIELDS.keysIndexBytes);
    if (indexBits > 32) return null;
    const wide = kind === GENERAL ? 3 : 2;
    const list = words(keys + BigInt(FIELDS.keysIndexes) + (1n << BigInt(indexBits)), count * wide);
    if (list === null) return null;
    const every = (from: number) => Array.from({ length: count }, (_, i) => list[i * wide + from] ?? 0n);
    return { keys: every(wide - 2), values: kind === SHARED ? every(0).fill(0n) : every(wide - 1) };
  }

  function entries(dict: bigint): Map<string, bigint> | null {
    if (!isA(dict, TYPE_FLAGS.dict)) return null;
    const keys = field(dict, FIELDS.dictKeys);
    const valuesAt = field(dict, FIELDS.dictValues);
    const found = keys === null ? null : keyed(keys);
    if (found === null || valuesAt === null) return null;
    const values = valuesAt === 0n ? found.values : words(valuesAt + BigInt(layout.valuesHead), found.keys.length);
    const out = new Map<string, bigint>();
    for (const [i, key] of found.keys.entries()) {
      const value = values?.[i] ?? 0n;
      const name = key === 0n || value === 0n ? null : text(key);
      if (name !== null) out.set(name, value);
    }
    return out;
  }

  function sharedNames(type: bigint): readonly (string | null)[] | null {
    const earlier = names.get(type);
    if (earlier !== undefined) return earlier;
    const keys = field(type, layout.sharedNames);
    const found = keys === null || keys === 0n ? null : keyed(keys);
    const list = found === null ? null : found.keys.map((key) => (key === 0n ? null : text(key)));
    names.set(type, list);
    return list;
  }

  /** The dict of an object, or where the values lie that it keeps without one. */
  function attributePlace(object: bigint): { readonly dict: bigint } | { readonly values: bigint } | null {
    const { type, flags } = typeOf(object);
    if ((flags & TYPE_FLAGS.managedDict) === 0n) return null;
    const { values: kept } = layout;
    if (kept === "inside" && (flags & TYPE_FLAGS.inlineValues) !== 0n) {
      const values = object + (field(type, FIELDS.typeObjectBytes) ?? 0n);
      const isValid = bytesAt(values, WORD)?.getUint8(FIELDS.valuesValid);
      if (isValid === undefined) return null;
      if (isValid === 1) return { values: values + BigInt(layout.valuesHead) };
    }
    const place = pointer(object - BigInt(layout.dictBefore));
    if (place === null) return null;
    if (kept === "inside") return { dict: place };
    if (kept === "marked") return place & 1n ? { values: place + 1n } : { dict: place };
    const values = pointer(object - BigInt(kept.before));
    return values === null || values === 0n ? { dict: place } : { values };
  }

  function attributesOf(object: bigint): ReadonlyMap<string, bigint> {
    const earlier = attributes.get(object);
    if (earlier !== undefined) return earlier;
    const place = attributePlace(object);
    let found = new Map<string, bigint>();
    if (place !== null && "dict" in place) found = (place.dict === 0n ? null : entries(place.dict)) ?? found;
    if (place !== null && "values" in place) {
      const list = sharedNames(typeOf(object).type) ?? [];
      const values = words(place.values, list.length) ?? [];
      for (const [i, name] of list.entries()) {
        const value = values[i] ?? 0n;
        if (name !== null && value !== 0n) found.set(name, value);
      }
    }
    attributes.set(object, found);
    return found;
  }

  function elements(sequence: bigint): readonly bigint[] | null {
    const { flags } = typeOf(sequence);
    const length = Number(field(sequence, FIELDS.length) ?? -1n);
    if (!(length >= 0 && length <= MOST_ELEMENTS)) return null;
    if (flags & TYPE_FLAGS.tuple) return words(sequence + BigInt(FIELDS.items), length);
    const items = flags & TYPE_FLAGS.list ? field(sequence, FIELDS.items) : null;
    return items === null ? null : words(items, length);
  }

  return {
    className: (object) => typeOf(object).name,
    attribute: (object, name) => attributesOf(object).get(name) ?? null,
    entries,
    elements,
    text,
    number(object) {
      const count = Number((field(object, FIELDS.digitCount) ?? -1n) >> BigInt(layout.digitCountShift));
      const view = bytesAt(object + BigInt(FIELDS.digits), WORD);
      if (view === null || count < 0 || count > 2) return null;
      const [low, high] = [view.getUint32(0, true), view.getUint32(4, true)];
      return (count > 0 ? low : 0) + (count > 1 ? high * 2 ** DIGIT_BITS : 0);
    },
    closure(callable) {
      const around = field(callable, FIELDS.closure);
      const cells = around === null || around === 0n ? null : elements(around);
      return cells?.map((cell) => field(cell, FIELDS.cell) ?? 0n) ?? null;
    },
    pointer,
  };
}
