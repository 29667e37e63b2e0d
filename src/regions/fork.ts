/** The copy of an address space that fork makes. */
import {
  type AddressSpace,
  ALL_PAGES,
  type Ended,
  isAnonymous,
  type Mapping,
  newMapping,
  type PageState,
} from "./address-space.ts";

/** The stay that held a page at a moment, of those that ended last. */
function stayAt({ recent }: AddressSpace, page: number, time_ns: bigint): Ended | undefined {
  return recent.find(({ state, from, to: end, death_ns }) => {
    const isThen = state.since_ns <= time_ns && state.birth_ns <= time_ns && death_ns > time_ns;
    return isThen && from <= page && page < end;
  });
}

/**
 * Copies what `parent` had at `fork_ns` into `child`, born there and then; what the child did since stays.
 * @param looksBack whether pieces of the parent that changed after the fork, and were delivered before it, come from the
 *   stays that ended last
 * @returns pieces that could not be told: changed since with no look back, protected or grown since,
 *   not named yet, or changing while fork ran
 */
export function forkSpace(parent: AddressSpace, child: AddressSpace, fork_ns: bigint, looksBack: boolean): number {
  const copies = new Map<Mapping, Mapping>();
  let races = parent.pages.baseline_ns > fork_ns ? 1 : 0;
  const notAfterFork = (time_ns: bigint): bigint => (time_ns > fork_ns ? fork_ns : time_ns);

  function copy(state: PageState, from: number, stop: number): void {
    if (state.dont_fork) return;
    let { mapping } = state;
    if (mapping !== null) {
      // Protected or grown by now, or not named yet: what was copied is not known.
      const isNameless = !isAnonymous(mapping) && mapping.inode === null;
      if (mapping.grown_ns > fork_ns || state.prot_ns > fork_ns || isNameless) races += 1;
      const grown_ns = notAfterFork(mapping.grown_ns);
      const copyOf = copies.get(mapping) ?? newMapping({ ...mapping, grown_ns, exec_epoch: child.exec_epoch });
      copies.set(mapping, copyOf);
      mapping = copyOf;
    }
    const copied = {
      ...state,
      prot_ns: notAfterFork(state.prot_ns),
      mapping,
      birth_ns: fork_ns,
      birth_censored: false,
    };
    child.pages.assign(state.since_ns, from, stop, () => copied);
  }

  parent.pages.each(0, ALL_PAGES, (state, from, until) => {
    if (state.since_ns <= fork_ns) {
      copy(state, from, until);
      if (state.mapping === null && state.until_ns > fork_ns) races += 1;
      return;
    }
    if (!looksBack) {
      races += 1;
      return;
    }
    for (let page = from; page < until; ) {
      const ended = stayAt(parent, page, fork_ns);
      const end = Math.min(until, ended?.to ?? until);
      if (ended) copy(ended.state, page, end);
      page = end;
    }
  });
  child.known ||= parent.known;
  child.doubted ||= parent.doubted;
  if (parent.looked_ns < fork_ns && parent.looked_ns > child.looked_ns) child.looked_ns = parent.looked_ns;
  child.brk ??= parent.brk;
  return races;
}
