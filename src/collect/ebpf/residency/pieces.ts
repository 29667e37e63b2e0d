/** The mappings of a process in pieces, each of which is asked for at once: how long a question holds the lock of the map. */
import type { MappingRow } from "../../../regions/mapping-row.ts";
import type { Range } from "../watch/frame/ranges.ts";

/** 16,384 small pages, of which each takes 12 ns: 0.2 ms. */
export const PIECE_BYTES = 64n << 20n;
/** Larger ones are reservations: to walk one takes a question for every piece, of which next to none has a page. */
export const MOST_MAPPING_BYTES = 1n << 40n;

/** From here on addresses are the kernel's, as that of [vsyscall] is: the page map of a process does not reach there. */
const KERNEL_ADDR = 1n << 63n;

type Extent = Pick<MappingRow, "addr" | "size_bytes">;

/**
 * Pieces of at most `PIECE_BYTES`, in order of address, that hold every mapping of the program but those above
 * `MOST_MAPPING_BYTES`.
 * Holes between small mappings are in them, as nothing is there to be walked.
 * @param rows in order of address
 */
export function piecesOf(rows: readonly Extent[]): Range[] {
  const pieces: { from: bigint; to: bigint }[] = [];
  for (const { addr, size_bytes } of rows) {
    if (size_bytes > MOST_MAPPING_BYTES || addr >= KERNEL_ADDR) continue;
    const end = addr + size_bytes;
    let from = addr;
    const last = pieces.at(-1);
    if (last !== undefined && last.from + PIECE_BYTES > from) {
      last.to = last.from + PIECE_BYTES < end ? last.from + PIECE_BYTES : end;
      from = last.to;
    }
    for (; from < end; from += PIECE_BYTES)
      pieces.push({ from, to: from + PIECE_BYTES < end ? from + PIECE_BYTES : end });
  }
  return pieces;
}
