/** One process of vLLM: the cache of each layer where its attention is first seen, and its steps. */
import { layoutColumns } from "../../regions/kv-layout.ts";
import { nullsOf, type WordOf } from "../../schema/row.ts";
import type { AddressOf, EngineProcess, EngineRow, LiveTensor, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { periodsBetween } from "../probing/step-periods.ts";
import { type CachePlace, type LayerCache, layerCache } from "./cache-tensor.ts";
import { loadedWeights } from "./loaded-weights.ts";
import { ENGINE_NAME, PROBE } from "./probes.ts";
import { type RequestRows, requestRows, type SharedRows, type StepRows } from "./request-rows.ts";
import { hasBlocks, stepBlocks } from "./step-blocks.ts";

/** Steps between which the times of the last are kept. */
const PERIODS = 32;

interface OpenStep {
  row: EngineRow<"step">;
  shared: readonly SharedRows[];
  /** Cells of blocks that were given out again for it. */
  freed: StepRows["freed"];
  /** Calls of attention so far, by the address of the layer's keys. */
  readonly layers: Set<bigint>;
  /** One of them was seen, understood or not. */
  isCalled: boolean;
  isDecode: boolean;
}

export function follow(pid: number, addressOf: AddressOf): EngineProcess {
  const weights = loadedWeights(pid, addressOf);
  const live = new Map<bigint, LiveTensor>();
  const begins: bigint[] = [];
  let tensors: EngineRow<"tensor">[] = [];
  let steps: EngineRow<"step">[] = [];
  let rows: { readonly blockTokens: number; readonly of: RequestRows } | null = null;
  /** Layers of the model, once a step was seen to its end. */
  let layerCount = 0;
  let open: OpenStep | null = null;
  /** How often the step was prepared that is open. */
  let preparations = 0;

  function close(): void {
    if (open?.isCalled) {
      layerCount = Math.max(layerCount, open.layers.size);
      const { row, shared, freed } = open;
      const older = shared.filter(({ is_fresh }) => !is_fresh);
      const fresh = shared.filter(({ is_fresh }) => is_fresh);
      const behind = { ...row, timestamp_ns: row.end_ns ?? row.timestamp_ns };
      steps.push(
        ...freedRows(row, freed),
        ...begunRows(row, shared),
        ...copyRows(row, older),
        row,
        ...copyRows(behind, fresh),
      );
      if (open.isDecode) begins.push(open.row.timestamp_ns);
      if (begins.length > PERIODS + 1) begins.shift();
    }
    open = null;
  }

  function stepRow({ timestamp_ns, tid }: Pick<RawRecord, "timestamp_ns" | "tid">, kind: WordOf<"step", "kind">) {
    const { engine: _, ...none } = nullsOf("step");
    return { ...none, timestamp_ns, pid, tid, kind };
  }

  function prepare(record: RawRecord): Outcome {
    // A model with several kinds of layers prepares each of them in turn.
    const isAgain = open !== null && !open.isCalled;
    preparations = isAgain ? preparations + 1 : 1;
    close();
    open = {
      row: stepRow(record, "decode"),
      shared: [],
      freed: [],
      layers: new Set(),
      isCalled: false,
      isDecode: false,
    };
    return "kept";
  }

  function place(
    cache: LayerCache,
    { part, addr, size_bytes, elements, layout }: CachePlace,
    layer: number,
    { timestamp_ns, tid }: RawRecord,
  ) {
    const cells = cache.blocks * cache.block_tokens;
    const tensor: LiveTensor = {
      ...{ engine: ENGINE_NAME, pid, name: `cache_${part}_l${layer}`, tensor_type: cache.type, addr, size_bytes },
      ...{ ne: [elements, cells], nb: [], region_type: "kv_cache", layer, logical_id: `layer${layer}.${part}` },
      ...{ kv_layout: layout, drawn: true, is_alone: true },
    };
    live.set(addr, tensor);
    tensors.push({
      ...{ timestamp_ns, pid, tid, kind: "graph", name: tensor.name, tensor_type: cache.type },
      ...{ addr, size_bytes: BigInt(size_bytes), shape: `${elements}x${cells}` },
      ...{ buffer: cache.storage.addr, buffer_addr: cache.storage.addr },
      ...{ buffer_size_bytes: BigInt(cache.storage.size_bytes), usage: "any", region_type: "kv_cache" },
      ...{ layer, logical_id: tensor.logical_id, ...layoutColumns(layout), evidence: "engine_probe" },
    });
  }

  /** A sequence that begins with rows of others has nothing else. */
  function begunRows(step: EngineRow<"step">, shared: readonly SharedRows[]): EngineRow<"step">[] {
    return [...new Set(shared.map(({ sequence }) => sequence))].map((sequence_id) => {
      const detail = JSON.stringify({ position_from: 0, position_to: -1 });
      return { ...stepRow(step, "kv_trim"), sequence_id, detail };
    });
  }

  function freedRows(step: EngineRow<"step">, kv_cells: StepRows["freed"]): EngineRow<"step">[] {
    return kv_cells.length === 0 ? [] : [{ ...stepRow(step, "kv_free"), detail: JSON.stringify({ kv_cells }) }];
  }

  function copyRows(step: EngineRow<"step">, shared: readonly SharedRows[]): EngineRow<"step">[] {
    return shared.map(({ sequence: sequence_id, is_fresh: _, ...from }) => {
      return { ...stepRow(step, "kv_copy"), sequence_id, detail: JSON.stringify(from) };
    });
  }

  /** What the first layer of a step says of all of it. */
  function tell(step: OpenStep, record: RawRecord, cache: LayerCache): boolean {
    const found = stepBlocks(record.payload, cache);
    if (found === null) return false;
    if (rows?.blockTokens !== cache.block_tokens) {
      rows = { blockTokens: cache.block_tokens, of: requestRows(cache.block_tokens) };
      const settings = { kv_caches: preparations, block_tokens: cache.block_tokens, blocks: cache.blocks };
      steps.push({ ...stepRow(record, "engine"), detail: JSON.stringify({ settings }) });
    }
    const { tokens: n_tokens, requests: n_sequences, listed } = found;
    step.isDecode = n_tokens === n_sequences;
    step.row = { ...step.row, n_tokens, n_sequences };
    if (listed === null) return true;
    const { kv_rows, kv_row_cells, shared, freed } = rows.of.rowsOf(listed);
    const [first = null] = kv_rows.length === 1 ? kv_rows : [];
    const [sequence_id, position_first] = first ?? [null, null];
    step.shared = shared;
    step.freed = freed;
    step.row = { ...step.row, sequence_id, position_first, detail: JSON.stringify({ kv_rows, kv_row_cells }) };
    return true;
  }

  function attend(record: RawRecord): Outcome {
    if (open === null || open.row.tid !== record.tid) return "under_way";
    if (record.isReturn) {
      open.row = { ...open.row, end_ns: record.timestamp_ns, result: 0n };
      if (layerCount > 0 && open.layers.size === layerCount) close();
      return "kept";
    }
    open.isCalled = true;
    weights.awake();
    if (record.unreadable !== 0) return "unreadable";
    const cache = layerCache(record.payload);
    const [first] = cache?.places ?? [];
    if (cache === null || first === undefined) return "implausible";
    const layer = open.layers.size;
    open.layers.add(first.addr);
    if (!live.has(first.addr)) for (const one of cache.places) place(cache, one, layer, record);
    if (open.row.n_tokens !== null || !hasBlocks(record.payload)) return "kept";
    return tell(open, record, cache) ? "kept" : "implausible";
  }

  return {
    useBuild: () => {},
    look(read) {
      const look = weights.look(read);
      return look === null ? [] : [look];
    },
    isSettled: () => false,
    take(record) {
      if (record.probe === PROBE.prepare) return prepare(record);
      return record.probe === PROBE.attention ? attend(record) : "implausible";
    },
    flush: close,
    takeRows() {
      const ofWeights = weights.takeRows();
      const taken = { tensors: [...tensors, ...ofWeights.tensors], steps: [...steps, ...ofWeights.steps] };
      tensors = [];
      steps = [];
      return taken;
    },
    tokenPeriodsNs: () => periodsBetween(begins),
    kvHeads: () => [],
    liveTensors: () => [...live.values(), ...weights.live()],
  };
}
