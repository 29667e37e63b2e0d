/** The mapping stream: calls that change an address space, process births and deaths, names and snapshots. */

import { u32Bytes } from "../../../kernel/bpf-map.ts";
import type { BpfObject } from "../../../kernel/bpf-object.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import { type Look, UNCOUNTED } from "../../../kernel/looks.ts";
import type { Mapped } from "../../../kernel/mapped.ts";
import { openSideband, type Sideband } from "../../../kernel/mapping-names.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { openRingBuffer, type RingBufferReader } from "../../../kernel/ringbuf.ts";
import { ensureTracefs } from "../../../kernel/tracefs.ts";
import { emptyMappingEvent, type MappingEvent } from "../../../regions/mapping-row.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import { recordLayout } from "../../../schema/records.ts";
import { createProcessTree, type ProcessTree } from "../../../target/process-tree.ts";
import { createLifecycleDecoder } from "./lifecycle-record.ts";
import { snapshotRows } from "./maps-look.ts";
import { secondLook } from "./second-look.ts";

const PLACE = { stream: "mapping", source: "region_map" } as const;

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
  /** Asks for a snapshot of a process at the next drain: a call failed half-way. */
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
  /** Records that the programs made: of calls that change mappings, and of births, execs and ends. */
  recorded(): number;
}

const keyOf = (pid: number): Uint8Array => u32Bytes(pid).subarray(0, 4);
const COUNTERS = recordLayout("lifecycle_counters").offsets;
const TARGET = recordLayout("target").offsets;
/** Maps looked at in one drain after a loss: a look takes 0.1 ms and more, and holds a lock of the target. */
const STALE_PER_DRAIN = 16;

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
    for (const program of object.programs) attached.use(object.program(program).attach());
    return assemble({ owned, attached, object, counters, events, sideband, tree, look, foreign: held === null });
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
  /** True where the side band tells of processes that are not watched. */
  readonly foreign: boolean;
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

