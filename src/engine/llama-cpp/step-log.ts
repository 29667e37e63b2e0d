/** What one process's engine does in time: entries joined to returns, the token axis, the head of the KV cache. */
import type { WordOf } from "../../schema/row.ts";
import type { EngineRow, KvHead, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { type DecodedBatch, decodeBatch, decodeContextParams, decodePath, STRUCT_UNREADABLE } from "./decode-step.ts";
import type { GgmlLayout, ParamsLayout } from "./offsets.ts";
import { ENGINE_NAME, PROBE } from "./probes.ts";

export interface StepLog {
  /** Offsets of the context parameters; null leaves them out. */
  useParams(layout: ParamsLayout | null): void;
  /** Takes a record of a call that makes a step. */
  take(record: RawRecord): Outcome;
  /** What the engine runs with, as it became known. */
  tellSettings(settings: Readonly<Record<string, unknown>>, time: bigint, tid: number): void;
  takeRows(): EngineRow<"step">[];
  /** Ends the calls that have not returned: rows without an end. */
  flush(): void;
  tokenPeriodsNs(): number[];
  kvHeads(): KvHead[];
}

export interface StepContext {
  readonly pid: number;
  readonly layout: GgmlLayout;
  /** What the tensor map holds of weights, to say what a load placed. */
  readonly weights: { readonly bytes: number; readonly tensors: number };
}

interface OpenCall {
  readonly row: EngineRow<"step">;
  readonly batch: DecodedBatch | null;
  readonly context: bigint;
  /** Weights in memory when the call began. */
  readonly weights: { readonly bytes: number; readonly tensors: number };
  readonly known: Readonly<Record<string, unknown>>;
}

interface Head {
  nextRow: number;
  mask: bigint;
  /** Begins of the last decodes of one token per sequence, in ns. */
  begins: bigint[];
}

const KIND_OF = new Map<number, WordOf<"step", "kind">>([
  [PROBE.model_load, "model_load"],
  [PROBE.context_init, "context"],
  [PROBE.decode, "decode"],
  [PROBE.graph_compute, "graph"],
  [PROBE.memory_clear, "kv_clear"],
  [PROBE.memory_seq_rm, "kv_trim"],
  [PROBE.model_free, "model_free"],
  [PROBE.context_free, "context_free"],
]);
const RETURNS: ReadonlySet<number> = new Set([PROBE.model_load, PROBE.context_init, PROBE.decode]);
const PERIODS = 32;
/** Calls kept open; a thread can be inside one of each kind, so that more are calls that were killed. */
const OPEN_LIMIT = 4096;

/** An address as text, for the detail of a row. */
function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function bits(mask: bigint): number {
  return [...mask.toString(2)].filter((digit) => digit === "1").length;
}

/** The least position of a batch: as it says, else the next of its context. */
function positionOf(batch: DecodedBatch | null, head: Head): number | null {
  if (batch === null) return null;
  if (batch.position_first !== null) return batch.position_first;
  return batch.n_sequences === 1 ? head.nextRow : null;
}

/** An empty log of one process. */
export function stepLog(context: StepContext): StepLog {
  const { pid, layout, weights } = context;
  const open = new Map<string, OpenCall>();
  /** Probes of which a call was seen to begin. */
  const begun = new Set<number>();
  const heads = new Map<bigint, Head>();
  let params: ParamsLayout | null = null;
  let rows: EngineRow<"step">[] = [];

  function headOf(handle: bigint): Head {
    let head = heads.get(handle);
    if (!head) {
      head = { nextRow: 0, mask: 0n, begins: [] };
      heads.set(handle, head);
    }
    return head;
  }

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

  function begin(record: RawRecord, kind: WordOf<"step", "kind">): Outcome {
    const handle = record.args[0];
    let batch: DecodedBatch | null = null;
    let facts: Record<string, unknown> = {};
    let outcome: Outcome = "kept";
    if (kind === "model_load") {
      const path = decodePath(record.payload, record.unreadable);
      if (path !== null) facts = { path };
    } else if (kind === "context") {
      const asked = params && record.unreadable === 0 ? decodeContextParams(record.payload, params) : null;
      facts = { model: hex(handle), ...asked };
    } else {
      batch = decodeBatch(record.payload, record.unreadable);
      facts = { context: hex(handle) };
      if (batch === null) outcome = record.unreadable & STRUCT_UNREADABLE ? "unreadable" : "implausible";
    }
    const row: EngineRow<"step"> = {
      ...rowOf(record, kind, facts),
      n_tokens: batch?.n_tokens ?? null,
      n_sequences: batch?.n_sequences ?? null,
      position_first: kind === "decode" ? positionOf(batch, headOf(handle)) : null,
      sequence_id: batch?.sequence_id ?? null,
    };
    if (open.size >= OPEN_LIMIT) flush();
    begun.add(record.probe);
    const key = `${record.tid}/${record.probe}`;
    const stale = open.get(key);
    if (stale) rows.push(stale.row);
    open.set(key, { row, batch, context: handle, weights: { ...weights }, known: facts });
    return outcome;
  }

  function finish(record: RawRecord, kind: WordOf<"step", "kind">): Outcome {
    const key = `${record.tid}/${record.probe}`;
    const call = open.get(key);
    if (!call) return begun.has(record.probe) ? "call_unseen" : "under_way";
    open.delete(key);
    const value = record.args[0];
    const result = kind === "decode" ? BigInt.asIntN(32, value) : BigInt.asIntN(64, value);
    let facts = call.known;
    if (kind === "model_load") {
      const tensors = weights.tensors - call.weights.tensors;
      facts = { ...facts, weight_tensors: tensors, weight_bytes: weights.bytes - call.weights.bytes };
      if (tensors === 0) facts = { ...facts, simulated: true };
    }
    const detail = Object.keys(facts).length === 0 ? null : JSON.stringify(facts);
    rows.push({ ...call.row, end_ns: record.timestamp_ns, result, detail });
    if (kind === "decode" && result === 0n) advance(call);
    return "kept";
  }

  function advance({ row, batch, context: handle }: OpenCall): void {
    const head = headOf(handle);
    if (batch === null) return;
    head.mask |= batch.sequence_mask;
    if (batch.position_last !== null) head.nextRow = batch.position_last + 1;
    else head.nextRow += batch.n_tokens;
    if (batch.n_tokens !== (batch.n_sequences ?? 1)) return;
    head.begins.push(row.timestamp_ns);
    if (head.begins.length > PERIODS + 1) head.begins.shift();
  }

  /** The functions of the cache name the memory, not the context: with several contexts the next batch corrects the head. */
  function onlyHead(): Head | null {
    return heads.size === 1 ? (heads.values().next().value ?? null) : null;
  }

  function single(record: RawRecord, kind: WordOf<"step", "kind">): Outcome {
    const [handle, second, third, fourth] = record.args;
    const i32 = (value: bigint) => Number(BigInt.asIntN(32, value));
    const head = onlyHead();
    if (kind === "kv_clear") {
      if (head) Object.assign(head, { nextRow: 0, mask: 0n });
      rows.push(rowOf(record, kind, { memory: hex(handle), data: (second & 1n) === 1n }));
    } else if (kind === "kv_trim") {
      const [sequence, from, end] = [i32(second), i32(third), i32(fourth)];
      if (head && end < 0 && bits(head.mask) <= 1) head.nextRow = Math.min(head.nextRow, Math.max(from, 0));
      const facts = { memory: hex(handle), sequence, position_from: from, position_to: end };
      rows.push({ ...rowOf(record, kind, facts), sequence_id: sequence < 0 ? null : sequence });
    } else if (kind === "graph") {
      if (record.unreadable !== 0) return "unreadable";
      const n_nodes = record.payload.getInt32(layout.graph.nodeCount, true);
      rows.push(rowOf(record, kind, { n_nodes }));
    } else {
      if (kind === "context_free") heads.delete(handle);
      rows.push(rowOf(record, kind, { [kind === "context_free" ? "context" : "model"]: hex(handle) }));
    }
    return "kept";
  }

  function flush(): void {
    for (const { row } of open.values()) rows.push(row);
    open.clear();
  }

  return {
    useParams(chosen) {
      params = chosen ?? params;
    },
    take(record) {
      const kind = KIND_OF.get(record.probe);
      if (kind === undefined) return "implausible";
      if (!RETURNS.has(record.probe)) return single(record, kind);
      return record.isReturn ? finish(record, kind) : begin(record, kind);
    },
    tellSettings(settings, timestamp_ns, tid) {
      rows.push(rowOf({ timestamp_ns, tid }, "engine", { settings }));
    },
    takeRows() {
      const taken = rows;
      rows = [];
      return taken;
    },
    flush,
    tokenPeriodsNs() {
      return [...heads.values()].flatMap(({ begins }) =>
        begins.slice(1).map((time, i) => Number(time - (begins[i] ?? time))),
      );
    },
    kvHeads: () =>
      [...heads].map(([handle, { nextRow, mask }]) => ({
        engine: ENGINE_NAME,
        pid,
        context: handle,
        next_row: nextRow,
        sequences: bits(mask),
      })),
  };
}
