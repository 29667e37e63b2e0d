/** The copy of an address space that fork makes. */
import { type AddressSpace, ALL_PAGES, type Mapping, newMapping, type PageState } from "./address-space.ts";
import type { MappingHistory } from "./mapping-history.ts";

/**
 * Copies what `parent` had at `fork_ns` into `child`, born there and then; what the child did since stays.
 * Pieces of the parent that changed after the fork, and were delivered before it, come from the history.
 * @returns pieces that could not be told: changed since with no history, or changing while fork ran
 */
export function forkSpace(
  parent: AddressSpace,
  child: AddressSpace,
  fork_ns: bigint,
  history: MappingHistory | null,
): number {
  const copies = new Map<Mapping, Mapping>();
  let races = parent.pages.baseline_ns > fork_ns ? 1 : 0;

  function copy(state: PageState, from: number, stop: number): void {
    if (state.dont_fork) return;
    let { mapping } = state;
    if (mapping !== null) {
      const existing = copies.get(mapping);
      const copyOf = existing ?? newMapping({ ...mapping, exec_epoch: child.exec_epoch });
      copies.set(mapping, copyOf);
      mapping = copyOf;
    }
    const copied = { ...state, mapping, birth_ns: fork_ns, birth_censored: false };
    child.pages.assign(state.since_ns, from, stop, () => copied);
  }

  parent.pages.each(0, ALL_PAGES, (state, from, until) => {
    if (state.since_ns <= fork_ns) {
      copy(state, from, until);
      if (state.mapping === null && state.until_ns > fork_ns) races += 1;
      return;
    }
    if (history === null) {
      races += 1;
      return;
    }
    for (let page = from; page < until; ) {
      const ended = history.find(parent.pid, page, fork_ns);
      const end = Math.min(until, ended?.to ?? until);
      if (ended) copy(ended.state, page, end);
      page = end;
    }
  });
  child.known ||= parent.known;
  child.brk ??= parent.brk;
  return races;
}
