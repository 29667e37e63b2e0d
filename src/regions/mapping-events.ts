/** Applies rows of the `mapping` table to the address spaces of a process tree. */
import {
  type AddressSpace,
  ALL_PAGES,
  createAddressSpace,
  type Ended,
  liveRows,
  type PageState,
  unmapAll,
} from "./address-space.ts";
import { createDeadStays } from "./dead-stays.ts";
import { createFileNames, type FileNames } from "./file-names.ts";
import { forkSpace } from "./fork.ts";
import { applyCall, type Outcome } from "./mapping-calls.ts";
import { CLONE_THREAD, CLONE_VM, type MappingEvent, type MappingRow } from "./mapping-row.ts";
import { applySnapshot, type Seen, seenOf } from "./snapshot.ts";

export interface ProcessMapsOptions {
  /**
   * Takes every stay of bytes at an address when it ends. The name of its mapping may come later, as may `ended_by`.
   * Splitting, protecting and growing create no birth: pieces keep their mapping and the birth of their bytes, so the sum of
   * size x (death - birth) over stays not ended by a move is the byte-time of the mappings. A move ends a stay
   * (`ended_by` moved) and begins one with the same birth. A fork's copy is born at the fork.
   */
  readonly onEnd?: (ended: Ended) => void;
  /** Page size of the machine, a power of two. */
  readonly pageBytes?: number;
}

/** What was applied and what was not; every row lands in exactly one of applied, failed_calls, bad_rows. */
export interface MappingCounters {
  applied: number;
  /** Calls that the kernel refused; they change nothing. */
  failed_calls: number;
  /** Rows that cannot be: unknown kind, empty or overflowing range, a column that the kind needs is null. */
  bad_rows: number;
  /** Calls on pages of which no mapping was known: something was missed. */
  unknown_ranges: number;
  /** Pages that a snapshot ended or began without an event. */
  snapshot_ended_pages: number;
  snapshot_begun_pages: number;
  /** Mappings of a parent that had changed again when its fork was delivered, and could not be copied. */
  fork_races: number;
}

export interface ProcessMaps {
  /** Applies one row; rows may come late, whatever is newer stays. Never throws. */
  apply(row: MappingEvent): void;
  /** Live mappings of a process by address; empty for one that is unknown, ended, or lives in the address space of another. */
  mapsOf(pid: number): MappingRow[];
  /** Visits the stays that have not ended, in pages, by process and address. */
  eachLive(visit: (pid: number, state: PageState, from: number, end_page: number) => void): void;
  /** Pieces of address spaces that are held, with holes that are remembered. */
  held(): number;
  /** Live processes. */
  pids(): number[];
  /** Processes whose map may be wrong until a snapshot: a call failed half way, or something was missed. */
  pidsNeedingSnapshot(): number[];
  /**
   * Takes the processes that were looked at while calls of theirs were under way: the look may have seen what such a call
   * did, or what another thread did after it, and stand in the wrong place among them. A later look is to confirm it.
   */
  takeDisturbed(): number[];
  /**
   * True from a loss of records of a process, or a call that does not tell what it changed, until its map is looked at:
   * what was given away there is not known.
   */
  isDoubted(pid: number): boolean;
  readonly counters: Readonly<MappingCounters>;
}

interface Child {
  readonly pid: number;
  readonly fork_ns: bigint;
}

interface Process {
  space: AddressSpace;
  alive: boolean;
  needsSnapshot: boolean;
  /** Snapshot being collected. */
  looking: { begin_ns: bigint; seen: Seen[] } | null;
  /** Times of the last whole look. */
  looked: { readonly begin_ns: bigint; readonly end_ns: bigint } | null;
  /** True where the last look was made while calls were under way. */
  unsettled: boolean;
  /** The latest return of a call. */
  lastEnd_ns: bigint;
  /** Forked ones, for events of the parent that are older than the fork and come after it. */
  children: Child[];
  names: FileNames;
  /** The thread whose call was the last, when, and when another thread's was. */
  lastCaller: number;
  last_ns: bigint;
  lastOther_ns: bigint;
}

