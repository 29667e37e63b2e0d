/** The monitor, as one sentence: wait for the process, sample the memory of its tree, stop when it is over. */

import type { Collector } from "../collect/collector.ts";
import { createProcessCollector } from "../collect/process/process-collector.ts";
import type { MonitorOptions } from "../config/monitor.ts";
import { MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { reasonOf, type StopSignal } from "../record/signals.ts";
import { MEMORY_CSV_HEADER, memoryCsvRow } from "../report/memory-csv.ts";
import { printable } from "../report/terminal.ts";
import { type Cooldown, createCooldown } from "../target/cooldown.ts";
import { isKernelThread, type NamedProcess, namedProcesses, processOf } from "../target/named-process.ts";
import { namespaceFacts, refusalOfProc } from "../target/namespaces.ts";
import { createProcessTree, type ProcessTree } from "../target/process-tree.ts";
import { createTreeMemorySum } from "../target/tree-memory.ts";

export type MonitorStop =
  | "exited"
  | "duration"
  | "max_samples"
  | "cooldown"
  | "interrupted"
  | "terminated"
  | "hangup"
  | "closed";

export interface MonitorRequest {
  readonly options: MonitorOptions;
  /** Takes a line of CSV; false where nobody reads any more. */
  readonly write: (line: string) => boolean;
  readonly say: (line: string) => void;
  /** The signal that asked us to stop, if one did. */
  readonly stopped: () => StopSignal | null;
}

export interface MonitorResult {
  readonly stopped_by: MonitorStop;
  readonly samples: number;
  /** Every process that was the root of the tree, in order. */
  readonly roots: readonly number[];
  /** Every process of the tree. */
  readonly pids: readonly number[];
  readonly peak_rss_bytes: number;
  readonly peak_pss_bytes: number | null;
  /** From the first to the last sample, in ns. */
  readonly window_ns: number;
  /** CPU time of this process while it watched in % of one CPU. */
  readonly own_cpu_pct: number | null;
}

/** How often a process that is not there is looked for. */
const LOOK_MS = 100;
/** How long a name may be without a process, as when a service restarts, before it has ended. */
const RESTART_NS = 2_000_000_000n;

const FIND = "find the pid with: pgrep -af NAME";

/** @throws MrmTraceError target, where a pid is given and is that of no process with memory */
function sought(options: MonitorOptions): NamedProcess[] {
  if (options.pid === undefined) return namedProcesses(options.name ?? "");
  const one = processOf(options.pid);
  if (one === null) throw new MrmTraceError("target", `there is no process ${options.pid}`, FIND);
  if (isKernelThread(one.pid)) {
    const what = `process ${one.pid} (${one.comm}) is a thread of the kernel`;
    throw new MrmTraceError("target", `${what}: it has no memory of its own`, FIND);
  }
  return [one];
}

/** The process, as soon as it is there; null where a signal came first. @throws MrmTraceError target, when it never is */
async function appears({ options, say, stopped }: MonitorRequest): Promise<NamedProcess | null> {
  const began_ns = monotonicNs();
  for (let looked = 0; stopped() === null; looked += 1) {
    const [first, ...others] = sought(options);
    if (first !== undefined) {
      say(`watching ${first.comm} (${first.pid}) and its children`);
      const also = others.map(({ pid, comm }) => `${comm} (${pid})`).join(", ");
      if (also !== "") say(`the name also means ${also}: choose one by --pid`);
      return first;
    }
    if (options.wait !== undefined && monotonicNs() - began_ns >= BigInt(Math.round(options.wait))) {
      throw new MrmTraceError(
        "target",
        `no process named "${options.name}" appeared`,
        "start it, check the name with: pgrep -fl NAME, or wait longer with --wait",
      );
    }
    if (looked === 0) say(`waiting for a process named "${options.name}"`);
    await Bun.sleep(LOOK_MS);
  }
  return null;
}

interface Sampling {
  readonly request: MonitorRequest;
  readonly collector: Collector;
  readonly tree: ProcessTree;
  readonly cooldown: Cooldown | null;
}

/** Samples until it is over. */
async function sample({ request, collector, tree, cooldown }: Sampling, first: NamedProcess): Promise<MonitorResult> {
  const { options, write, say, stopped } = request;
  const memory = createTreeMemorySum();
  // A process may give itself any name.
  const label = options.label || options.name || printable(first.comm);
  const roots = [first.pid];
  let root = first;
  let [samples, peak_rss_bytes] = [0, 0];
  let peak_pss_bytes: number | null = null;
  let goneSince_ns: bigint | null = null;
  const begin_ns = monotonicNs();
  const beginCpu = process.cpuUsage();
  let [last_ns, next_ns] = [begin_ns, begin_ns];
  const interval_ns = BigInt(Math.round(options.interval));

  /** Takes the next process of the name when the root has gone, as after a restart. */
  const followRoot = (pids: readonly number[]): void => {
    if (options.name === undefined || pids.includes(root.pid)) return;
    const next = namedProcesses(options.name).find(({ pid }) => !pids.includes(pid)) ?? null;
    if (next === null || (next.pid === root.pid && next.start_ticks === root.start_ticks)) return;
    root = next;
    roots.push(next.pid);
    tree.begin(next.pid);
    say(`the process is now ${next.comm} (${next.pid})`);
  };

  const step = (): MonitorStop | null => {
    const signal = stopped();
    if (signal !== null) return reasonOf(signal);
    const now_ns = monotonicNs();
    if (options.duration !== undefined && Number(now_ns - begin_ns) >= options.duration) return "duration";
    const found = collector.batches().map((batch) => memory.take(batch))[0] ?? null;
    followRoot(found?.pids ?? []);
    if (found === null) {
      goneSince_ns ??= now_ns;
      return options.name === undefined || now_ns - goneSince_ns >= RESTART_NS ? "exited" : null;
    }
    goneSince_ns = null;
    const { pids, ...bytes } = found;
    const pid = pids.includes(root.pid) ? root.pid : (pids[0] ?? root.pid);
    const row = { time: new Date(), label, pid, ...bytes, children: pids.length - 1, timestamp_ns: now_ns };
    samples += 1;
    last_ns = now_ns;
    peak_rss_bytes = Math.max(peak_rss_bytes, bytes.rss_bytes);
    if (bytes.pss_bytes !== null) peak_pss_bytes = Math.max(peak_pss_bytes ?? 0, bytes.pss_bytes);
    if (!write(memoryCsvRow(row))) return "closed";
    if (options.max_samples !== undefined && samples >= options.max_samples) return "max_samples";
    return cooldown?.over(bytes.rss_bytes, now_ns) ? "cooldown" : null;
  };

  let stopped_by: MonitorStop | null = null;
  while (stopped_by === null) {
    const wait_ns = Number(next_ns - monotonicNs());
    if (wait_ns > 0 && stopped() === null) {
      await Bun.sleep(Math.min(LOOK_MS, wait_ns / 1e6));
      continue;
    }
    stopped_by = step();
    // What was missed is left out: samples keep their grid.
    for (const now_ns = monotonicNs(); next_ns <= now_ns; ) next_ns += interval_ns;
  }
  const cpu = process.cpuUsage(beginCpu);
  const watched_ns = Number(monotonicNs() - begin_ns);
  return {
    stopped_by,
    samples,
    roots,
    pids: tree.pids(),
    peak_rss_bytes,
    peak_pss_bytes,
    window_ns: Number(last_ns - begin_ns),
    // One sample has no time behind it.
    own_cpu_pct: samples > 1 ? (100_000 * (cpu.user + cpu.system)) / watched_ns : null,
  };
}

/**
 * Writes the memory of a process tree as CSV until it ends or a limit is reached; null where a signal came before the
 * process did.
 * @throws MrmTraceError target, when the process is not there; environment, where /proc numbers other processes; what
 *   `write` throws
 */
export async function monitor(request: MonitorRequest): Promise<MonitorResult | null> {
  const { options } = request;
  const refusal = refusalOfProc(namespaceFacts());
  if (refusal !== null) throw new MrmTraceError("environment", refusal.reason, refusal.fix);
  // A pid of no process is refused before a file is begun; a name is waited for with the header in it.
  sought(options);
  request.write(MEMORY_CSV_HEADER);
  const first = await appears(request);
  if (first === null) return null;
  const tree = createProcessTree();
  const collector = createProcessCollector({ tree, intervalNs: 1n, pssNs: BigInt(Math.round(options.interval)) });
  await collector.start({ pid: first.pid, command: [], held: false });
  try {
    const cooldown = options.cooldown === undefined ? null : createCooldown(options.cooldown);
    return await sample({ request, collector, tree, cooldown }, first);
  } finally {
    await collector.stop();
  }
}
