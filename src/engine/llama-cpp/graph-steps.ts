/**
 * Steps of an engine that hands graphs to ggml itself, such as Ollama's own, which is written in Go: every graph that writes a
 * cache is a batch. Where the program has its names, Go says of which sequences and positions a batch is before its graph
 * is computed, one batch ahead.
 */
import type { EngineRow, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { batchFacts, i32 } from "./batch-facts.ts";
import type { CacheHeads, PlacedRun } from "./cache-heads.ts";
import { isLaterInList } from "./decode-graph.ts";
import { type DecodedBatch, decodeBatch } from "./decode-step.ts";
import { PROBE } from "./probes.ts";
import { type CacheShape, cellsOfRuns, type WrittenCells } from "./written-cells.ts";

export interface GraphSteps {
  /** Takes a call of Go: a batch that is handed over, or a change of the cache. */
  take(record: RawRecord): Outcome;
  /**
   * A graph is computed outside of every call that decodes, or a part of one, where a graphics card computes what is between.
   * @param tokens of its first node; null where that tells none
   * @param list of its nodes
   */
  begin(record: RawRecord, tokens: number | null, written: WrittenCells | null, list: bigint): void;
  end(record: RawRecord): Outcome;
  /** What follows from the last graph is made of it: no part of it comes any more. */
  close(): void;
  /** A call that decodes began or returned: graphs are its, and not steps. */
  leave(): void;
  /** True once one was seen. */
  isLeft(): boolean;
  /** Returns since the last call that were kept, of steps that began before the probes were there, as it turned out. */
  takeUnderWay(): number;
  /** True once a graph was a step, and as long as no call that decodes is seen. */
  hasStepped(): boolean;
  /** True once a graph came in parts, between which others compute. */
  isParted(): boolean;
  /** Ends the graphs that have not returned: rows without an end. */
  flush(): void;
}

export interface GraphStepsContext {
  readonly heads: CacheHeads;
  rowOf(record: RawRecord, kind: "decode" | "context" | "kv_trim" | "kv_copy" | "kv_shift"): EngineRow<"step">;
  push(row: EngineRow<"step">): void;
  /** The shape of the cache tensor that begins at an address; null where none is known there. */
  cacheAt(addr: bigint): CacheShape | null;
}

/** The one cache of the process: a runner has one model, which ends with it. */
const CACHE = 0n;
/** Batches that Go may have handed over when a graph begins: that of the graph, and the next. */
const AHEAD = 2;
/** Graphs without a word of Go that are held back: a call that decodes may have begun before the probes came, and have many. */
const HELD = 32;
/** Graphs kept open; a thread computes one at a time, so that more are those of threads that ended. */
const OPEN_LIMIT = 64;
/** What Go passes as the end of a sequence. */
const SEQUENCE_END = 2 ** 31 - 1;
/** Before the shape of a cache is known: any cell may be one of it. */
const ANY_CELL: CacheShape = { cells: 2 ** 32, streams: 1 };

/**
 * Steps that are held back where the first that is seen may be the one before its batch: in that time the order of calls nearly always
 * shows it.
 */
const UNSURE = 128;

/** Which of the arguments copied by a call of Go are its own, or a number of 4 bytes of one: the rest is what was left in registers. */
const OWN_ARGUMENTS = new Map<number, readonly (1 | 2 | 3 | 4)[]>([
  [PROBE.go_cache, [4]],
  [PROBE.go_remove, [1, 2, 3]],
  [PROBE.go_copy, [1, 2, 3]],
]);

interface OpenGraph {
  /** Without what is told of its batch. */
  readonly row: EngineRow<"step">;
  readonly n_tokens: number;
  readonly written: WrittenCells;
  /** What was handed over of it; null where that was not seen. */
  batch: DecodedBatch | null;
  /** The first bytes of the caches that its parts were seen to write, each one that is another layer's. */
  readonly caches: Set<bigint>;
  /** List of the nodes of its last part. */
  list: bigint;
}

interface EndedGraph {
  readonly graph: OpenGraph;
  readonly end_ns: bigint;
  readonly result: bigint;
}

const isPlaced = (runs: DecodedBatch["runs"]): runs is readonly PlacedRun[] =>
  runs?.every(({ position }) => position !== null) ?? false;

const placedRuns = (batch: DecodedBatch | null): readonly PlacedRun[] | null => {
  const runs = batch?.runs ?? null;
  return isPlaced(runs) ? runs : null;
};

/** No batch yet. */
export function graphSteps({ heads, rowOf, push, cacheAt }: GraphStepsContext): GraphSteps {
  const open = new Map<number, OpenGraph>();
  /** Batches that were handed over and whose graphs have not begun. */
  const handed: DecodedBatch[] = [];
  /**
   * True where each graph has its own batch. Where Go hands a batch over just before the graph of the batch before begins, of which it told
   * before the probes came, that graph takes it, and so do all that follow.
   */
  let isSure = false;
  /** Steps until that is known, the first of all in front. */
  let early: EndedGraph[] = [];
  /** The last that a graph got, and the graph that got none behind it: the batch was its own, or that of it was lost. */
  let given: DecodedBatch | null = null;
  let lacking: OpenGraph | null = null;
  let underWay = 0;
  let isTold = false;
  let hasStepped = false;
  /** Another engine calls the graphs. */
  let isLeft = false;
  let held: EngineRow<"step">[] = [];
  /** The last call of Go since a graph began. */
  let last = "";
  /** The last graph that began, by thread. */
  const latest = new Map<number, OpenGraph>();
  /** Graphs come in parts: the last one may have more, and is told when it has none. */
  let isParted = false;
  let unsure: EndedGraph | null = null;

  function release(): void {
    for (const row of held) push(row);
    held = [];
  }

  /** What was handed over of the graph that begins; null where that was not seen. */
  function batchOf(tokens: number): DecodedBatch | null {
    while (handed.length > AHEAD) handed.shift();
    const index = handed.findIndex(({ n_tokens }) => n_tokens === tokens);
    if (index < 0) return null;
    const before = handed[index - 1] ?? given;
    // Were it the next one's, the graph would be of the batch before it, which has another number of tokens.
    if (!isSure && before !== null && before.n_tokens !== tokens) settle(false);
    return handed.splice(0, index + 1)[index] ?? null;
  }

  function rowOfGraph({ row, n_tokens, written, batch }: OpenGraph): EngineRow<"step"> {
    const placed = placedRuns(batch);
    const { columns, detail } = batchFacts(n_tokens, placed);
    const cells = placed && cellsOfRuns(placed, written.ranges, cacheAt(written.addr) ?? ANY_CELL);
    const facts = { ...detail, ...(cells ? { kv_row_cells: cells } : {}) };
    const text = Object.keys(facts).length === 0 ? null : JSON.stringify(facts);
    return { ...row, n_tokens, ...columns, detail: text };
  }

  function pushEnded({ graph, end_ns, result }: EndedGraph): void {
    const row = { ...rowOfGraph(graph), end_ns, result };
    if (!isTold && !hasStepped && held.push(row) < HELD) return;
    if (held.length > 0) release();
    else push(row);
    hasStepped = true;
    if (result === 0n) heads.advance(CACHE, placedRuns(graph.batch), row.timestamp_ns);
  }

  function tellEnded(ended: EndedGraph): void {
    if (isSure || !isTold) pushEnded(ended);
    else if (early.push(ended) === UNSURE) settle(lacking !== null);
  }

  function close(): void {
    const ended = unsure;
    if (ended === null || isOpen(ended.graph)) return;
    unsure = null;
    tellEnded(ended);
  }

  const isOpen = (graph: OpenGraph): boolean => open.values().some((one) => one === graph);

  /** The graph of which another part begins; null for one of its own, which writes a layer that was written before, or whose list is elsewhere. */
  function partOf({ tid }: RawRecord, { addr, tokens }: WrittenCells, list: bigint): OpenGraph | null {
    const graph = latest.get(tid);
    if (graph === undefined || open.has(tid) || graph.written.tokens !== tokens) return null;
    return isLaterInList(graph.list, list) && !graph.caches.has(addr) ? graph : null;
  }

  /** Tells the steps that were held back. @param isLate where each has the batch of the next one: the first of them was under way */
  function settle(isLate: boolean): void {
    const steps = early;
    early = [];
    isSure = true;
    if (isLate) {
      const all = [
        ...steps.map(({ graph }) => graph),
        ...(lacking === null || steps.some(({ graph }) => graph === lacking) ? [] : [lacking]),
      ];
      const batches = all.map(({ batch }) => batch);
      for (const [i, graph] of all.entries()) graph.batch = batches[i - 1] ?? null;
    }
    lacking = null;
    if (isLate && steps.length > 0) underWay += 1;
    for (const step of isLate ? steps.slice(1) : steps) pushEnded(step);
  }

  /** True where a batch goes on two tokens behind another one in a sequence of both: that between them was lost. */
  function skips(before: DecodedBatch, next: DecodedBatch): boolean {
    return (next.runs ?? []).some(({ sequences: [sequence], position }) => {
      const last = before.runs?.findLast(({ sequences }) => sequences.includes(sequence ?? -1));
      return last?.position != null && position !== null && position > last.position + last.tokens;
    });
  }

  function handOver(batch: DecodedBatch): Outcome {
    if (lacking !== null && given !== null) settle(!skips(given, batch));
    isTold = true;
    if (!hasStepped) held = [];
    handed.push(batch);
    if (handed.length > OPEN_LIMIT) handed.shift();
    return "kept";
  }

  function change(record: RawRecord): Outcome {
    close();
    // Where the last graph of an answer got none all have that of the next one; else what came before is told before the change.
    if (lacking !== null) settle(true);
    for (const step of early.splice(0)) pushEnded(step);
    if (record.probe === PROBE.go_cache) isSure = true;
    const [, first, second, third, fourth] = record.args;
    const tell = (kind: "kv_trim" | "kv_copy" | "kv_shift", sequence_id: number, facts: object): void =>
      push({ ...rowOf(record, kind), sequence_id, detail: JSON.stringify(facts) });
    if (record.probe === PROBE.go_cache) {
      heads.begin(CACHE);
      const asked = JSON.stringify({ n_seq_max: i32(fourth) });
      push({ ...rowOf(record, "context"), end_ns: record.timestamp_ns, detail: asked });
    } else if (record.probe === PROBE.go_copy) {
      const [from, sequence, tokens] = [i32(first), i32(second), i32(third)];
      heads.trim(CACHE, { sequence, from: 0, to: -1 });
      heads.copy(CACHE, from, sequence, tokens);
      tell("kv_trim", sequence, { position_from: 0, position_to: -1 });
      tell("kv_copy", sequence, { sequence_from: from, position_from: 0, position_to: tokens });
    } else {
      const [sequence, from, end] = [i32(first), i32(second), i32(third)];
      const stretch = { sequence, from, to: end === SEQUENCE_END ? -1 : end };
      heads.trim(CACHE, stretch);
      tell("kv_trim", sequence, { position_from: from, position_to: stretch.to });
      if (stretch.to >= 0) {
        heads.shift(CACHE, { sequence, from: end, to: -1 }, from - end);
        tell("kv_shift", sequence, { position_from: end, position_to: -1, positions: from - end });
      }
    }
    return "kept";
  }

  return {
    take(record) {
      const { payload, args, probe, unreadable } = record;
      const batch = probe === PROBE.go_forward ? decodeBatch(payload, unreadable) : undefined;
      if (batch === null) return unreadable === 0 ? "implausible" : "unreadable";
      // Go begins a function anew where its stack was too small, and a cache of several kinds does one thing in each.
      const named = OWN_ARGUMENTS.get(probe)?.map((i) => i32(args[i]));
      const call = `${probe}/${batch === undefined ? named?.join() : JSON.stringify(batch)}`;
      if (call === last) return "duplicate";
      last = call;
      return batch === undefined ? change(record) : handOver(batch);
    },
    begin(record, tokens, written, list) {
      // A graph that turns keys where a call takes rows from a midst comes between the same call of two caches.
      if (written !== null) last = "";
      if (written === null || isLeft) return;
      const whole = partOf(record, written, list);
      if (whole !== null) {
        whole.caches.add(written.addr);
        whole.list = list;
        isParted = true;
        if (unsure?.graph === whole) open.set(record.tid, whole);
        return;
      }
      close();
      const n_tokens = tokens ?? written.tokens;
      const batch = batchOf(n_tokens);
      const place = { caches: new Set([written.addr]), list };
      const graph: OpenGraph = { row: rowOf(record, "decode"), n_tokens, written, batch, ...place };
      if (!isSure && batch === null && given?.n_tokens === n_tokens) lacking ??= graph;
      given = batch ?? given;
      if (open.size >= OPEN_LIMIT) open.clear();
      if (latest.size >= OPEN_LIMIT) latest.clear();
      open.set(record.tid, graph);
      latest.set(record.tid, graph);
    },
    end(record) {
      const graph = open.get(record.tid);
      if (graph === undefined) return "kept";
      open.delete(record.tid);
      // Go told of it before the probes were there, as it has of the next meanwhile.
      if (!hasStepped && early.length === 0 && isTold && placedRuns(graph.batch) === null) return "under_way";
      const before = unsure?.graph === graph ? unsure.result : 0n;
      const result = before === 0n ? BigInt.asIntN(32, record.args[0]) : before;
      const ended = { graph, end_ns: record.timestamp_ns, result };
      if (isParted) unsure = ended;
      else tellEnded(ended);
      return "kept";
    },
    close,
    takeUnderWay() {
      const taken = underWay;
      underWay = 0;
      return taken;
    },
    isParted: () => isParted && !isLeft,
    isLeft: () => isLeft,
    hasStepped: () => (hasStepped || early.length > 0) && !isLeft,
    leave() {
      isLeft = true;
      held = [];
      early = [];
      unsure = null;
      open.clear();
    },
    flush() {
      close();
      unsure = null;
      settle(lacking !== null);
      release();
      for (const graph of open.values()) push(rowOfGraph(graph));
      open.clear();
    },
  };
}
