/** The mapping stream: calls that change an address space, process births and deaths, names and snapshots. */

import { u32Bytes } from "../../kernel/bpf-map.ts";
import { type BpfObject, openBpfObject } from "../../kernel/bpf-object.ts";
import type { Mapped } from "../../kernel/mapped.ts";
import { openRingBuffer, type RingBufferReader } from "../../kernel/ringbuf.ts";
import { openSideband, type Sideband } from "../../kernel/sideband.ts";
import { ensureTracefs } from "../../kernel/tracefs.ts";
import { emptyMappingEvent, type MappingEvent } from "../../regions/mapping-row.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import { recordLayout } from "../../schema/records.ts";
import { createLifecycleDecoder } from "./lifecycle-record.ts";
import { snapshotRows } from "./snapshot.ts";

export interface LifecycleSource extends Disposable {
  /** The shared map of traced processes, for the other objects. */
  readonly targetsFd: number;
  readonly object: BpfObject;
  /** Adds a process that exists already, with a snapshot of its mappings. */
  addProcess(pid: number): void;
  /** Asks for a snapshot of a process at the next drain: a call failed half-way. */
  requestSnapshot(pid: number): void;
  /** Rows since the last call, in order of the time they took effect. */
  drain(): MappingEvent[];
  /** Detaches the programs, so that the counters stand still and the last drain is exact. */
  detach(): void;
  ledger(): LedgerRow[];
}

const COUNTERS = recordLayout("lifecycle_counters").offsets;

/** Loads the programs and watches `pid` and all that it forks. @throws MrmTraceError environment */
export async function openLifecycle(pid: number): Promise<LifecycleSource> {
  ensureTracefs();
  const owned = new DisposableStack();
  const attached = new DisposableStack();
  try {
    const object = owned.use(await openBpfObject("lifecycle"));
    const counters = owned.use(object.map("lifecycle_counts").mmap());
    const events = owned.use(openRingBuffer(object.map("lifecycle_events")));
    const sideband = owned.use(openSideband(pid));
    owned.use(attached);
    for (const program of object.programs) attached.use(object.program(program).attach());
    return assemble({ owned, attached, object, counters, events, sideband });
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
}

function assemble({ owned, attached, object, counters, events, sideband }: Parts): LifecycleSource {
  const decoder = createLifecycleDecoder();
  const epochs = new Map<number, number>();
  const wanted = new Set<number>();
  const targets = object.map("targets");
  let kept = 0;
  let vanished = 0;
  let snapshots = 0;

  const snapshot = (pid: number, out: MappingEvent[]): void => {
    const rows = snapshotRows(pid, epochs.get(pid) ?? 0);
    if (rows === null) {
      vanished += 1;
      return;
    }
    snapshots += 1;
    out.push(...rows);
  };

  return {
    targetsFd: targets.fd,
    object,
    addProcess(pid) {
      targets.update(u32Bytes(pid).subarray(0, 4), new Uint8Array(new ArrayBuffer(8)));
      wanted.add(pid);
    },
    requestSnapshot(pid) {
      wanted.add(pid);
    },
    drain() {
      const out: MappingEvent[] = [];
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
        } else if (row.kind === "fork" && row.child_pid !== null) {
          // The number may have been that of a process that has ended.
          epochs.delete(row.child_pid);
        }
      });
      for (const { pid, ...named } of sideband.drain()) {
        out.push({
          ...emptyMappingEvent("file", named.timestamp_ns, pid),
          ...named,
          pid,
          exec_epoch: epochs.get(pid) ?? 0,
        });
      }
      for (const pid of wanted) snapshot(pid, out);
      wanted.clear();
      return out.sort((a, b) => (a.timestamp_ns < b.timestamp_ns ? -1 : a.timestamp_ns > b.timestamp_ns ? 1 : 0));
    },
    detach() {
      attached.dispose();
    },
    ledger(): LedgerRow[] {
      const view = new DataView(counters.buffer);
      const count = (field: string): number => Number(view.getBigUint64(COUNTERS[field] ?? 0, true));
      const ringFull = count("dropped_ring_full");
      return [
        {
          path: "mapping/ringbuf",
          pid: null,
          seen: count("seen"),
          kept,
          filtered: decoder.malformed,
          dropped: ringFull,
          dropped_by: { ring_full: ringFull },
          unseen_estimate: count("dropped_call_table") + count("dropped_target_table") + count("returns_without_entry"),
        },
        {
          path: "mapping/names",
          pid: null,
          seen: sideband.seen + sideband.lost,
          kept: sideband.seen - sideband.malformed,
          filtered: 0,
          dropped: sideband.lost + sideband.malformed,
          dropped_by: { ring_full: sideband.lost, malformed: sideband.malformed },
          unseen_estimate: null,
        },
        {
          path: "mapping/snapshot",
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
