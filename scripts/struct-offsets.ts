/** Byte offsets of a structure's members in what gdb prints for `ptype /o struct NAME`. */

/** Members of a structure itself, not of those in it, which gdb indents more. */
const MEMBER = /^\/\*\s+(\d+)\s+\|\s+\d+ \*\/ {4}(?! ).*?(\w+)(?:\[\d+\])*;$/;

/** @returns null where gdb knows no such structure */
export function structOffsets(text: string, structure: string): ReadonlyMap<string, number> | null {
  const lines = text.split("\n");
  const begin = lines.findIndex((line) => line.includes(`type = struct ${structure} {`));
  if (begin < 0) return null;
  const offsets = new Map<string, number>();
  for (const line of lines.slice(begin + 1)) {
    if (line.includes("total size (bytes):") && /^ {31}\/\*/.test(line)) break;
    const [, offset, name] = MEMBER.exec(line) ?? [];
    if (offset !== undefined && name !== undefined) offsets.set(name, Number(offset));
  }
  return offsets;
}
