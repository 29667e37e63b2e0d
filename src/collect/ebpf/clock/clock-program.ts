/** The kernel program of the timer, and the accounts that it keeps. */

import type { BpfMap } from "../../../kernel/bpf-map.ts";
import type { BpfObject } from "../../../kernel/bpf-object.ts";
import type { BpfProgram } from "../../../kernel/bpf-program.ts";
import { possibleCpus } from "../../../kernel/cpus.ts";
import { openBpfObject } from "../../../kernel/open-bpf-object.ts";
import { openRing, type RingReader } from "../../../kernel/ring.ts";
import { ringLayout } from "../../../schema/c-header.ts";
import { recordLayout } from "../../../schema/records.ts";

const COUNT = recordLayout("tick_count");
export const TICK_LAYOUT = ringLayout("tick");
export type TickCount = "runs" | "period" | "foreign" | "in_kernel" | "other_mode" | "in_string";

export interface ClockProgram extends Disposable {
  readonly program: BpfProgram;
  readonly ring: RingReader;
  /** The map of watched processes. */
  readonly targets: BpfMap;
  /** What became of the samples of all CPUs. */
  count(name: TickCount): number;
}

/** @param reuse maps of another object, by name: fd. @throws MrmTraceError environment */
export function loadClockObject(reuse: Readonly<Record<string, number>>): Promise<BpfObject> {
  return openBpfObject("clock", { perCpu: ["tick_ring", "tick_counts"], reuse });
}

/** @param targetsFd the map of watched processes; null for one of its own, empty. @throws MrmTraceError environment */
export async function loadClockProgram(targetsFd: number | null): Promise<ClockProgram> {
  using opening = new DisposableStack();
  const object = opening.use(await loadClockObject(targetsFd === null ? {} : { targets: targetsFd }));
  const mapped = opening.use(object.map("tick_counts").mmap());
  const ring = opening.use(openRing(object.map("tick_ring"), TICK_LAYOUT));
  const view = new DataView(mapped.buffer);
  const cpus = possibleCpus();
  const owned = opening.move();
  return {
    program: object.program("clock_tick"),
    ring,
    targets: object.map("targets"),
    count(name) {
      let sum = 0;
      const offset = COUNT.offsets[name];
      for (let cpu = 0; cpu < cpus; cpu++) sum += Number(view.getBigUint64(cpu * COUNT.bytes + offset, true));
      return sum;
    },
    [Symbol.dispose]() {
      owned.dispose();
    },
  };
}
