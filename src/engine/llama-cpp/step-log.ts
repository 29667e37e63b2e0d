/** What one process's engine does in time: entries joined to returns, the token axis, the head of the KV cache. */
import type { WordOf } from "../../schema/row.ts";
import type { EngineRow, KvHead, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { batchFacts, cellFacts, encodedFacts, hex, i32, tokensIn } from "./batch-facts.ts";
import { cacheHeads, type PlacedRun } from "./cache-heads.ts";
import { failedRestores } from "./calls/failed-restores.ts";
import { memoryOwners } from "./calls/memory-owners.ts";
import { isOlderCall, olderCalls } from "./calls/older-calls.ts";
import { refusedTrims } from "./calls/refused-trims.ts";
import { FILLS, HANDING_ON, kindOf, OF_ALL, OF_GO, RETURNS } from "./calls/step-kinds.ts";
import { graphBegins, tokensOfGraph } from "./decode-graph.ts";
import { type BatchRun, decodeBatch, decodeContextParams, decodePath } from "./decode-step.ts";
import type { LayerReads } from "./expert-reads.ts";
import { filledBatches } from "./filled-batches.ts";
import { goPace } from "./go-pace.ts";
import { graphSteps } from "./graph-steps.ts";
import type { GgmlLayout, ParamsLayout } from "./offsets.ts";
import { PROBE } from "./probes.ts";
import { type CacheShape, type CellRange, cellsOfRuns, writtenCells } from "./written-cells.ts";

export interface StepLog {
  /** Offsets of the context parameters; null leaves them out. */
  useParams(layout: ParamsLayout | null): void;
  /** Offsets of graphs and their nodes. */
  useLayout(layout: GgmlLayout): void;
  /** Takes a record of a call that makes a step. */
  take(record: RawRecord): Outcome;
  /** What the engine runs with, as it became known. */
  tellSettings(settings: Readonly<Record<string, unknown>>, time: bigint, tid: number): void;
  /** Which experts of a mixture were read. */
  tellExperts(reads: readonly LayerReads[], time: bigint, tid: number): void;
  takeRows(): EngineRow<"step">[];
  /** True once graphs were steps by themselves, and as long as no call that decodes is seen. */
  isOfGraphs(): boolean;
  /** True once a call that decodes was seen. */
  hasCalled(): boolean;
  /** True once one of these came in parts, between which others compute. */
  isParted(): boolean;
  /** Ends the calls that have not returned: rows without an end. */
  flush(): void;
  /** Records since the last call that were kept, of calls that began before the probes were there, as it turned out. */
  takeUnderWay(): number;
  tokenPeriodsNs(): number[];
  kvHeads(): KvHead[];
}

export interface StepContext {
  readonly pid: number;
  readonly layout: GgmlLayout;
  /** What the tensor map holds of weights, to say what a load placed. */
  readonly weights: { readonly bytes: number; readonly tensors: number };
  /** True while the placing of tensors may not be seen. */
  readonly isSettled: () => boolean;
  /** The shape of the cache tensor that begins at an address; null where none is known there. */
  readonly cacheAt: (addr: bigint) => CacheShape | null;
  /** True of a build by which rows may be moved to other cells than they were written to; false unless told. */
  readonly hasOlderNames?: () => boolean;
}

interface OpenCall {
  readonly row: EngineRow<"step">;
  /** The tokens of a batch; null where they are not known. */
  readonly runs: readonly PlacedRun[] | null;
  readonly context: bigint;
  /** Tokens of the graphs that were computed inside of it, and of which the first parts were seen. */
  graphTokens: number;
  readonly beginsGraph: (list: bigint) => boolean;
  /** The cells that those graphs wrote, how many of each, and the first byte of the tensor that has them. */
  readonly cells: CellRange[];
  readonly written: number[];
  cache: bigint | null;
  /** False for a call that makes no row: another one is about the same batch. */
  readonly isStep: boolean;
  /** Weights in memory when the call began; null where those that it places may not be seen. */
  readonly weights: { readonly bytes: number; readonly tensors: number } | null;
  readonly known: Readonly<Record<string, unknown>>;
  /** Its context was freed meanwhile. */
  isOfGone: boolean;
}

/** Calls kept open; a thread can be inside one of each kind, so that more are calls that were killed. */
const OPEN_LIMIT = 4096;
/** Bit of the graph in `unreadable`; its first node is another part. */
export const GRAPH_UNREADABLE = 1;
/** What llama_process is to do. */
const DECODE = 1;
/** Bit of LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: what attention keeps is not part of the state. */
const PARTIAL = 1n;

/** An empty log of one process. */
export function stepLog(context: StepContext): StepLog {
  const { pid, weights, isSettled, cacheAt, hasOlderNames = () => false } = context;
  let { layout } = context;
  const open = new Map<string, OpenCall>();
  /** Probes of which a call was seen to begin. */
  const begun = new Set<number>();
  const heads = cacheHeads(hasOlderNames);
  const memories = memoryOwners();
  const batches = filledBatches();
  const older = olderCalls();
  const restores = failedRestores();
  const trims = refusedTrims();
  let params: ParamsLayout | null = null;
  const pace = goPace((drawn, engine_time) => void rows.push(rowOf(drawn, "engine", { engine_time })));
  let rows: EngineRow<"step">[] = [];

  function rowOf(
    record: Pick<RawRecord, "timestamp_ns" | "tid">,
    kind: WordOf<"step", "kind">,
    facts: Readonly<Record<string, unknown>>,
  ): EngineRow<"step"> {
    return {
      timestamp_ns: record.timestamp_ns,
      end_ns: null,
      pid,
      tid: record.tid,
      kind,
      n_tokens: null,
      n_sequences: null,
      position_first: null,
      sequence_id: null,
      result: null,
      detail: Object.keys(facts).length === 0 ? null : JSON.stringify(facts),
    };
  }

  const ofGraphs = graphSteps({
    heads,
    cacheAt,
    rowOf: (record, kind) => rowOf(record, kind, {}),
    push,
  });

  function push(row: EngineRow<"step">): void {
    rows.push(row);
    pace.note(row);
  }

  /** What is encoded stands where its batch says, and moves no head. */
  function placed(
    kind: WordOf<"step", "kind">,
    handle: bigint,
    runs: readonly BatchRun[],
  ): readonly PlacedRun[] | null {
    if (kind !== "encode") return heads.place(handle, runs);
    return runs.map((run) => ({ ...run, position: run.position ?? 0 }));
  }

  /** What the columns and the detail of a batch say of its tokens. */
  function factsOf(kind: WordOf<"step", "kind">, handle: bigint, n_tokens: number, runs: readonly PlacedRun[] | null) {
    if (kind === "encode") return encodedFacts(n_tokens, runs);
    return batchFacts(n_tokens, runs, runs && heads.drafter(handle, runs));
  }

  function begin(record: RawRecord, kind: WordOf<"step", "kind">): Outcome {
    const handle = record.args[0];
    let facts: Record<string, unknown> = {};
    let columns: Partial<EngineRow<"step">> = {};
    let runs: readonly PlacedRun[] | null = null;
    let outcome: Outcome = "kept";
    if (kind === "model_load") {
      const path = decodePath(record.payload, record.unreadable);
      if (path !== null) facts = { path };
    } else if (kind === "context") {
      const asked = params && record.unreadable === 0 ? decodeContextParams(record.payload, params) : null;
      facts = { model: hex(handle), ...asked };
    } else if (record.probe === PROBE.process) {
      // What was put into its batch is held against the graphs inside, which say how many tokens there are.
      const filled = batches.runsOf(record.args[2]);
      runs = filled && placed(kind, handle, filled);
      facts = { context: hex(handle) };
    } else {
      const batch = decodeBatch(record.payload, record.unreadable);
      facts = { context: hex(handle) };
      if (batch === null) outcome = record.unreadable !== 0 ? "unreadable" : "implausible";
      else {
        runs = batch.runs && placed(kind, handle, batch.runs);
        const tokens = factsOf(kind, handle, batch.n_tokens, runs);
        facts = { ...facts, ...tokens.detail };
        columns = { n_tokens: batch.n_tokens, ...tokens.columns };
      }
    }
    const row: EngineRow<"step"> = { ...rowOf(record, kind, facts), ...columns };
    if (open.size >= OPEN_LIMIT) flush();
    begun.add(record.probe);
    const key = `${record.tid}/${record.probe}`;
    const stale = open.get(key);
    if (stale?.isStep) rows.push(stale.row);
    open.set(key, {
      row,
      runs,
      graphTokens: 0,
      beginsGraph: graphBegins(),
      ...{ cells: [], written: [] },
      cache: null,
      isStep: isStep(record),
      context: handle,
      weights: isSettled() ? null : { ...weights },
      known: facts,
      isOfGone: false,
    });
    return outcome;
  }

  function isStep({ probe, tid }: RawRecord): boolean {
    return probe !== PROBE.process || !HANDING_ON.some((caller) => open.has(`${tid}/${caller}`));
  }

  function finish(record: RawRecord): Outcome {
    const key = `${record.tid}/${record.probe}`;
    const call = open.get(key);
    if (!call) return begun.has(record.probe) ? "call_unseen" : "under_way";
    open.delete(key);
    const { kind } = call.row;
    const value = record.args[0];
    const result = kind === "decode" || kind === "encode" ? BigInt.asIntN(32, value) : BigInt.asIntN(64, value);
    let facts = call.known;
    if (kind === "model_load" && call.weights !== null) {
      const tensors = weights.tensors - call.weights.tensors;
      facts = { ...facts, weight_tensors: tensors, weight_bytes: weights.bytes - call.weights.bytes };
      if (tensors === 0) facts = { ...facts, simulated: true };
    }
    if (kind === "context" && value !== 0n) heads.begin(value);
    if (!call.isStep) return "kept";
    let { row, runs } = call;
    if (record.probe === PROBE.process) {
      const filled = runs === null ? null : tokensIn(runs);
      const n_tokens = call.graphTokens > 0 ? call.graphTokens : filled;
      if (filled !== n_tokens) runs = null;
      const tokens = factsOf(kind, call.context, n_tokens ?? 0, runs);
      row = { ...row, n_tokens, ...tokens.columns };
      facts = { ...facts, ...tokens.detail };
    }
    const shape = call.cache === null ? null : cacheAt(call.cache);
    if (shape !== null && !call.isOfGone) heads.divide(call.context, shape.streams);
    const cells = !hasOlderNames() && runs && shape && cellsOfRuns(runs, call.cells, shape);
    if (cells) facts = { ...facts, ...cellFacts(runs ?? [], cells, call.written) };
    const detail = Object.keys(facts).length === 0 ? null : JSON.stringify(facts);
    push({ ...row, end_ns: record.timestamp_ns, result, detail });
    if (kind === "decode" && result === 0n && !call.isOfGone) heads.advance(call.context, runs, row.timestamp_ns);
    return "kept";
  }

  /** What a program puts into a batch that it will hand over. */
  function fill({ probe, args: [batch, second, third], payload, unreadable }: RawRecord): Outcome {
    if (probe === PROBE.batch_add) batches.add(batch, i32(second));
    else if (probe === PROBE.batch_add_seq) batches.share(batch, i32(second), i32(third));
    else if (probe === PROBE.batch_set_pos) {
      batches.place(batch, i32(second), unreadable ? null : payload.getInt32(0, true));
    } else if (probe === PROBE.batch_ask) batches.ask(batch, i32(second), (third & 0xffn) !== 0n);
    else batches.empty(batch);
    return "kept";
  }

  /** A call that changes a cache: what it names, and what becomes of the heads. */
  function change(record: RawRecord, kind: WordOf<"step", "kind">): Outcome {
    const [handle, second, third, fourth, fifth] = record.args;
    const namesContext = kind === "kv_restore" || isOlderCall(record);
    const named = namesContext ? handle : memories.contextOf(handle);
    // Of a memory that nobody was seen to ask for it is likely, and no more: one that has not decoded yet may have it.
    const cache = named ?? heads.only();
    const place = {
      ...(namesContext ? {} : { memory: hex(handle) }),
      ...(named === undefined ? {} : { context: hex(named) }),
    };
    const stretch = { sequence: i32(second), from: i32(third), to: i32(fourth) };
    const range = { position_from: stretch.from, position_to: stretch.to };
    let sequence = stretch.sequence;
    let facts: Record<string, unknown> = {};
    if (kind === "kv_clear") {
      facts = isOlderCall(record) ? {} : { data: (second & 1n) === 1n };
      sequence = -1;
      if (cache !== null) heads.clear(cache);
    } else if (kind === "kv_trim") {
      const kept_guesses = cache === null ? 0 : heads.trim(cache, stretch);
      const guesses = cache !== null && kept_guesses > 0 ? { context: hex(cache), kept_guesses } : {};
      facts = { sequence, ...range, ...guesses };
    } else if (kind === "kv_copy") {
      sequence = i32(third);
      facts = { sequence_from: stretch.sequence, position_from: i32(fourth), position_to: i32(fifth) };
      if (cache !== null) heads.copy(cache, stretch.sequence, sequence, i32(fifth), i32(fourth));
    } else if (kind === "kv_keep") {
      if (cache !== null) heads.keep(cache, sequence);
    } else if (kind === "kv_shift") {
      facts = { ...range, positions: i32(fifth) };
      if (cache !== null) heads.shift(cache, stretch, i32(fifth));
    } else if (kind === "kv_divide") {
      facts = { ...range, divisor: i32(fifth) };
      if (cache !== null) heads.forget(cache, sequence);
    } else {
      if (OF_ALL.has(record.probe)) sequence = -1;
      else sequence = i32(record.probe === PROBE.restore_seq_file ? third : fourth);
      if (record.probe === PROBE.restore_seq_part && (fifth & PARTIAL) !== 0n) facts = { partial: true };
      heads.forget(handle, sequence);
    }
    const row = { ...rowOf(record, kind, { ...place, ...facts }), sequence_id: sequence < 0 ? null : sequence };
    push(row);
    if (kind === "kv_restore") restores.begin(record.tid, row);
    if (kind === "kv_trim") trims.begin({ row, cache });
    return "kept";
  }

  function single(record: RawRecord, kind: WordOf<"step", "kind">): Outcome {
    const [handle] = record.args;
    if (kind === "graph") {
      if (record.unreadable & GRAPH_UNREADABLE) return "unreadable";
      const written = writtenCells(record.payload);
      const tokens = tokensOfGraph(record.payload, layout);
      const list = record.payload.getBigUint64(layout.graph.nodes, true);
      ofGraphs.begin(record, tokens, written, list);
      for (const probe of [PROBE.decode, PROBE.process]) {
        const call = open.get(`${record.tid}/${probe}`);
        if (call === undefined) continue;
        if (tokens !== null && call.beginsGraph(list)) call.graphTokens += tokens;
        if (written === null) continue;
        call.cells.push(...written.ranges);
        call.written.push(written.tokens);
        call.cache = written.addr;
      }
      const n_nodes = record.payload.getInt32(layout.graph.nodeCount, true);
      rows.push(rowOf(record, kind, { n_nodes }));
    } else if (kind === "model_free" || kind === "context_free") {
      if (kind === "context_free") {
        heads.free(handle);
        memories.free(handle);
        for (const call of open.values()) call.isOfGone ||= call.context === handle;
      }
      rows.push(rowOf(record, kind, { [kind === "context_free" ? "context" : "model"]: hex(handle) }));
    } else {
      const failed = kind === "kv_restore" && record.isReturn ? restores.end(record) : null;
      if (failed !== null) push(failed);
      const refused = kind === "kv_trim" && record.isReturn ? trims.end(record) : null;
      if (refused !== null) {
        push(refused.row);
        if (refused.cache !== null) heads.forget(refused.cache, refused.row.sequence_id ?? -1);
      }
      const place = older.place(record);
      if (place === "begin") return change(record, kind);
      return place === "again" ? "duplicate" : "kept";
    }
    return "kept";
  }

  function flush(): void {
    pace.flush();
    for (const call of open.values()) if (call.isStep) rows.push(call.row);
    open.clear();
    ofGraphs.flush();
  }

  return {
    useParams(chosen) {
      params = chosen ?? params;
    },
    useLayout(chosen) {
      layout = chosen;
    },
    take(record) {
      if (record.probe === PROBE.get_memory) return memories.take(record);
      if (FILLS.has(record.probe)) return fill(record);
      if (OF_GO.has(record.probe)) return ofGraphs.take(record);
      if (record.probe === PROBE.go_begin || record.probe === PROBE.go_draw) {
        ofGraphs.close();
        return pace.take(record);
      }
      if (record.probe === PROBE.graph_compute && record.isReturn) return ofGraphs.end(record);
      if (record.probe === PROBE.decode || record.probe === PROBE.process) ofGraphs.leave();
      const kind = kindOf(record.probe);
      if (kind === undefined) return "implausible";
      if (!RETURNS.has(record.probe)) return single(record, kind);
      older.leave(record.tid);
      if (record.isReturn) return finish(record);
      const encodes = record.probe === PROBE.process && i32(record.args[1]) !== DECODE;
      return begin(record, encodes ? "encode" : kind);
    },
    tellSettings(settings, timestamp_ns, tid) {
      rows.push(rowOf({ timestamp_ns, tid }, "engine", { settings }));
    },
    tellExperts(reads, timestamp_ns, tid) {
      const experts = reads.map(({ layer, tokens, reads: each, expert_bytes, untold }) => [
        ...[layer, tokens, each],
        ...[expert_bytes, untold],
      ]);
      rows.push(rowOf({ timestamp_ns, tid }, "engine", { experts }));
    },
    takeRows() {
      const taken = rows;
      rows = [];
      return taken;
    },
    isOfGraphs: ofGraphs.hasStepped,
    hasCalled: ofGraphs.isLeft,
    isParted: ofGraphs.isParted,
    takeUnderWay: ofGraphs.takeUnderWay,
    flush,
    tokenPeriodsNs: heads.tokenPeriodsNs,
    kvHeads: () => heads.kvHeads(pid),
  };
}
