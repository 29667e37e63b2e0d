/** Looks at a process tree ten times a second, in every arm by the same means: memory, CPU time, threads. */

import { monotonicNs } from "../kernel/libc.ts";
import { readProc } from "../target/proc-file.ts";
import { parseField, parseStat, TICK_NS } from "../target/proc-text.ts";
import { descendants, listsChildren } from "../target/tree.ts";

const PERIOD_MS = 100;

interface Seen {
  readonly pid: number;
  /** Most memory that it has had so far (VmHWM), in bytes. */
  readonly peak_bytes: number;
  readonly cpu_ns: number;
  readonly threads: number;
}

export interface GroupUse {
  /** Most that all had together, by their own peaks; null where none was seen. */
  readonly peak_rss_bytes: number | null;
  /** CPU time in the window, in ns. */
  readonly cpu_ns: number;
  /** From the first to the last sample, in ns. */
  readonly window_ns: number;
  readonly threads: number | null;
}

export interface TreeSampler extends Disposable {
  /** Use of the processes of a group between two moments (ns of CLOCK_MONOTONIC). */
  use(isMember: (pid: number) => boolean, from_ns: bigint, to_ns: bigint): GroupUse;
  /** Every process of the tree that was seen. */
  pids(): ReadonlySet<number>;
}

function look(pid: number): Seen | null {
  const status = readProc(`/proc/${pid}/status`);
  const read = readProc(`/proc/${pid}/stat`);
  const stat = read.ok ? parseStat(read.text) : null;
  const peak = status.ok ? parseField(status.text, "VmHWM") : null;
  if (stat === null || peak === null) return null;
  const cpu_ns = Number((stat.user_ticks + stat.system_ticks) * TICK_NS);
  return { pid, peak_bytes: Number(peak), cpu_ns, threads: stat.threads };
}

/** Samples `root` and all its descendants until disposed. */
export function sampleTree(root: number): TreeSampler {
  const byThread = listsChildren("/proc");
  const samples: { readonly at_ns: bigint; readonly seen: readonly Seen[] }[] = [];
  const seenPids = new Set<number>();
  const timer = setInterval(() => {
    const at_ns = monotonicNs();
    const seen = [...descendants("/proc", [root], byThread)].map(look).filter((one) => one !== null);
    for (const { pid } of seen) seenPids.add(pid);
    if (seen.length > 0) samples.push({ at_ns, seen });
  }, PERIOD_MS);
  return {
    pids: () => seenPids,
    use(isMember, from_ns, to_ns) {
      const first = new Map<number, Seen>();
      const last = new Map<number, Seen>();
      let [peak, threads] = [0, 0];
      const inside = samples.filter(({ at_ns }) => at_ns >= from_ns && at_ns <= to_ns);
      for (const { seen } of inside) {
        const members = seen.filter(({ pid }) => isMember(pid));
        for (const one of members) {
          if (!first.has(one.pid)) first.set(one.pid, one);
          last.set(one.pid, one);
        }
        peak = Math.max(
          peak,
          members.reduce((sum, one) => sum + one.peak_bytes, 0),
        );
        threads = Math.max(
          threads,
          members.reduce((sum, one) => sum + one.threads, 0),
        );
      }
      const cpu_ns = [...last].reduce((sum, [pid, one]) => sum + one.cpu_ns - (first.get(pid)?.cpu_ns ?? 0), 0);
      return {
        peak_rss_bytes: last.size > 0 ? peak : null,
        cpu_ns,
        window_ns: Number((inside.at(-1)?.at_ns ?? 0n) - (inside[0]?.at_ns ?? 0n)),
        threads: last.size > 0 ? threads : null,
      };
    },
    [Symbol.dispose]() {
      clearInterval(timer);
    },
  };
}
