/** The mapping stream: calls that change an address space, process births and deaths, names and snapshots. */

import type { BpfObject } from "../../../kernel/bpf-object.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import { type Look, UNCOUNTED } from "../../../kernel/looks.ts";
import type { Mapped } from "../../../kernel/mapped.ts";
import { type NamedMapping, openSideband, type Sideband } from "../../../kernel/mapping-names.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { openRingBuffer, type RingBufferReader } from "../../../kernel/ringbuf.ts";
import { ensureTracefs, hasTracepoint } from "../../../kernel/tracefs.ts";
import { CLONE_VM, emptyMappingEvent, type MappingEvent } from "../../../regions/mapping-row.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import { recordLayout } from "../../../schema/records.ts";
import { createProcessTree, type ProcessTree } from "../../../target/process-tree.ts";
import { createGaps, type Gap, type Gaps } from "./gaps.ts";
import { lifecycleLedger } from "./lifecycle-ledger.ts";
import { createLifecycleDecoder } from "./lifecycle-record.ts";
import { looksAnew } from "./looks-anew.ts";
import { snapshotRows } from "./maps-look.ts";
import { type OtherWays, otherWays } from "./other-ways.ts";
import { secondLook } from "./second-look.ts";
import { targetsTable, type WatchedProcess } from "./targets-table.ts";
import { runs32Bit } from "./word-size.ts";

export interface LifecycleSource extends Disposable {
  /** The shared map of traced processes, for the other objects. */
  readonly targetsFd: number;
  readonly object: BpfObject;
  /** Adds a process that exists already, with a snapshot of its mappings; false where it is watched already. */
  addProcess(pid: number): boolean;
  /** True where the programs know the process: it was added, or forked by one that they knew. */
  watches(pid: number): boolean;
  /** Takes a process out that had ended before it was added. */
  dropProcess(pid: number): void;
  /** Asks for a snapshot of a process, soon: a call failed half-way. */
  requestSnapshot(pid: number): void;
  /** Rows since the last call, in order of the time they took effect. */
  drain(): MappingEvent[];
  /** Watches nobody any more: all programs pass over what is done from now on, while detaching them takes its time. */
  leave(): void;
  /** Detaches the programs, so that the counters stand still and the last drain is exact. */
  detach(): void;
  ledger(): LedgerRow[];
  /** Processes whose birth, exec or end came to no record, and was found by looking at the tree. */
  readonly found: Readonly<Record<"births" | "execs" | "ends", number>>;
  /** Times of which records were lost. */
  readonly gaps: Gaps["sum"];
  /** Records of calls, births, execs and ends that were lost so far. */
  lost(): number;
  /** Processes that nobody follows: born while the table was full, or of 32 bits. */
  readonly unfollowed: Readonly<Record<"table_full" | "of_32_bits", number>>;
  /** By what ways bytes went past the mappings, and how often. */
  otherWays(): OtherWays;
  /** Records that the programs made: of calls that change mappings, and of births, execs and ends. */
  recorded(): number;
}

const COUNTERS = recordLayout("lifecycle_counters").offsets;

/**
 * Loads the programs; a process is watched, with all that it forks, once it was added.
 * @param held the process, where it has one thread and no children yet: it alone is then asked for names of mappings.
 *   Null for processes that run: threads that exist already are reached only by asking for the names of all processes
 * @param tree is told of each process that begins and ends
 * @param look counts the looks at maps
 * @throws MrmTraceError environment
 */
export async function openLifecycle(
  held: number | null,
  tree: ProcessTree = createProcessTree(),
  look: Look = UNCOUNTED,
): Promise<LifecycleSource> {
  ensureTracefs();
  const owned = new DisposableStack();
  const attached = new DisposableStack();
  try {
    const object = owned.use(await openBpfObject("lifecycle"));
    const counters = owned.use(object.map("lifecycle_counts").mmap());
    const events = owned.use(openRingBuffer(object.map("lifecycle_events")));
    const sideband = owned.use(openSideband(held));
    owned.use(attached);
    for (const name of object.programs) {
      const program = object.program(name);
      // A call that this kernel does not have is missed by nobody.
      if (hasTracepoint(program.section)) attached.use(program.attach());
    }
    return assemble({ owned, attached, object, counters, events, sideband, tree, look, held });
  } catch (error) {
    owned.dispose();
    throw error;
  }
}

