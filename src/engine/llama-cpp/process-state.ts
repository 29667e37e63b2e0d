/** One traced process: its tensor map, its steps, and which of its graphs were read. */
import type { EngineBuild, EngineProcess, Look, ObjectAt, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { bufferBackends } from "./buffer-backend.ts";
import { expertReads } from "./expert-reads.ts";
import { type GraphMemory, graphMemory, readGraph } from "./graph-reader.ts";
import { chooseLayout, isSameLayout, type LayoutChoice } from "./layout-choice.ts";
import { GGML_LAYOUT } from "./offsets.ts";
import { tensorMap } from "./placed-tensors.ts";
import { PROBE } from "./probes.ts";
import { scheduledGraphs } from "./scheduled-graphs.ts";
import { GRAPH_UNREADABLE, stepLog } from "./step-log.ts";

interface PendingGraph {
  /** A copy of its own bytes. */
  readonly head: DataView;
  readonly key: string;
  readonly nodes: number;
  readonly time: bigint;
  readonly tid: number;
}

/** A graph that is being rebuilt while we read is tried again, this often. */
const ATTEMPTS = 5;
/** Graphs that are told apart: each node is one where a callback is asked about it. */
const SHAPE_LIMIT = 8192;
/** Graphs that wait to be read; those of one step of a large model are some thousands. */
const PENDING_LIMIT = 4096;
/** Nodes after which the other graphs wait for the next look. */
const NODES_AT_ONCE = 512;

/** Graphs of several caches that are told apart. */
const LISTS_LIMIT = 64;

const STRIPPED =
  "the program is stripped: of its functions of C only those are found that Go calls, so that what it does to a cache or a buffer by others is not seen";
const PARTED =
  "another part of ggml than the CPU's computes some of each graph: a step lasts from the first part on the CPU to the last, so that rates inside of steps are above what was computed";
const EXPERTS_UNTOLD =
  "which experts of a mixture are read is not told: no call was seen that looks up how much each of them weighs";

/** What becomes of every tensor where the fields are read in the wrong places. */
const DOUBTS: ReadonlySet<Outcome> = new Set(["implausible", "not_in_memory", "empty"]);

/** Tensors that were placed, by whether they were believed. */
interface Placed {
  believed: number;
  doubted: number;
}

const OTHER_OFFSETS =
  "no more tensors are known: a process has two libraries of ggml whose structures are laid out differently";

/** Why no tensor is known of a build whose structures are laid out in another way; null where some are. */
function unknownLayout({ believed, doubted }: Placed, choice: LayoutChoice): string | null {
  if (believed > 0 || doubted === 0) return null;
  const by = {
    checked: ", tried on this build, which is not known",
    dwarf: "",
    build_id: `, of ${choice.build}`,
    soname: `, of ${choice.build}`,
  }[choice.evidence];
  const asked = choice.refused === null ? "" : `; its debugging data does not help: ${choice.refused}`;
  return `no tensor is known: none of ${doubted} that were placed is what the offsets of ${choice.ggml?.name} make of it${by}${asked}`;
}

const UNKNOWN_BUILD: LayoutChoice = chooseLayout({ soname: null, buildId: null });
/** Probes at which structures of ggml are copied. */
const COPIES: ReadonlySet<number> = new Set([
  PROBE.tensor_alloc,
  PROBE.buffer_alloc,
  PROBE.buffer_init,
  PROBE.buffer_free,
  PROBE.buffer_usage,
  PROBE.buffer_clear,
  PROBE.graph_compute,
  PROBE.scheduled,
  PROBE.lookup,
]);

/** A process of which no record was seen yet. @param builds of the libraries that it has mapped, in order of time */
export function processState(
  pid: number,
  builds: readonly EngineBuild[],
  objectAt: ObjectAt = () => null,
): EngineProcess {
  const backendOf = bufferBackends((addr) => objectAt(pid, addr));
  /** The choice by which structures of ggml are read, once a library is there that has some. */
  let choice: LayoutChoice | null = null;
  let layout = GGML_LAYOUT;
  let hasOthers = false;
  let isStripped = false;
  let isOfGraphs = false;
  let hasOlderNames = false;
  const placed: Placed = { believed: 0, doubted: 0 };
  const map = tensorMap(pid, layout);
  const experts = expertReads(map.expertsIn);
  /** The last record that told of them. */
  let lookup: Pick<RawRecord, "timestamp_ns" | "tid"> | null = null;
  let flash: boolean | null = null;
  let caches = 0;
  /** Layers of the caches of a graph that has several, as they were told. */
  const toldLists = new Set<string>();
  const steps = stepLog({
    ...{ pid, layout, weights: map.weights, isSettled: map.isSettled },
    ...{ cacheAt: map.cacheAt, hasOlderNames: () => hasOlderNames },
  });
  const scheduled = scheduledGraphs();
  for (const build of builds) useBuild(build);
  /** Attempts by the list of a graph's nodes and their number. */
  const attempts = new Map<string, number>();
  /** True once one of them was read, or will not be. */
  let hasLooked = false;
  /** Graphs to read by the list of their nodes, of which the last one is there; the latest last. */
  const pending = new Map<bigint, PendingGraph>();

  function useBuild(build: EngineBuild): void {
    isStripped ||= build.isStripped === true;
    hasOlderNames ||= build.hasOlderNames === true;
    const chosen = chooseLayout(build);
    steps.useParams(chosen.params);
    if (chosen.ggml === null) return;
    if (choice !== null && !isSameLayout(layout, chosen.ggml)) hasOthers = true;
    // What its debugging data says is better than what is tried, or held against several builds.
    if (choice !== null && (hasOthers || chosen.evidence !== "dwarf")) return;
    choice = chosen;
    layout = chosen.ggml;
    map.useLayout(layout);
    steps.useLayout(layout);
  }

  function noteGraph({ unreadable, payload, timestamp_ns, tid }: RawRecord): void {
    if (unreadable & GRAPH_UNREADABLE) return;
    const list = payload.getBigUint64(layout.graph.nodes, true);
    const nodes = Math.max(0, payload.getInt32(layout.graph.nodeCount, true));
    const key = `${list}/${nodes}`;
    if ((attempts.get(key) ?? 0) >= ATTEMPTS) return;
    const head = new DataView(payload.buffer.slice(payload.byteOffset, payload.byteOffset + layout.copied.graph));
    pending.delete(list);
    if (pending.size < PENDING_LIMIT) pending.set(list, { head, key, nodes, time: timestamp_ns, tid });
  }

  function lookAt({ head, key, time, tid }: PendingGraph, memory: GraphMemory): Omit<Look, "unread_nodes"> {
    const reading = readGraph(head, memory, layout, (buffer) => backendOf(buffer, memory.first));
    for (const tensor of reading.elsewhere) map.addElsewhere(tensor, tensor.backend, time, tid);
    const done = reading.complete && Object.keys(reading.refused).length === 0;
    if (attempts.size >= SHAPE_LIMIT) attempts.clear();
    attempts.set(key, done ? ATTEMPTS : (attempts.get(key) ?? 0) + 1);
    hasLooked ||= (attempts.get(key) ?? 0) >= ATTEMPTS;
    let found = 0;
    for (const tensor of reading.tensors) {
      if (map.addFromGraph(tensor, time, tid)) found += 1;
      if (tensor.isOutput) map.tie(tensor, time, tid);
    }
    if (reading.flashAttention !== null) {
      for (const tensor of reading.tensors) map.layOut(tensor, reading.flashAttention, time, tid);
      // Half a graph may have written half of the caches.
      const seen = reading.complete ? Math.max(caches, reading.caches) : caches;
      const { cacheLists } = reading;
      const hasLists = reading.complete && cacheLists.length > 1 && toldLists.size < LISTS_LIMIT;
      const lists = hasLists ? JSON.stringify(cacheLists) : "";
      const isOther = hasLists && !toldLists.has(lists);
      if (isOther) toldLists.add(lists);
      const isNews = flash !== reading.flashAttention || seen > caches || isOther;
      flash = reading.flashAttention;
      caches = seen;
      const settings = { flash_attention: flash, kv_caches: caches, ...(isOther ? { kv_lists: cacheLists } : {}) };
      if (isNews) steps.tellSettings(settings, time, tid);
    }
    const { tensors, refused, nodes } = reading;
    return { graph: key, tensors: tensors.length, refused, found, nodes };
  }

  function tellExperts(): void {
    if (lookup !== null) steps.tellExperts(experts.takeReads(), lookup.timestamp_ns, lookup.tid);
    lookup = null;
  }

  function tally(outcome: Outcome): Outcome {
    if (outcome === "kept") placed.believed += 1;
    if (DOUBTS.has(outcome)) placed.doubted += 1;
    return outcome;
  }

  function takeStep(record: RawRecord): Outcome {
    const outcome = steps.take(record);
    if (steps.isOfGraphs() === isOfGraphs) return outcome;
    isOfGraphs = !isOfGraphs;
    map.passInputs(isOfGraphs);
    // The probes of a call that decodes came later than those of its graphs: what was passed over in these is looked at again.
    if (!isOfGraphs) attempts.clear();
    return outcome;
  }

  /** A graph is looked at when it begins, and becomes a step when it is over: until then another library may tell of it. */
  function takeScheduled(record: RawRecord): Outcome {
    if (!record.isReturn) {
      noteGraph(record);
      scheduled.begin(record);
      return "kept";
    }
    const graph = scheduled.end(record);
    if (graph === null) return "under_way";
    const outcomes = graph.map(takeStep);
    return outcomes.find((outcome) => outcome !== "kept") ?? (graph.length === 0 ? "duplicate" : "kept");
  }

  return {
    useBuild,
    take(record) {
      if (hasOthers && COPIES.has(record.probe)) return "implausible";
      switch (record.probe) {
        case PROBE.tensor_alloc:
          return tally(map.tensorAlloc(record));
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
        case PROBE.lookup: {
          const outcome = experts.take(record);
          if (outcome === "kept") lookup = { timestamp_ns: record.timestamp_ns, tid: record.tid };
          return outcome;
        }
        case PROBE.graph_compute:
          if (record.isReturn) break;
          scheduled.pass(record.tid);
          noteGraph(record);
          break;
        case PROBE.scheduled:
          return takeScheduled(record);
        case PROBE.context_init:
          // Another context may build graphs of its own at the addresses of an old one.
          attempts.clear();
          break;
      }
      const outcome = takeStep(record);
      if (record.probe === PROBE.model_load || record.probe === PROBE.context_init) map.unsettle();
      return outcome;
    },
    // Those that were computed last first: the others may be gone.
    look(read) {
      for (const handle of map.unjudged()) map.judge(handle, backendOf(handle, read));
      const memory = graphMemory(read);
      const looks: Look[] = [];
      let unread_nodes = 0;
      for (const { nodes } of pending.values()) unread_nodes += nodes;
      for (const [list, graph] of [...pending].reverse()) {
        pending.delete(list);
        unread_nodes -= graph.nodes;
        looks.push({ ...lookAt(graph, memory), unread_nodes });
        if (looks.reduce((sum, { nodes }) => sum + nodes, looks.length) >= NODES_AT_ONCE) break;
      }
      return looks;
    },
    isSettled: map.isSettled,
    // Before Linux 6.6 to take probes away stops this thread for 0.6 s, in which a graph that waits may go.
    hasCalled: () => hasLooked && steps.hasCalled(),
    isAsking(nowNs) {
      if (!map.hasExperts()) return false;
      const isAsking = experts.isAsking(nowNs);
      if (!isAsking) tellExperts();
      return isAsking;
    },
    flush() {
      tellExperts();
      steps.flush();
    },
    takeRows: () => ({ tensors: map.takeRows(), steps: steps.takeRows() }),
    takeUnderWay: steps.takeUnderWay,
    tokenPeriodsNs: steps.tokenPeriodsNs,
    kvHeads: steps.kvHeads,
    liveTensors: map.live,
    untold() {
      const unknown = unknownLayout(placed, choice ?? UNKNOWN_BUILD);
      const elsewhere = map.untold();
      return [
        ...(map.hasExperts() && !experts.hasCounted() ? [EXPERTS_UNTOLD] : []),
        ...(unknown === null || elsewhere.length > 0 ? [] : [unknown]),
        ...elsewhere,
        ...(steps.isParted() || (isOfGraphs && elsewhere.length > 0) ? [PARTED] : []),
        ...(hasOthers ? [OTHER_OFFSETS] : []),
        ...(isStripped ? [STRIPPED] : []),
      ];
    },
  };
}