/**
 * The kernel copies an address space before it tells of the fork: what another thread did lately may be in the copy or not. A thread that
 * forks may wait for a CPU in between.
 */
const FORK_RACE_NS = 1_000_000_000n;
const MAX_DEAD = 1024;
const MAX_CHILDREN = 64;

/** Empty maps. @param options see there; pages of 4096 bytes by default */
export function createProcessMaps(options: ProcessMapsOptions = {}): ProcessMaps {
  const pageBytes = options.pageBytes ?? 4096;
  const pageShift = BigInt(Math.round(Math.log2(pageBytes)));
  const onEnd = (ended: Ended): void => {
    // A row that was older than the fork of this copy can end it before its birth.
    if (ended.death_ns > ended.state.birth_ns) options.onEnd?.(ended);
  };
  const processes = new Map<number, Process>();
  const disturbed = new Set<number>();
  const dead: number[] = [];
  const holdStays = createDeadStays();
  const counters: MappingCounters = {
    applied: 0,
    failed_calls: 0,
    bad_rows: 0,
    unknown_ranges: 0,
    snapshot_ended_pages: 0,
    snapshot_begun_pages: 0,
    fork_races: 0,
  };

  function begin(pid: number): Process {
    const process: Process = {
      space: createAddressSpace(pid, onEnd),
      alive: true,
      needsSnapshot: false,
      looking: null,
      looked: null,
      unsettled: false,
      lastEnd_ns: -1n,
      children: [],
      names: createFileNames(),
      lastCaller: 0,
      last_ns: -1n,
      lastOther_ns: -1n,
    };
    processes.set(pid, process);
    return process;
  }

  function noteCaller(process: Process, { tid, timestamp_ns }: MappingEvent): void {
    if (tid !== process.lastCaller) {
      process.lastOther_ns = process.last_ns;
      process.lastCaller = tid;
    }
    process.last_ns = timestamp_ns;
  }

  /** Whose address space it is: its own, or that of the process that lends it its own until an exec. */
  function ownerOf(process: Process): Process {
    const owner = processes.get(process.space.pid);
    return owner?.space === process.space ? owner : process;
  }

  /** Before a process leaves an address space in which others live: the first of them has the bytes from then on. */
  function handOver({ space }: Process, time_ns: bigint): void {
    if (space.users === 1) return;
    const others = [...processes].filter(([pid, other]) => pid !== space.pid && other.alive && other.space === space);
    const [heir] = others;
    if (heir === undefined) return;
    const left = createAddressSpace(heir[0], onEnd);
    forkSpace(space, left, time_ns, options.onEnd !== undefined);
    heir[1].needsSnapshot = true;
    for (const [, other] of others) other.space = left;
    left.users = others.length;
    space.users = 1;
  }

  /** The map of a process was looked at while it changed. */
  function disturb(process: Process): void {
    process.unsettled = true;
    disturbed.add(process.space.pid);
  }

  /** Notes where a call ran while the process was looked at, this time or the last. */
  function noteLook(process: Process, row: MappingEvent): void {
    const { looking, looked } = process;
    const begin_ns = row.begin_ns ?? row.timestamp_ns;
    const end_ns = row.end_ns ?? row.timestamp_ns;
    if (end_ns > process.lastEnd_ns) process.lastEnd_ns = end_ns;
    const during = looking !== null && end_ns >= looking.begin_ns;
    const over = looked !== null && begin_ns <= looked.end_ns && end_ns >= looked.begin_ns;
    if (during || over) disturb(process);
  }

  function call(process: Process, row: MappingEvent): Outcome {
    const outcome = applyCall(process.space, process.names, row, pageShift);
    if (outcome === "unknown" || outcome === "partial") ownerOf(process).needsSnapshot = true;
    return outcome;
  }

  /** Copies of a process that were made after a row of it: it belongs to them too. */
  function copiesAfter(process: Process, row: MappingEvent): Process[] {
    return process.children.flatMap(({ pid, fork_ns }) => {
      const child = processes.get(pid);
      if (child === undefined || child.space === process.space || row.timestamp_ns >= fork_ns) return [];
      if (fork_ns - (row.end_ns ?? row.timestamp_ns) < FORK_RACE_NS) child.needsSnapshot = true;
      return [child];
    });
  }

  function fork(parent: Process, row: MappingEvent): Outcome {
    const pid = row.child_pid;
    const flags = row.flags ?? 0;
    if (pid === null || pid === row.pid) return "bad";
    if ((flags & CLONE_THREAD) !== 0) return "applied";
    const fork_ns = row.timestamp_ns;
    const existing = processes.get(pid);
    const isSame = existing !== undefined && (existing.alive || existing.space.pages.baseline_ns > fork_ns);
    if (!isSame && (flags & CLONE_VM) !== 0) {
      begin(pid).space = parent.space;
      parent.space.users += 1;
      return "applied";
    }
    const child = isSame ? existing : begin(pid);
    const races = forkSpace(parent.space, child.space, fork_ns, options.onEnd !== undefined);
    counters.fork_races += races;
    const other_ns = parent.lastCaller === row.tid ? parent.lastOther_ns : parent.last_ns;
    // What is not sure of the parent, or just being looked at there, is not sure of its copy.
    const unsure = parent.needsSnapshot || parent.looking !== null || parent.unsettled;
    if (unsure || races > 0 || (other_ns >= 0n && fork_ns - other_ns < FORK_RACE_NS)) child.needsSnapshot = true;
    parent.children.push({ pid, fork_ns });
    if (parent.children.length > MAX_CHILDREN) parent.children.shift();
    return "applied";
  }

  function exec(process: Process, row: MappingEvent): Outcome {
    if (ownerOf(process) === process) handOver(process, row.timestamp_ns);
    else {
      process.space.users -= 1;
      process.space = createAddressSpace(row.pid, onEnd);
    }
    const { space } = process;
    unmapAll(space, row.timestamp_ns, "exec");
    if (row.timestamp_ns < space.exec_ns) return "applied";
    space.exec_ns = row.timestamp_ns;
    const begin_ns = row.begin_ns ?? row.timestamp_ns;
    const stack_ns = process.names.newStackNs(row.timestamp_ns);
    space.exec_begin_ns = stack_ns !== null && stack_ns < begin_ns ? stack_ns : begin_ns;
    space.exec_epoch = Math.max(row.exec_epoch, space.exec_epoch);
    space.brk = null;
    space.known = true;
    space.doubted = false;
    process.needsSnapshot = true;
    process.looked = null;
    process.unsettled = false;
    process.names.replay(space);
    return "applied";
  }

  function exit(process: Process, row: MappingEvent): Outcome {
    if (!process.alive) return "applied";
    process.alive = false;
    process.needsSnapshot = false;
    process.looking = null;
    if (ownerOf(process) === process) handOver(process, row.timestamp_ns);
    process.space.users -= 1;
    if (process.space.users === 0) {
      unmapAll(process.space, row.timestamp_ns, "exit");
      holdStays(process.space.recent);
    }
    dead.push(row.pid);
    if (dead.length > MAX_DEAD) {
      const oldest = dead.shift();
      if (oldest !== undefined && processes.get(oldest)?.alive === false) processes.delete(oldest);
    }
    return "applied";
  }

  function look(process: Process, row: MappingEvent): Outcome {
    // The look may have seen the program that its exec has begun already.
    if (ownerOf(process) !== process) return "applied";
    if (row.kind === "snapshot_begin") {
      process.space.exec_epoch = Math.max(process.space.exec_epoch, row.exec_epoch);
      process.looking = { begin_ns: row.timestamp_ns, seen: [] };
      process.unsettled = false;
      if (process.lastEnd_ns >= row.timestamp_ns) disturb(process);
      return "applied";
    }
    const { looking } = process;
    if (looking === null) return "bad";
    if (row.kind === "snapshot") {
      const mapping = seenOf(row, pageShift);
      if (mapping === null) return "bad";
      looking.seen.push(mapping);
      return "applied";
    }
    process.looking = null;
    const complete = row.result === null || row.result >= 0n;
    const count = applySnapshot(process.space, looking.begin_ns, row.timestamp_ns, looking.seen, complete);
    counters.snapshot_ended_pages += count.ended_pages;
    counters.snapshot_begun_pages += count.begun_pages;
    process.looked = { begin_ns: looking.begin_ns, end_ns: row.timestamp_ns };
    if (complete) process.needsSnapshot = false;
    return "applied";
  }

  function name(process: Process, row: MappingEvent): Outcome {
    const range = seenOf(row, pageShift);
    if (range === null) return "bad";
    const named = { ...range, time_ns: row.timestamp_ns };
    if (ownerOf(process) !== process) {
      process.names.note(process.space, named);
      return "applied";
    }
    process.names.apply(process.space, named);
    for (const child of copiesAfter(process, row)) child.names.apply(child.space, named);
    return "applied";
  }

  function living(row: MappingEvent): Process {
    const process = processes.get(row.pid);
    if (process === undefined) return begin(row.pid);
    // The pid lives again, and its fork was not told.
    const again = !process.alive && (row.kind === "exec" || row.kind === "snapshot_begin");
    return again && row.timestamp_ns > process.space.pages.baseline_ns ? begin(row.pid) : process;
  }

  function dispatch(row: MappingEvent): Outcome {
    // The one is about the tree, as whose names they were nobody knows; the other about a file.
    if (row.kind === "lost_names" || row.kind === "gguf") return "applied";
    const process = living(row);
    const owner = ownerOf(process);
    switch (row.kind) {
      case "fork":
        return fork(owner, row);
      case "exec":
        return exec(process, row);
      case "exit":
        return exit(process, row);
      case "snapshot_begin":
      case "snapshot":
      case "snapshot_end":
        return look(process, row);
      case "file":
        return name(process, row);
      case "lost":
        process.space.doubted = true;
        return "applied";
      case "other_call":
        process.space.doubted = true;
        owner.needsSnapshot = true;
        return "applied";
      default:
        noteCaller(owner, row);
        noteLook(owner, row);
        for (const child of copiesAfter(owner, row)) call(child, row);
        return call(process, row);
    }
  }

  return {
    apply(row) {
      const outcome = dispatch(row);
      if (outcome === "bad") counters.bad_rows += 1;
      else if (outcome === "failed" || outcome === "partial") counters.failed_calls += 1;
      else counters.applied += 1;
      if (outcome === "unknown") counters.unknown_ranges += 1;
    },
    mapsOf(pid) {
      const process = processes.get(pid);
      return process?.alive && process.space.pid === pid ? liveRows(process.space, pid, pageShift) : [];
    },
    eachLive(visit) {
      for (const [pid, { alive, space }] of processes) {
        if (!alive || space.pid !== pid) continue;
        space.pages.each(0, ALL_PAGES, (state, from, end) => {
          if (state.mapping !== null) visit(pid, state, from, end);
        });
      }
    },
    held() {
      const spaces = new Set([...processes.values()].map(({ space }) => space));
      return [...spaces].reduce((sum, { pages }) => sum + pages.size, 0);
    },
    pids: () => [...processes].filter(([, process]) => process.alive).map(([pid]) => pid),
    pidsNeedingSnapshot: () => [...processes].filter(([, process]) => process.needsSnapshot).map(([pid]) => pid),
    takeDisturbed() {
      const pids = [...disturbed];
      disturbed.clear();
      return pids;
    },
    isDoubted: (pid) => processes.get(pid)?.space.doubted ?? false,
    counters,
  };
}
