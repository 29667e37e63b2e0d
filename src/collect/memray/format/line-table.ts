/**
 * The line of an instruction from a code object's line table.
 *
 * Source: CPython, Objects/locations.md (3.11 and later), Objects/lnotab_notes.txt (3.10 and before).
 */

/** Hostile tables may move far; beyond a line that any file has, none is known. */
const MAX_LINE = 0x7fffffff;
const NO_LINE_310 = -128;

/** The line of `instruction` (index as memray writes it), 1 or more; null where the table has none. */
export function lineOf(
  table: Uint8Array,
  instruction: number,
  firstLine: number,
  pythonVersion: number,
): number | null {
  if (instruction < 0) return null;
  let line: number | null;
  if (table.length === 0) line = firstLine;
  else if (pythonVersion >= 0x030b0000) line = line311(table, Math.floor(instruction / 2), firstLine);
  else if (pythonVersion >= 0x030a0000) line = line310(table, instruction * 2, firstLine);
  else line = line39(table, instruction, firstLine);
  return line !== null && line > 0 && line <= MAX_LINE ? line : null;
}

function line311(table: Uint8Array, unit: number, firstLine: number): number | null {
  let position = 0;
  let covered = 0;
  let line = firstLine;
  const varint = (): number => {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = table[position++] ?? 0;
      value += (byte & 63) * factor;
      if (!(byte & 64) || factor > 2 ** 36) return value;
      factor *= 64;
    }
  };
  const svarint = (): number => {
    const value = varint();
    return value % 2 === 0 ? value / 2 : -Math.floor(value / 2);
  };
  while (position < table.length) {
    const first = table[position++] ?? 0;
    // An entry begins with the high bit; a table is ended by a zero.
    if (first === 0) return null;
    const code = (first >> 3) & 15;
    if (code === 14) {
      line += svarint();
      varint();
      varint();
      varint();
    } else if (code === 13) line += svarint();
    else if (code >= 10 && code <= 12) {
      line += code - 10;
      position += 2;
    } else if (code < 10) position += 1;
    covered += (first & 7) + 1;
    if (unit < covered) return line;
  }
  return null;
}

const signed = (byte: number): number => (byte << 24) >> 24;

function line310(table: Uint8Array, offset: number, firstLine: number): number {
  let covered = 0;
  let line = firstLine;
  for (let index = 0; index + 1 < table.length; index += 2) {
    covered += table[index] ?? 0;
    const step = signed(table[index + 1] ?? 0);
    line += step === NO_LINE_310 ? 0 : step;
    if (covered > offset) break;
  }
  return line;
}

function line39(table: Uint8Array, offset: number, firstLine: number): number {
  let covered = 0;
  let line = firstLine;
  for (let pair = 0; pair + 1 < table.length; pair += 2) {
    covered += table[pair] ?? 0;
    if (covered > offset) break;
    line += signed(table[pair + 1] ?? 0);
  }
  return line;
}
