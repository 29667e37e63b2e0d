/** Abbreviations: which attributes the entries of a unit have, and in which form each is written (DWARF 5, 7.5.3). */
import type { ByteView } from "../byte-view.ts";
import { cursorOver, sleb, uleb, unsigned } from "./cursor.ts";
import { FORM } from "./forms.ts";
import type { Patience } from "./patience.ts";

export interface Abbreviation {
  readonly tag: number;
  readonly hasChildren: boolean;
  /** Of its attributes, in their order. */
  readonly attributes: readonly number[];
  readonly forms: readonly number[];
  /** The value of those that have it here. */
  readonly constants: readonly number[];
}

export type Abbreviations = ReadonlyMap<number, Abbreviation>;

const MOST_CODES = 1 << 16;
const MOST_ATTRIBUTES = 1 << 20;
/** Those of one unit take some KiB; read in a window that begins with them. */
const WINDOW_BYTES = 64 << 10;
const MOST_BYTES = 8 << 20;
/** What a table costs of patience at least: its window is read. */
const WINDOW_STEPS = 2048;

/** Null where the window ends within them, or they are more than any compiler writes. */
function parsed(bytes: Uint8Array, patience: Patience): Abbreviations | null {
  const cursor = cursorOver(bytes);
  const byCode = new Map<number, Abbreviation>();
  let count = 0;
  while (byCode.size < MOST_CODES && count < MOST_ATTRIBUTES && patience.steps > 0) {
    patience.steps -= 1;
    const code = uleb(cursor);
    if (cursor.overran) return null;
    if (code === 0) return byCode;
    const tag = uleb(cursor);
    const hasChildren = unsigned(cursor, 1) !== 0;
    const [attributes, forms, constants]: [number[], number[], number[]] = [[], [], []];
    for (; count < MOST_ATTRIBUTES; count++) {
      patience.steps -= 1;
      const attribute = uleb(cursor);
      const form = uleb(cursor);
      if (cursor.overran) return null;
      const constant = form === FORM.implicitConst ? sleb(cursor) : 0;
      if (attribute === 0 && form === 0) break;
      attributes.push(attribute);
      forms.push(form);
      constants.push(constant);
    }
    byCode.set(code, { tag, hasChildren, attributes, forms, constants });
  }
  return null;
}

/** The abbreviations that begin at an offset; null where these bytes are none. */
export function abbreviationsAt(view: ByteView, offset: number, patience: Patience): Abbreviations | null {
  for (let room = WINDOW_BYTES; room <= MOST_BYTES; room *= 8) {
    const size = Math.min(room, view.length - offset);
    const bytes = view.bytes(offset, size);
    patience.steps -= WINDOW_STEPS;
    const found = bytes && parsed(bytes, patience);
    if (found || size < room) return found;
  }
  return null;
}
