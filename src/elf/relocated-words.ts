/** Words of a file as they are once it is loaded at its own addresses: what a loader would add is in a table, and not in their place. */
import type { ByteView } from "./byte-view.ts";
import type { Section } from "./sections.ts";
import { fileOffsetOf, type Segment } from "./segments.ts";

const ENTRY_BYTES = 24;
/** R_X86_64_RELATIVE and R_AARCH64_RELATIVE. */
const RELATIVE: ReadonlySet<number> = new Set([8, 1027]);
const MOST_BYTES = 256 << 20;

/** By address; those that are neither in the file nor in the table are left out. Format: System V ABI, Elf64_Rela. */
export function relocatedWords(
  view: ByteView,
  segments: readonly Segment[],
  sections: readonly Section[],
  addresses: readonly number[],
): ReadonlyMap<number, number> {
  const words = new Map<number, number>();
  const wanted = new Set<number>();
  for (const vaddr of addresses) {
    const place = fileOffsetOf(segments, vaddr);
    const word = place === null ? null : view.u64(place);
    if (word === null || word === 0) wanted.add(vaddr);
    else words.set(vaddr, word);
  }
  const table = wanted.size === 0 ? undefined : sections.find(({ name }) => name === ".rela.dyn");
  if (table === undefined || table.sizeBytes > MOST_BYTES) return words;
  for (let place = table.offset; place + ENTRY_BYTES <= table.offset + table.sizeBytes; place += ENTRY_BYTES) {
    const vaddr = view.u64(place);
    if (vaddr === null) break;
    if (!wanted.has(vaddr) || !RELATIVE.has(view.u32(place + 8) ?? 0)) continue;
    words.set(vaddr, view.u64(place + 16) ?? 0);
  }
  return words;
}
