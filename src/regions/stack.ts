/** Stacks that the kernel extends downward when a fault lands below them (mm/mmap.c, expand_stack). */
import { type AddressSpace, mappedState, type PageState } from "./address-space.ts";
import { MAP_GROWSDOWN } from "./mapping-row.ts";

/**
 * Extends the stack above `page` down to it, when nothing else is mapped between.
 * @param limit_pages longest stack that the kernel allows (RLIMIT_STACK); a fault below it is the program's error
 * @returns pages that began
 */
export function growStack(space: AddressSpace, time_ns: bigint, page: number, limit_pages: number): number {
  if (space.pages.find(page)?.mapping) return 0;
  let above: { state: PageState; from: number } | undefined;
  let top = page;
  space.pages.each(page, page + limit_pages, (state, from, end) => {
    if (state.mapping === null) return;
    if (above === undefined) above = { state, from };
    if (above.state.mapping === state.mapping) top = end;
  });
  if (above === undefined) return 0;
  const { state, from } = above;
  const { mapping } = state;
  if (mapping === null || (mapping.path !== "[stack]" && (mapping.flags & MAP_GROWSDOWN) === 0)) return 0;
  const lastPage = page + limit_pages;
  if (top - page > limit_pages || space.pages.find(lastPage)?.mapping === mapping) return 0;
  const grown = mappedState(mapping, time_ns, state.prot, state.file_pages);
  // Only the gap: neither an event that is newer nor the stack itself changes.
  space.pages.assign(time_ns, page, from, (old) => (old?.mapping ? old : grown));
  return from - page;
}
