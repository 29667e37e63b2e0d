/** The heap that brk moves (man 2 brk; mm/mmap.c, brk and do_brk_flags). */
import { type AddressSpace, mappedState, newMapping, place, unmap } from "./address-space.ts";
import { MAP_ANONYMOUS, MAP_PRIVATE } from "./mapping-row.ts";

const READ_WRITE = 3;

/**
 * Moves the break from `old_page` to `new_page` (both rounded up): pages that the break passes are born or end,
 * and the heap stays one mapping as long as it grows at its end.
 */
export function moveBreak(
  space: AddressSpace,
  begin_ns: bigint,
  end_ns: bigint,
  old_page: number,
  new_page: number,
  exec_epoch: number,
): void {
  if (new_page < old_page) {
    unmap(space, begin_ns, end_ns, new_page, old_page, "brk");
    return;
  }
  if (new_page === old_page) return;
  const below = old_page > 0 ? space.pages.find(old_page - 1)?.mapping : null;
  const grows = below?.path === "[heap]";
  const flags = MAP_PRIVATE | MAP_ANONYMOUS;
  const mapping = grows ? below : newMapping({ exec_epoch, flags, begin_ns, path: "[heap]" });
  place(space, old_page, new_page, mappedState(mapping, end_ns, READ_WRITE, 0));
}