interface Parts {
  readonly owned: DisposableStack;
  readonly attached: DisposableStack;
  readonly object: BpfObject;
  readonly counters: Mapped;
  readonly events: RingBufferReader;
  readonly sideband: Sideband;
  readonly tree: ProcessTree;
  readonly look: Look;
  /** The process that runs no command yet; null where all run, and the side band tells of others that are not watched. */
  readonly held: number | null;
}

/** Processes that have ended lately: the last names of what ended in a drain come with the next. */
function latelyEnded() {
  let now = new Set<number>();
  let before = new Set<number>();
  return {
    begin(pid: number) {
      now.delete(pid);
      before.delete(pid);
    },
    end: (pid: number) => now.add(pid),
    has: (pid: number) => now.has(pid) || before.has(pid),
    /** After each drain. */
    turn() {
      [before, now] = [now, new Set()];
    },
  };
}

function assemble({ owned, attached, object, counters, events, sideband, tree, look, held }: Parts): LifecycleSource {
  const decoder = createLifecycleDecoder();
  const targets = targetsTable(object.map("targets"));
  const epochs = new Map<number, number>();
  const wanted = new Set<number>();
  const anew = looksAnew();
  const gone = latelyEnded();
  const second = secondLook(tree);
  const gaps = createGaps();
  const found = { births: 0, execs: 0, ends: 0 };
  /** Processes whose calls are not seen, and when each was looked at last. */
  const of32Bits = new Map<number, bigint>();
  let seenOf32Bits = 0;
  let strangers = 0;
  let left_ns: bigint | null = null;
  let lastTable: ReadonlyMap<number, WatchedProcess> | null = null;
  let kept = 0;
  let vanished = 0;
  let snapshots = 0;
  let lostBefore = 0;
  let namesLostBefore = 0;
  /** When nothing more had been lost than what was told. */
  let whole_ns = monotonicNs();

  const count = (field: keyof typeof COUNTERS): number =>
    Number(new DataView(counters.buffer).getBigUint64(COUNTERS[field], true));
  const ways = otherWays(count);
  const lost = (): number =>
    count("dropped_ring_full") + count("dropped_call_table") + count("returns_without_entry") + decoder.malformed;
  const namesLost = (): number => sideband.lost + sideband.malformed;

  const unfollowed = {
    get table_full() {
      return count("dropped_target_table");
    },
    get of_32_bits() {
      return seenOf32Bits;
    },
  };

  const epochOf = (pid: number): number => epochs.get(pid) ?? 0;

  const begin = (pid: number, lender?: number): void => {
    tree.begin(pid, lender);
    gone.begin(pid);
  };
  const end = (pid: number): void => {
    if (tree.lives(pid)) gone.end(pid);
    tree.end(pid);
    wanted.delete(pid);
    anew.forget(pid);
    gaps.forget(pid);
    of32Bits.delete(pid);
  };
  const isOurs = (pid: number): boolean => tree.lives(pid) || gone.has(pid);

  const snapshot = (pid: number, out: MappingEvent[]): void => {
    // What is there is the lender's, or already of the program that its exec has begun.
    if (tree.isGuest(pid)) return;
    const rows = snapshotRows(pid, epochOf(pid), look);
    const begin_ns = rows?.at(0)?.timestamp_ns;
    const end_ns = rows?.at(-1)?.timestamp_ns;
    if (rows === null || begin_ns === undefined || end_ns === undefined) {
      vanished += 1;
      return;
    }
    anew.looked(pid, begin_ns, end_ns);
    snapshots += 1;
    out.push(...rows);
    if (of32Bits.has(pid)) of32Bits.set(pid, begin_ns);
    else if (runs32Bit(pid)) {
      of32Bits.set(pid, begin_ns);
      seenOf32Bits += 1;
    }
  };

  /** The end of who has none among the records, seen now; the time of it is that of the look. */
  const endOf = (pid: number): MappingEvent => {
    const exec_epoch = epochOf(pid);
    decoder.forget(pid, exec_epoch);
    targets.drop(pid);
    end(pid);
    found.ends += 1;
    return { ...emptyMappingEvent("exit", monotonicNs(), pid), exec_epoch };
  };

  /** What is not known of a process is not known of the copies that a fork made of it. */
  const copyDoubts = (gap: Gap, out: MappingEvent[]): void => {
    const copies = out.flatMap(({ kind, pid, child_pid }) =>
      kind === "fork" && child_pid !== null && anew.isAsked(pid) && tree.lives(child_pid) ? [child_pid] : [],
    );
    for (const pid of copies) {
      out.push(gaps.unknown(gap, pid, epochOf(pid)));
      anew.ask(pid);
    }
  };

  /**
   * After a loss: who is in the tree by the kernel's own table, and which of their programs. An exec that came to no record
   * is a row, as what is known of the process before it holds no more; a birth is told by the look at its maps.
   */
  const lookAnew = (
    table: ReadonlyMap<number, WatchedProcess>,
    ended: ReadonlySet<number>,
    gap: Gap,
    out: MappingEvent[],
  ): void => {
    for (const row of gaps.lost(gap, table, ended)) {
      out.push(row);
      if (tree.lives(row.pid)) anew.ask(row.pid);
    }
    for (const [pid, { exec_epoch }] of table) {
      if (ended.has(pid)) continue;
      if (!tree.lives(pid)) {
        begin(pid);
        wanted.add(pid);
        found.births += 1;
      } else if (exec_epoch > epochOf(pid)) {
        out.push({ ...emptyMappingEvent("exec", monotonicNs(), pid), exec_epoch });
        tree.exec(pid);
        anew.ask(pid);
        found.execs += 1;
      } else continue;
      epochs.set(pid, exec_epoch);
    }
  };

  /** Of who runs in 32 bits nothing is known but what each look finds. */
  const lookAt32Bits = (now_ns: bigint, out: MappingEvent[]): void => {
    for (const [pid, begin_ns] of of32Bits) {
      out.push(gaps.unknown({ begin_ns, end_ns: now_ns }, pid, epochOf(pid)));
      wanted.add(pid);
    }
  };

  /** Makes rows of the records. @returns who ended by them */
  const takeRecords = (gone_by_now: Set<number>, out: MappingEvent[]): Set<number> => {
    const ended = new Set<number>();
    events.drain((view, offset, length) => {
      const row = decoder.decode(view, offset, length);
      if (row === null) return;
      kept += 1;
      out.push(row);
      if (row.kind === "exec") {
        epochs.set(row.pid, row.exec_epoch);
        tree.exec(row.pid);
        of32Bits.delete(row.pid);
        wanted.add(row.pid);
      } else if (row.kind === "exit") {
        ended.add(row.pid);
        end(row.pid);
      } else if (row.kind === "fork" && row.child_pid !== null) {
        begin(row.child_pid, ((row.flags ?? 0) & CLONE_VM) !== 0 ? row.pid : undefined);
        gone_by_now.delete(row.child_pid);
        ended.delete(row.child_pid);
        // What it copied is not known yet.
        if (wanted.has(row.pid) || of32Bits.has(row.pid)) wanted.add(row.child_pid);
        // The number may have been that of a process that has ended.
        epochs.delete(row.child_pid);
      }
    });
    return ended;
  };

  const takeNames = (names: readonly NamedMapping[], out: MappingEvent[]): void => {
    for (const { pid, ...named } of names) {
      if ((held === null && !isOurs(pid)) || (left_ns !== null && named.timestamp_ns > left_ns)) {
        strangers += 1;
        continue;
      }
      out.push({ ...emptyMappingEvent("file", named.timestamp_ns, pid), ...named, pid, exec_epoch: epochOf(pid) });
    }
  };

  /** Names that were lost may be anybody's. */
  const noteLostNames = (now_ns: bigint, out: MappingEvent[]): void => {
    const fresh = namesLost() - namesLostBefore;
    // Of a buffer that is full nobody knows what did not fit.
    if (fresh > 0 || sideband.isFull) for (const pid of tree.living()) anew.ask(pid);
    const [first] = tree.pids();
    if (fresh === 0 || first === undefined) return;
    namesLostBefore += fresh;
    out.push(gaps.names({ begin_ns: whole_ns, end_ns: now_ns }, first, fresh));
  };

  return {
    targetsFd: targets.fd,
    object,
    found,
    gaps: gaps.sum,
    lost,
    unfollowed,
    addProcess(pid) {
      if (targets.has(pid)) return false;
      targets.add(pid);
      begin(pid);
      // What holds the command is none of it: the map is looked at after the exec.
      if (pid === held) return true;
      wanted.add(pid);
      ways.lookAt(pid);
      return true;
    },
    watches: targets.has,
    dropProcess(pid) {
      targets.drop(pid);
      end(pid);
    },
    requestSnapshot: anew.ask,
    drain() {
      // Most polls find nothing, and what follows is no small work for that.
      const now_ns = monotonicNs();
      const isDue = left_ns === null && second.isDue(now_ns);
      const isLossy = lost() !== lostBefore;
      const isQuiet = wanted.size === 0 && !anew.waits() && !events.pending() && !sideband.pending();
      if (!isDue && !isLossy && isQuiet) {
        whole_ns = now_ns;
        return [];
      }
      const out: MappingEvent[] = [];
      lostBefore = lost();
      // Before the records: who has ended by the table, and lives by the records, has ended without one.
      const table = isDue || isLossy ? (lastTable ?? targets.read()) : null;
      const gap = { begin_ns: whole_ns, end_ns: monotonicNs() };
      const gone_by_now = isDue ? second.ended(now_ns) : new Set<number>();
      if (table !== null && left_ns === null) {
        for (const pid of tree.living()) if (!table.has(pid)) gone_by_now.add(pid);
      }
      // Before the records too: the fork of whom a name belongs to is then among them.
      const names = sideband.drain();
      const ended = takeRecords(gone_by_now, out);
      takeNames(names, out);
      for (const pid of gone_by_now) {
        if (!tree.lives(pid)) continue;
        out.push(endOf(pid));
        ended.add(pid);
      }
      if (isLossy && table !== null) lookAnew(table, ended, gap, out);
      copyDoubts(gap, out);
      noteLostNames(gap.end_ns, out);
      if (isDue) lookAt32Bits(now_ns, out);
      for (const pid of anew.take(now_ns)) if (tree.lives(pid)) wanted.add(pid);
      gone.turn();
      for (const pid of wanted) snapshot(pid, out);
      wanted.clear();
      whole_ns = now_ns;
      return out.sort((a, b) => (a.timestamp_ns < b.timestamp_ns ? -1 : a.timestamp_ns > b.timestamp_ns ? 1 : 0));
    },
    leave() {
      left_ns = monotonicNs();
      lastTable = targets.read();
      for (const pid of tree.living()) targets.drop(pid);
    },
    detach() {
      attached.dispose();
    },
    otherWays: ways.seen,
    recorded: () => count("seen"),
    ledger: () =>
      lifecycleLedger({
        records: {
          seen: count("seen"),
          kept,
          ring_full: count("dropped_ring_full"),
          malformed: decoder.malformed,
          unseen: count("dropped_call_table") + count("returns_without_entry"),
        },
        names: { seen: sideband.seen, strangers, lost: sideband.lost, malformed: sideband.malformed },
        looks: { made: snapshots, vanished },
        unfollowed,
        advice_elsewhere: count("advice_elsewhere"),
      }),
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
