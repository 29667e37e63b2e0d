/** Names of mapped files that arrive beside the calls (perf's MMAP2 records), before or after them. */
import { type AddressSpace, adoptFile, hasFileOffset, type Mapping, mayBe, type PageState } from "./address-space.ts";
import { STACK } from "./mapping-row.ts";
import { applySeen, type Seen } from "./snapshot.ts";

/** A name that came before the call it belongs to; calls return within this many later names. */
const KEEP_NAMES = 256;

export interface NamedRange extends Seen {
  readonly time_ns: bigint;
}

export interface FileNames {
  /** Names what was mapped there at that time, and maps what no call told of (the program that exec mapped, and a stack as it grows). */
  apply(space: AddressSpace, named: NamedRange): void;
  /**
   * Names what was mapped there at that time, and maps nothing: of a process that lives in the address space of another,
   * what no call told of belongs to the program that its exec is about to make.
   */
  note(space: AddressSpace, named: NamedRange): void;
  /** Gives a mapping that a call of [begin_ns, end_ns] made the name that came inside that call. */
  complete(mapping: Mapping, from: number, begin_ns: bigint, end_ns: bigint): void;
  /**
   * When an exec began to map the new program, by its names; null where none tells. The kernel extends the new stack first
   * (setup_arg_pages in fs/exec.c), then maps the files of the program, and returns.
   */
  newStackNs(exec_ns: bigint): bigint | null;
  /** Applies again the names that came while an exec was under way: they belong to the new program. */
  replay(space: AddressSpace): void;
}

export function createFileNames(): FileNames {
  const recent: NamedRange[] = [];

  function enrich(space: AddressSpace, named: NamedRange): void {
    const { time_ns } = named;
    const adopt = ({ mapping, file_pages }: PageState): void => {
      if (mapping === null || !hasFileOffset(mapping.flags) || mapping.begin_ns > time_ns) return;
      if (file_pages === named.file_pages) adoptFile(mapping, named);
    };
    space.pages.each(named.from, named.to, adopt);
    // What it names may have moved or gone by now. What replaced a mapping was named before that mapping is known to have ended.
    for (const { state, from, to: end, death_ns, ended_by } of space.recent) {
      const wasThere = from < named.to && named.from < end && death_ns >= time_ns;
      if (wasThere && ended_by !== "replaced") adopt(state);
    }
  }

  function apply(space: AddressSpace, named: NamedRange): void {
    enrich(space, named);
    const ofExec = named.time_ns < space.exec_ns && named.time_ns >= space.exec_begin_ns;
    const time_ns = ofExec ? space.exec_ns : named.time_ns;
    // A look that came after it told what is there: what had gone by then does not begin again.
    if (time_ns < space.looked_ns) return;
    // No call makes the first stack or extends it, and perf tells of it whenever the kernel does.
    if (named.path === STACK) applySeen(space, time_ns, time_ns, named);
    if (named.inode === null || named.inode === 0n) return;
    const unmapped: Seen[] = [];
    let done = named.from;
    space.pages.each(named.from, named.to, (state, from, end) => {
      if (from > done) unmapped.push({ ...named, from: done, to: from });
      if (state.mapping === null && state.until_ns < time_ns) unmapped.push({ ...named, from, to: end });
      done = end;
    });
    if (done < named.to) unmapped.push({ ...named, from: done });
    for (const piece of unmapped) applySeen(space, time_ns, time_ns, piece);
  }

  function keep(named: NamedRange): void {
    recent.push(named);
    if (recent.length > KEEP_NAMES) recent.splice(0, KEEP_NAMES / 2);
  }

  return {
    apply(space, named) {
      keep(named);
      apply(space, named);
    },
    note(space, named) {
      keep(named);
      enrich(space, named);
    },
    complete(mapping, from, begin_ns, end_ns) {
      for (const named of recent) {
        const inside = named.time_ns >= begin_ns && named.time_ns <= end_ns;
        if (inside && named.from <= from && from < named.to && mayBe(mapping, named)) adoptFile(mapping, named);
      }
    },
    newStackNs(exec_ns) {
      return recent.findLast(({ path, time_ns }) => path === STACK && time_ns < exec_ns)?.time_ns ?? null;
    },
    replay(space) {
      for (const named of recent) {
        if (named.time_ns >= space.exec_begin_ns && named.time_ns < space.exec_ns) apply(space, named);
      }
    },
  };
}
