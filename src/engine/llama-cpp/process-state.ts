/** One traced process: its tensor map, its steps, and which of its graphs were read. */
import { type GraphReading, type ReadMemory, readGraph } from "./graph-reader.ts";
import type { LayoutChoice } from "./offsets.ts";
import { type Outcome, type TensorMap, tensorMap } from "./placed-tensors.ts";
import { PROBE } from "./probes.ts";
import type { RawRecord } from "./raw-record.ts";
import { type StepLog, stepLog } from "./step-log.ts";

export interface ProcessState {
  readonly pid: number;
  readonly execEpoch: number;
  readonly map: TensorMap;
  readonly steps: StepLog;
  take(record: RawRecord): Outcome;
  /** Reads one graph that was not read yet, if a call named one; says what was new and what was known. */
  readPendingGraph(read: ReadMemory): GraphCheck | null;
}

export interface GraphCheck {
  /** Names the graph among those of the process. */
  readonly graph: string;
  readonly reading: GraphReading;
  /** Tensors that the probes had missed. */
  readonly found: number;
}

interface PendingGraph {
  readonly address: bigint;
  readonly key: string;
  readonly time: bigint;
  readonly tid: number;
}

/** A graph that is being rebuilt while we read is tried again, this often. */
const ATTEMPTS = 5;
const SHAPE_LIMIT = 256;

/** A process of which nothing is known yet. */
export function processState(pid: number, execEpoch: number, choice: LayoutChoice): ProcessState {
  const layout = choice.ggml;
  const map = tensorMap(pid, layout);
  let flash: boolean | null = null;
  const steps = stepLog({ pid, layout, weights: map.weights });
  /** Attempts by graph address and number of nodes. */
  const attempts = new Map<string, number>();
  let pending: PendingGraph | null = null;

  function noteGraph(record: RawRecord): void {
    if (record.unreadable !== 0) return;
    const key = `${record.args[0]}/${record.payload.getInt32(layout.graph.nodeCount, true)}`;
    if ((attempts.get(key) ?? 0) >= ATTEMPTS) return;
    pending = { address: record.args[0], key, time: record.timestamp_ns, tid: record.tid };
  }

  return {
    pid,
    execEpoch,
    map,
    steps,
    take(record) {
      switch (record.probe) {
        case PROBE.tensor_alloc:
          return map.tensorAlloc(record);
        case PROBE.buffer_init:
          return record.isReturn ? map.bufferCreated(record) : map.bufferBegin(record);
        case PROBE.buffer_alloc:
          return map.bufferCreated(record);
        case PROBE.buffer_usage:
          return map.bufferUsage(record);
        case PROBE.buffer_clear:
          return map.bufferCleared(record);
        case PROBE.buffer_free:
          return map.bufferFreed(record);
        case PROBE.graph_compute:
          noteGraph(record);
          break;
        case PROBE.context_init:
          // Another context may build graphs of its own at the addresses of an old one.
          attempts.clear();
          break;
      }
      return steps.take(record);
    },
    readPendingGraph(read) {
      if (pending === null) return null;
      const { address, key, time, tid } = pending;
      pending = null;
      const reading = readGraph(address, read, layout);
      const done = reading.complete && Object.keys(reading.refused).length === 0;
      if (attempts.size >= SHAPE_LIMIT) attempts.clear();
      attempts.set(key, done ? ATTEMPTS : (attempts.get(key) ?? 0) + 1);
      let found = 0;
      for (const tensor of reading.tensors) if (map.addFromGraph(tensor, time, tid)) found += 1;
      if (reading.flashAttention !== null) {
        for (const tensor of reading.tensors) map.layOut(tensor, reading.flashAttention, time, tid);
        if (flash !== reading.flashAttention)
          steps.tellSettings({ flash_attention: reading.flashAttention }, time, tid);
        flash = reading.flashAttention;
      }
      return { graph: key, reading, found };
    },
  };
}
