/** One traced process: its tensor map, its steps, and which of its graphs were read. */
import type { EngineBuild, EngineProcess } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { readGraph } from "./graph-reader.ts";
import { chooseLayout, type LayoutChoice } from "./offsets.ts";
import { tensorMap } from "./placed-tensors.ts";
import { PROBE } from "./probes.ts";
import { GRAPH_UNREADABLE, stepLog } from "./step-log.ts";

interface PendingGraph {
  readonly address: bigint;
  readonly key: string;
  readonly time: bigint;
  readonly tid: number;
}

/** A graph that is being rebuilt while we read is tried again, this often. */
const ATTEMPTS = 5;
const SHAPE_LIMIT = 256;

const UNKNOWN_BUILD: LayoutChoice = chooseLayout({ soname: null, buildId: null });

/** A process of which no record was seen yet. @param builds of the libraries that it has mapped, in order of time */
export function processState(pid: number, builds: readonly EngineBuild[]): EngineProcess {
  const choices = builds.map(chooseLayout);
  const layout = (choices.at(-1) ?? UNKNOWN_BUILD).ggml;
  const map = tensorMap(pid, layout);
  let flash: boolean | null = null;
  let caches = 0;
  const steps = stepLog({ pid, layout, weights: map.weights, isSettled: map.isSettled, cacheAt: map.cacheAt });
  for (const { params } of choices) steps.useParams(params);
  /** Attempts by graph address and number of nodes. */
  const attempts = new Map<string, number>();
  let pending: PendingGraph | null = null;

  function noteGraph(record: RawRecord): void {
    if (record.unreadable & GRAPH_UNREADABLE) return;
    const key = `${record.args[0]}/${record.payload.getInt32(layout.graph.nodeCount, true)}`;
    if ((attempts.get(key) ?? 0) >= ATTEMPTS) return;
    pending = { address: record.args[0], key, time: record.timestamp_ns, tid: record.tid };
  }

  return {
    useBuild: (build) => steps.useParams(chooseLayout(build).params),
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
          if (!record.isReturn) noteGraph(record);
          else if (steps.isOfGraphs()) map.passInputs();
          break;
        case PROBE.context_init:
          // Another context may build graphs of its own at the addresses of an old one.
          attempts.clear();
          break;
      }
      const outcome = steps.take(record);
      if (record.probe === PROBE.model_load || record.probe === PROBE.context_init) map.unsettle();
      return outcome;
    },
    // One graph that was not read yet, if a call named one.
    look(read) {
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
        // Half a graph may have written half of the caches.
        const seen = reading.complete ? Math.max(caches, reading.caches) : caches;
        const isNews = flash !== reading.flashAttention || seen > caches;
        flash = reading.flashAttention;
        caches = seen;
        if (isNews) steps.tellSettings({ flash_attention: flash, kv_caches: caches }, time, tid);
      }
      return { graph: key, tensors: reading.tensors.length, refused: reading.refused, found };
    },
    isSettled: map.isSettled,
    flush: steps.flush,
    takeRows: () => ({ tensors: map.takeRows(), steps: steps.takeRows() }),
    tokenPeriodsNs: steps.tokenPeriodsNs,
    kvHeads: steps.kvHeads,
    liveTensors: map.live,
  };
}