function assemble({
  owned,
  attached,
  object,
  counters,
  events,
  sideband,
  tree,
  look,
  foreign,
}: Parts): LifecycleSource {
  const decoder = createLifecycleDecoder();
  const epochs = new Map<number, number>();
  const wanted = new Set<number>();
  const targets = object.map("targets");
  const gone = latelyEnded();
  let strangers = 0;
  let left_ns: bigint | null = null;
  let kept = 0;
  let vanished = 0;
  let snapshots = 0;

  const snapshot = (pid: number, out: MappingEvent[]): void => {
    const rows = snapshotRows(pid, epochs.get(pid) ?? 0, look);
    if (rows === null) {
      vanished += 1;
      return;
    }
    snapshots += 1;
    out.push(...rows);
  };

  const begin = (pid: number): void => {
    tree.begin(pid);
    gone.begin(pid);
  };
  const end = (pid: number): void => {
    if (tree.lives(pid)) gone.end(pid);
    tree.end(pid);
  };
  const isOurs = (pid: number): boolean => tree.lives(pid) || gone.has(pid);

  const count = (field: keyof typeof COUNTERS): number =>
    Number(new DataView(counters.buffer).getBigUint64(COUNTERS[field], true));

  const watches = (pid: number): boolean => targets.lookup(keyOf(pid), new Uint8Array(new ArrayBuffer(8)));

  const second = secondLook(tree, watches);
  const found = { births: 0, execs: 0, ends: 0 };
  /** Maps that are to be looked at anew after a loss, a few at each drain. */
  const stale = new Set<number>();
  let lostBefore = 0;
  const lost = (): number => count("dropped_ring_full") + decoder.malformed + sideband.lost + sideband.malformed;

  /** The end of who has none among the records, seen now; the time of it is that of the look. */
  const endOf = (pid: number): MappingEvent => {
    const exec_epoch = epochs.get(pid) ?? 0;
    decoder.forget(pid, exec_epoch);
    targets.delete(keyOf(pid));
    wanted.delete(pid);
    end(pid);
    found.ends += 1;
    return { ...emptyMappingEvent("exit", monotonicNs(), pid), exec_epoch };
  };

  /**
   * After a loss: who is in the tree by the kernel's own table, and which of their programs. An exec that came to no record
   * is a row, as what is known of the process before it holds no more; a birth is told by the look at its maps.
   */
  const lookAnew = (out: MappingEvent[]): void => {
    const value = new Uint8Array(new ArrayBuffer(8));
    for (const pid of targets.u32Keys()) {
      if (!targets.lookup(keyOf(pid), value)) continue;
      const exec_epoch = new DataView(value.buffer).getUint32(TARGET.exec_epoch, true);
      if (!tree.lives(pid)) {
        begin(pid);
        found.births += 1;
      } else if (exec_epoch > (epochs.get(pid) ?? 0)) {
        out.push({ ...emptyMappingEvent("exec", monotonicNs(), pid), exec_epoch });
        found.execs += 1;
      }
      epochs.set(pid, exec_epoch);
    }
    for (const pid of tree.living()) stale.add(pid);
  };

  /** Looks at the maps of a few of whom something may have been lost. */
  const wantStale = (): void => {
    let room = STALE_PER_DRAIN;
    for (const pid of stale) {
      if (room-- === 0) return;
      stale.delete(pid);
      if (tree.lives(pid)) wanted.add(pid);
    }
  };

  return {
    targetsFd: targets.fd,
    object,
    found,
    addProcess(pid) {
      if (watches(pid)) return false;
      targets.update(keyOf(pid), new Uint8Array(new ArrayBuffer(8)));
      begin(pid);
      wanted.add(pid);
      return true;
    },
    watches,
    dropProcess(pid) {
      targets.delete(keyOf(pid));
      end(pid);
      wanted.delete(pid);
    },
    requestSnapshot(pid) {
      wanted.add(pid);
    },
    drain() {
      // Most polls find nothing, and what follows is no small work for that.
      const now_ns = monotonicNs();
      const looks = left_ns === null && second.isDue(now_ns);
      if (!looks && wanted.size + stale.size === 0 && !events.pending() && !sideband.pending()) return [];
      const out: MappingEvent[] = [];
      const gone_by_now = looks ? second.ended(now_ns) : new Set<number>();
      // Before the records: the fork of whom a name belongs to is then among them.
      const names = sideband.drain();
      events.drain((view, offset, length) => {
        const row = decoder.decode(view, offset, length);
        if (row === null) return;
        kept += 1;
        out.push(row);
        if (row.kind === "exec") {
          epochs.set(row.pid, row.exec_epoch);
          wanted.add(row.pid);
        } else if (row.kind === "exit") {
          wanted.delete(row.pid);
          end(row.pid);
        } else if (row.kind === "fork" && row.child_pid !== null) {
          begin(row.child_pid);
          gone_by_now.delete(row.child_pid);
          // What it copied is not known yet.
          if (wanted.has(row.pid)) wanted.add(row.child_pid);
          // The number may have been that of a process that has ended.
          epochs.delete(row.child_pid);
        }
      });
      for (const { pid, ...named } of names) {
        if ((foreign && !isOurs(pid)) || (left_ns !== null && named.timestamp_ns > left_ns)) {
          strangers += 1;
          continue;
        }
        out.push({
          ...emptyMappingEvent("file", named.timestamp_ns, pid),
          ...named,
          pid,
          exec_epoch: epochs.get(pid) ?? 0,
        });
      }
      for (const pid of gone_by_now) if (tree.lives(pid)) out.push(endOf(pid));
      if ((looks || left_ns !== null) && lost() !== lostBefore) {
        lostBefore = lost();
        lookAnew(out);
      }
      wantStale();
      gone.turn();
      for (const pid of wanted) snapshot(pid, out);
      wanted.clear();
      return out.sort((a, b) => (a.timestamp_ns < b.timestamp_ns ? -1 : a.timestamp_ns > b.timestamp_ns ? 1 : 0));
    },
    leave() {
      left_ns = monotonicNs();
      for (const pid of tree.living()) targets.delete(keyOf(pid));
    },
    detach() {
      attached.dispose();
    },
    recorded: () => count("seen"),
    ledger(): LedgerRow[] {
      const ringFull = count("dropped_ring_full");
      return [
        {
          ...PLACE,
          stage: "ring",
          way: "calls",
          pid: null,
          seen: count("seen"),
          kept,
          filtered: 0,
          dropped: ringFull + decoder.malformed,
          dropped_by: { ring_full: ringFull, malformed: decoder.malformed },
          unseen_estimate: count("dropped_call_table") + count("dropped_target_table") + count("returns_without_entry"),
        },
        {
          ...PLACE,
          stage: "decode",
          way: "names",
          pid: null,
          seen: sideband.seen + sideband.lost,
          kept: sideband.seen - sideband.malformed - strangers,
          filtered: strangers,
          dropped: sideband.lost + sideband.malformed,
          dropped_by: { ring_full: sideband.lost, malformed: sideband.malformed },
          unseen_estimate: null,
        },
        {
          ...PLACE,
          stage: "attach",
          way: "processes",
          pid: null,
          // Who is gone needs no look: nothing that happened to it was lost.
          seen: snapshots + vanished,
          kept: snapshots,
          filtered: vanished,
          dropped: 0,
          dropped_by: {},
          unseen_estimate: null,
        },
      ];
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
