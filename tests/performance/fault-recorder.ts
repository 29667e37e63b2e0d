/** A recorder of one process's faults from the parts of the tracer, without the rest: what `perf record` is held against. */
import { join } from "node:path";
import { FAULTS_PER_POLL } from "../../src/collect/ebpf/faults/fault-part.ts";
import { openFaults } from "../../src/collect/ebpf/faults/faults.ts";
import { openLifecycle } from "../../src/collect/ebpf/lifecycle/lifecycle.ts";
import { MAPPINGS_PER_POLL } from "../../src/collect/ebpf/lifecycle/lifecycle-part.ts";
import { openEncoder } from "../../src/columnar/segments/encoder.ts";
import { openSegmentWriter } from "../../src/columnar/segments/segment-writer.ts";
import { monotonicNs, threadCpuNs } from "../../src/kernel/libc.ts";
import { pollPace } from "../../src/record/poll-pace.ts";

/** What the recorder prints when the process has ended. */
export interface Recorded {
  readonly rows: number;
  readonly lost: number;
  readonly bytes: number;
  /** CPU time of the whole recorder: its start, reading, and writing zstd Parquet by a second thread. */
  readonly cpu_ns: number;
  /** CPU time before it was ready to record. */
  readonly start_cpu_ns: number;
  /** Of the time after that, the thread that reads the rings and hands rows on. */
  readonly reading_cpu_ns: number;
}

function processCpuNs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

/** Records the faults of `pid` below `dir`; `ready` is called when nothing can be missed any more. */
async function recordFaults(pid: number, dir: string, ready: () => void): Promise<Recorded> {
  using lifecycle = await openLifecycle(pid);
  using faults = await openFaults(lifecycle.targetsFd);
  await using encoder = openEncoder();
  const writer = openSegmentWriter({ encoder, dir, table: "fault" });
  // The writing thread has loaded its code when it has written one file: that is part of the start.
  const start = {
    path: join(dir, "start.tmp"),
    batch: { table: "fault" as const, rows: 0, columns: {} },
    keyValues: new Map(),
  };
  await encoder.submit([start], null);
  lifecycle.addProcess(pid);
  const start_cpu_ns = processCpuNs();
  const threadBegin = threadCpuNs();
  ready();
  let ended = false;
  const pace = pollPace(monotonicNs(), false, Infinity);
  let filled = 0;
  while (!ended) {
    await Bun.sleep(pace.after(monotonicNs(), filled));
    const mappings = lifecycle.drain();
    ended = mappings.some((row) => row.kind === "exit" && row.pid === pid);
    if (ended) faults.detach();
    filled = mappings.length / MAPPINGS_PER_POLL;
    for (const batch of faults.drain()) {
      filled += batch.rows / FAULTS_PER_POLL;
      writer.append(batch);
    }
  }
  const reading_cpu_ns = threadCpuNs() - threadBegin;
  const lost = faults.ledger().reduce((sum, row) => sum + row.dropped, 0);
  const [written] = await writer.close();
  return {
    rows: written?.kept ?? 0,
    lost: lost + (written?.dropped ?? 0),
    bytes: writer.writtenBytes,
    cpu_ns: processCpuNs(),
    start_cpu_ns,
    reading_cpu_ns,
  };
}

if (import.meta.main) {
  const [pid, dir] = process.argv.slice(2);
  const recorded = await recordFaults(Number(pid), dir ?? ".", () => process.stdout.write("ready\n"));
  process.stdout.write(`${JSON.stringify(recorded)}\n`);
}
