/** The forms in which attributes are written, and how each is read or stepped over (DWARF 5, 7.5.6; GNU's of DWARF 4). */
import { type Cursor, inlineText, sleb, step, uleb, unsigned } from "./cursor.ts";
import type { Unit } from "./units.ts";

export const FORM = {
  addr: 0x01,
  block2: 0x03,
  block4: 0x04,
  data2: 0x05,
  data4: 0x06,
  data8: 0x07,
  string: 0x08,
  block: 0x09,
  block1: 0x0a,
  data1: 0x0b,
  flag: 0x0c,
  sdata: 0x0d,
  strp: 0x0e,
  udata: 0x0f,
  refAddr: 0x10,
  ref1: 0x11,
  ref2: 0x12,
  ref4: 0x13,
  ref8: 0x14,
  refUdata: 0x15,
  indirect: 0x16,
  secOffset: 0x17,
  exprloc: 0x18,
  flagPresent: 0x19,
  strx: 0x1a,
  addrx: 0x1b,
  refSup4: 0x1c,
  strpSup: 0x1d,
  data16: 0x1e,
  lineStrp: 0x1f,
  refSig8: 0x20,
  implicitConst: 0x21,
  loclistx: 0x22,
  rnglistx: 0x23,
  refSup8: 0x24,
  strx1: 0x25,
  strx2: 0x26,
  strx3: 0x27,
  strx4: 0x28,
  addrx1: 0x29,
  addrx2: 0x2a,
  addrx3: 0x2b,
  addrx4: 0x2c,
  gnuAddrx: 0x1f01,
  gnuStrx: 0x1f02,
  gnuRefAlt: 0x1f20,
  gnuStrpAlt: 0x1f21,
} as const;

/** Bytes of the forms that have always as many. */
const FIXED_BYTES = new Map<number, number>([
  [FORM.data1, 1],
  [FORM.flag, 1],
  [FORM.ref1, 1],
  [FORM.strx1, 1],
  [FORM.addrx1, 1],
  [FORM.data2, 2],
  [FORM.ref2, 2],
  [FORM.strx2, 2],
  [FORM.addrx2, 2],
  [FORM.strx3, 3],
  [FORM.addrx3, 3],
  [FORM.data4, 4],
  [FORM.ref4, 4],
  [FORM.refSup4, 4],
  [FORM.strx4, 4],
  [FORM.addrx4, 4],
  [FORM.data8, 8],
  [FORM.ref8, 8],
  [FORM.refSig8, 8],
  [FORM.refSup8, 8],
]);

/**
 * The value of an attribute: a number, an offset into a section, the place of inline text, or 0 for what is stepped over.
 * A form that is not known ends the reading, for nobody knows how long it is.
 */
export function formValue(cursor: Cursor, form: number, constant: number, unit: Unit): number {
  const fixed = FIXED_BYTES.get(form);
  if (fixed !== undefined) return unsigned(cursor, fixed);
  switch (form) {
    case FORM.strp:
    case FORM.lineStrp:
    case FORM.strpSup:
    case FORM.secOffset:
    case FORM.refAddr:
    case FORM.gnuRefAlt:
    case FORM.gnuStrpAlt:
      return unsigned(cursor, unit.offsetBytes);
    case FORM.implicitConst:
      return constant;
    case FORM.flagPresent:
      return 1;
    case FORM.udata:
    case FORM.refUdata:
    case FORM.strx:
    case FORM.addrx:
    case FORM.loclistx:
    case FORM.rnglistx:
    case FORM.gnuAddrx:
    case FORM.gnuStrx:
      return uleb(cursor);
    case FORM.sdata:
      return sleb(cursor);
    case FORM.string:
      return inlineText(cursor);
    case FORM.block:
    case FORM.exprloc:
      step(cursor, uleb(cursor));
      return 0;
    case FORM.block1:
      step(cursor, unsigned(cursor, 1));
      return 0;
    case FORM.block2:
      step(cursor, unsigned(cursor, 2));
      return 0;
    case FORM.block4:
      step(cursor, unsigned(cursor, 4));
      return 0;
    case FORM.data16:
      step(cursor, 16);
      return 0;
    case FORM.addr:
      step(cursor, unit.addressBytes);
      return 0;
    case FORM.indirect: {
      const actual = uleb(cursor);
      if (actual !== FORM.indirect && actual !== FORM.implicitConst) return formValue(cursor, actual, 0, unit);
    }
  }
  cursor.overran = true;
  return 0;
}
