/** The live map of one process: buffers and the tensors in them, fed by probe records and by the graph reader. */

import type { WordOf } from "../../schema/row.ts";
import type { TensorUsage } from "../../schema/words.ts";
import type { EngineRow, LiveTensor, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { type TurnTakers, turnTakers } from "../turn-takers.ts";
import type { CacheRole } from "./cache-role.ts";
import { classify, holdsExperts, layoutOf, OUTPUT } from "./classify.ts";
import { decodeBuffer, decodeFreshTensor, LEAST_ADDRESS, liesIn, type RawTensor, usageOf } from "./decode-tensor.ts";
import { elsewhere } from "./elsewhere.ts";
import type { LayerExperts } from "./expert-reads.ts";
import type { GraphTensor } from "./graph-reader.ts";
import { classedTensor } from "./live-tensor.ts";
import type { GgmlLayout } from "./offsets.ts";
import { BUFFER_UNREADABLE, placedStructures, TENSOR_UNREADABLE } from "./placed-pieces.ts";
import {
  bufferRow,
  type ClassedTensor,
  elsewhereRow,
  type From,
  goneElsewhere,
  type PlacedBuffer,
  tensorRow,
} from "./tensor-rows.ts";
import type { CacheShape } from "./written-cells.ts";

interface LiveBuffer extends PlacedBuffer {
  usage: TensorUsage;
  /** By address: the tensor that took it last; no activation. */
  readonly tensors: Map<bigint, LiveTensor>;
  readonly turns: TurnTakers;
  /** Address and name of every tensor ever placed here. */
  readonly placed: Set<string>;
}

export interface TensorMap {
  /** Offsets of what is told from then on. */
  useLayout(layout: GgmlLayout): void;
  tensorAlloc(record: RawRecord): Outcome;
  bufferBegin(record: RawRecord): Outcome;
  bufferCreated(record: RawRecord): Outcome;
  bufferUsage(record: RawRecord): Outcome;
  bufferCleared(record: RawRecord): Outcome;
  bufferFreed(record: RawRecord): Outcome;
  /** Adds a tensor found in a graph; false where it was known. */
  addFromGraph(found: GraphTensor, time: bigint, tid: number): boolean;
  /** A graph told whether it uses its cache tensors with flash attention: says how they keep their rows, once. */
  layOut(found: GraphTensor, flash: boolean, time: bigint, tid: number): void;
  /** A graph read a table of embeddings as the output matrix: says so, once, and that watches see something there. */
  tie(found: GraphTensor, time: bigint, tid: number): void;
  /** Buffers of which is not known who keeps them. */
  unjudged(): readonly bigint[];
  /** A buffer is kept by a backend with memory of its own: nothing of it is in the process's; null for one that is in it. */
  judge(handle: bigint, backend: string | null): void;
  /** Adds a tensor that a graph has in a buffer of such a backend. */
  addElsewhere(found: GraphTensor, backend: string, time: bigint, tid: number): void;
  /** What such backends have. */
  untold(): string[];
  /** Takes the rows made since the last call. */
  takeRows(): EngineRow<"tensor">[];
  live(): LiveTensor[];
  /** True after many tensors in a row that had been placed where they were before. */
  isSettled(): boolean;
  /** Others may come: a model is loaded, or a context made. */
  unsettle(): void;
  /** Whether every graph gets buffers of its own from now on for what it is given: those of no usage are not told then. */
  passInputs(isPassing: boolean): void;
  /** The shape of the cache tensor that begins at an address; null where none is known there. */
  cacheAt(addr: bigint): CacheShape | null;
  /** True once a tensor was there that holds the experts of a mixture. */
  hasExperts(): boolean;
  /** The experts that a layer has by those tensors; null where it has none. */
  expertsIn(layer: number): LayerExperts | null;
  /** Bytes and number of weights placed so far, for the check against the model's file. */
  readonly weights: { bytes: number; tensors: number };
}

const tensorsIn = ({ tensors, turns }: LiveBuffer): LiveTensor[] => [...tensors.values(), ...turns.all()];

interface OutsideTensor {
  readonly tensor: ClassedTensor;
  readonly from: From;
}

/** In which arguments ggml_backend_buffer_init gets its context and size, after the structure passed by value. */
const INIT_ARGS = process.arch === "arm64" ? ([2, 3] as const) : ([1, 2] as const);

/** Tensors that say nothing new, after which no more are asked for: some graphs of a large model. */
const SETTLED_AFTER = 8192;

/** Names kept per buffer; graphs of real models place some thousands. */
const PLACED_LIMIT = 65536;

/** Names a tensor in its buffer; what a graph tells of one that was placed without a name is news. */
function placeKey({ name }: RawTensor, addr: bigint, role: CacheRole | undefined): string {
  return `${addr}/${role === undefined ? name : "cache"}`;
}

/** An empty map of process `pid`. */
export function tensorMap(pid: number, first: GgmlLayout): TensorMap {
  let layout = first;
  const buffers = new Map<bigint, LiveBuffer>();
  /** Arguments of constructors that have not returned, by thread. */
  const constructing = new Map<number, { readonly context: bigint; readonly size: bigint }>();
  const weights = { bytes: 0, tensors: 0 };
  /** Buffers of which nobody looked yet who keeps them, and by buffer what was placed outside of it until then. */
  const unjudged = new Set<bigint>();
  const outside = new Map<bigint, OutsideTensor[]>();
  const others = elsewhere();
  let structuresOf = placedStructures(layout);
  let rows: EngineRow<"tensor">[] = [];
  /** Tensors since the last that was new. */
  let repeated = 0;
  let passesInputs = false;
  /** By layer, as the last of its tensors has them. */
  const experts = new Map<number, { experts: number; readonly matrices: Map<string, number> }>();
  /** Buffers of a load that is simulated: those of llama.cpp have no bytes, those of Ollama are said to have some, and none. */
  const simulated = new Set<bigint>();

  function addBuffer(kind: WordOf<"tensor", "kind">, buffer: LiveBuffer, time: bigint, tid: number): void {
    rows.push(bufferRow(pid, kind, buffer, time, tid));
  }

  function open(handle: bigint, addr: bigint, sizeBytes: number, usage: TensorUsage): LiveBuffer {
    const buffer = {
      handle,
      addr,
      sizeBytes,
      usage,
      tensors: new Map(),
      turns: turnTakers(),
      placed: new Set<string>(),
    };
    buffers.set(handle, buffer);
    unjudged.add(handle);
    return buffer;
  }

  function noteElsewhere(handle: bigint, { tensor, from }: OutsideTensor): void {
    const isNews = others.note(handle, tensor);
    repeated = isNews ? 0 : repeated + 1;
    if (isNews) rows.push(elsewhereRow(pid, handle, tensor, from));
  }

  function noteOutside(handle: bigint, found: OutsideTensor): void {
    const seen = outside.get(handle) ?? [];
    if (seen.length < PLACED_LIMIT) seen.push(found);
    outside.set(handle, seen);
  }

  function same(live: LiveBuffer | undefined, addr: bigint, sizeBytes: number): live is LiveBuffer {
    return live !== undefined && live.addr === addr && live.sizeBytes === sizeBytes;
  }

  function placeExperts(layer: number, { name, ne, sizeBytes }: RawTensor): void {
    const count = ne[2] ?? 0;
    const placed = experts.get(layer);
    const matrices = placed?.experts === count ? placed.matrices : new Map<string, number>();
    matrices.set(name, sizeBytes / count);
    experts.set(layer, { experts: count, matrices });
  }

  function place(buffer: LiveBuffer, tensor: RawTensor, addr: bigint, from: From): void {
    const { role } = from;
    const classed = classedTensor(pid, tensor, { addr, usage: buffer.usage, role });
    const { region_type, layer } = classed;
    if (region_type === "weight" && layer !== null && holdsExperts(tensor.name)) placeExperts(layer, tensor);
    if (buffer.placed.size >= PLACED_LIMIT) buffer.placed.clear();
    const place = placeKey(tensor, addr, role);
    repeated = buffer.placed.has(place) ? repeated + 1 : 0;
    buffer.placed.add(place);
    if (region_type === "activation") {
      buffer.turns.place(place, { ...classed, region_type });
      buffer.tensors.delete(addr);
    } else buffer.tensors.set(addr, { ...classed, region_type: region_type ?? "runtime" });
    if (region_type === "weight") {
      weights.bytes += tensor.sizeBytes;
      weights.tensors += 1;
    }
    rows.push(tensorRow(pid, from.graph ? "graph" : "tensor", buffer, classed, from));
  }

  /** The buffer that a record names: the known one, else the one its bytes describe, where what is placed in it lies. */
  function named(
    record: RawRecord,
    bytes: DataView,
    placedAt: bigint | null = null,
    passes = passesInputs,
  ): LiveBuffer | Outcome {
    const handle = record.args[0];
    if (handle === 0n) return "null_handle";
    if (simulated.has(handle)) return "simulated";
    const existing = buffers.get(handle);
    if (record.unreadable & BUFFER_UNREADABLE) return existing ?? "unreadable";
    const raw = decodeBuffer(bytes, layout, ({ context, sizeBytes }) => {
      if (placedAt !== null) return liesIn(placedAt, 1, { addr: context, sizeBytes });
      return existing === undefined || same(existing, context, sizeBytes);
    });
    if (raw === null) return existing ?? "implausible";
    // One whose constructor was handed bytes has them: where it seems to have none, it is read in the wrong places.
    if (raw.sizeBytes === 0) return existing === undefined ? "simulated" : "implausible";
    if (same(existing, raw.context, raw.sizeBytes)) return existing;
    if (passes && raw.usage === "any") return "passing";
    // No row: it was made before the probes were there, and nobody saw when.
    return open(handle, raw.context, raw.sizeBytes, raw.usage);
  }

  /** Sends a record about a buffer on to `then`. */
  function withBuffer(record: RawRecord, then: (buffer: LiveBuffer) => void, passes = passesInputs): Outcome {
    const buffer = named(record, record.payload, null, passes);
    if (typeof buffer === "string") return buffer;
    then(buffer);
    return "kept";
  }

  function created(record: RawRecord, addr: bigint, sizeBytes: number, usage: TensorUsage): Outcome {
    const handle = record.args[0];
    others.free(handle);
    if (handle !== 0n && sizeBytes > 0 && addr < LEAST_ADDRESS) simulated.add(handle);
    else simulated.delete(handle);
    if (sizeBytes === 0 || handle === 0n || addr < LEAST_ADDRESS) return "simulated";
    if (same(buffers.get(handle), addr, sizeBytes)) return "duplicate";
    if (passesInputs && usage === "any") return "passing";
    repeated = 0;
    addBuffer("buffer", open(handle, addr, sizeBytes, usage), record.timestamp_ns, record.tid);
    return "kept";
  }

  return {
    weights,
    useLayout(chosen) {
      layout = chosen;
      structuresOf = placedStructures(layout);
    },
    tensorAlloc(record) {
      if (record.unreadable & TENSOR_UNREADABLE) return "unreadable";
      const [handle, , addr] = record.args;
      const bytes = structuresOf(record.payload);
      const buffer = others.has(handle) ? null : named(record, bytes.buffer, addr);
      if (typeof buffer === "string") return buffer;
      const decoded = decodeFreshTensor(bytes.tensor, layout);
      if (!decoded.ok) return decoded.doubt === "empty" ? "empty" : "implausible";
      const from = { time: record.timestamp_ns, tid: record.tid, graph: false };
      if (buffer !== null && liesIn(addr, decoded.value.sizeBytes, buffer)) {
        place(buffer, decoded.value, addr, from);
        return "kept";
      }
      const found = { tensor: classedTensor(pid, decoded.value, { addr, usage: buffer?.usage ?? "any" }), from };
      if (buffer === null) noteElsewhere(handle, found);
      else noteOutside(handle, found);
      return "not_in_memory";
    },
    bufferBegin(record) {
      constructing.set(record.tid, { context: record.args[INIT_ARGS[0]], size: record.args[INIT_ARGS[1]] });
      return "kept";
    },
    bufferCreated(record) {
      const begun = constructing.get(record.tid);
      constructing.delete(record.tid);
      // Arguments first: they need no layout. The structure is what is left for an allocation whose constructor was inlined.
      if (begun) return created(record, begun.context, Number(begun.size), "any");
      if (simulated.has(record.args[0])) return "simulated";
      if (record.unreadable & 1) return "unreadable";
      const raw = decodeBuffer(record.payload, layout);
      return raw === null ? "implausible" : created(record, raw.context, raw.sizeBytes, raw.usage);
    },
    bufferUsage(record) {
      const usage = usageOf(Number(BigInt.asIntN(32, record.args[1])));
      if (usage === null) return "implausible";
      if (others.has(record.args[0])) {
        others.use(record.args[0], usage);
        return "not_in_memory";
      }
      return withBuffer(
        record,
        (buffer) => {
          buffer.usage = usage;
          for (const [addr, tensor] of buffer.tensors) {
            const { region_type } = classify(tensor.name ?? "", usage);
            buffer.tensors.set(addr, { ...tensor, region_type: region_type ?? "runtime" });
          }
          addBuffer("usage", buffer, record.timestamp_ns, record.tid);
        },
        usage === "any" && passesInputs,
      );
    },
    bufferCleared(record) {
      if (others.has(record.args[0])) return "not_in_memory";
      return withBuffer(record, (buffer) => addBuffer("clear", buffer, record.timestamp_ns, record.tid));
    },
    bufferFreed(record) {
      if (simulated.delete(record.args[0])) return "simulated";
      if (others.free(record.args[0])) {
        rows.push(goneElsewhere(pid, record));
        return "not_in_memory";
      }
      return withBuffer(record, (buffer) => {
        buffers.delete(buffer.handle);
        unjudged.delete(buffer.handle);
        outside.delete(buffer.handle);
        addBuffer("free", buffer, record.timestamp_ns, record.tid);
      });
    },
    unjudged: () => [...unjudged],
    judge(handle, backend) {
      unjudged.delete(handle);
      const seen = outside.get(handle) ?? [];
      outside.delete(handle);
      const buffer = buffers.get(handle);
      if (backend === null || buffer === undefined) return;
      buffers.delete(handle);
      const before = rows.filter((row) => row.buffer === handle);
      rows = rows.filter((row) => row.buffer !== handle);
      others.keep(handle, backend, buffer.sizeBytes, buffer.usage);
      for (const found of seen) noteElsewhere(handle, found);
      // An address of a card may be one of the buffer's own by chance.
      for (const tensor of tensorsIn(buffer)) {
        const row = before.find(({ addr, name }) => addr === tensor.addr && name === tensor.name);
        if (row !== undefined)
          noteElsewhere(handle, { tensor, from: { time: row.timestamp_ns, tid: row.tid, graph: false } });
        if (tensor.region_type !== "weight") continue;
        weights.bytes -= tensor.size_bytes;
        weights.tensors -= 1;
      }
    },
    addElsewhere({ tensor, buffer, role }, backend, time, tid) {
      const handle = tensor.buffer;
      if (!others.has(handle)) others.keep(handle, backend, buffer.sizeBytes, buffer.usage);
      const classed = classedTensor(pid, tensor, { addr: tensor.data, usage: buffer.usage, role });
      noteElsewhere(handle, { tensor: classed, from: { time, tid, graph: true } });
    },
    untold: () => others.untold(),
    addFromGraph(found, time, tid) {
      const { tensor, buffer, role } = found;
      if (passesInputs && buffer.usage === "any" && role === undefined) return false;
      let owner = buffers.get(tensor.buffer);
      if (!same(owner, buffer.addr, buffer.sizeBytes)) {
        owner = open(tensor.buffer, buffer.addr, buffer.sizeBytes, buffer.usage);
      }
      if ([placeKey(tensor, tensor.data, role), `${tensor.data}/cache`].some((key) => owner.placed.has(key)))
        return false;
      place(owner, tensor, tensor.data, { time, tid, graph: true, role });
      return true;
    },
    layOut({ tensor, role }, flash, time, tid) {
      if (role !== undefined) return;
      const buffer = buffers.get(tensor.buffer);
      const existing = buffer?.tensors.get(tensor.data);
      const kv_layout = layoutOf(tensor.name, flash);
      if (!buffer || !existing || existing.name !== tensor.name || existing.kv_layout?.form === kv_layout?.form) return;
      const withLayout = { ...existing, kv_layout };
      buffer.tensors.set(tensor.data, withLayout);
      const named = { ...withLayout, ...classify(tensor.name, buffer.usage) };
      rows.push(tensorRow(pid, "layout", buffer, named, { time, tid, graph: true }));
    },
    tie({ tensor }, time, tid) {
      const buffer = buffers.get(tensor.buffer);
      const table = buffer?.tensors.get(tensor.data);
      if (buffer === undefined || table === undefined || table.name !== tensor.name || table.drawn) return;
      const drawn = { ...table, drawn: true };
      buffer.tensors.set(tensor.data, drawn);
      rows.push(tensorRow(pid, "tied", buffer, { ...drawn, name: OUTPUT }, { time, tid, graph: true }));
    },
    takeRows() {
      const taken = rows;
      rows = [];
      return taken;
    },
    cacheAt(addr) {
      for (const { tensors } of buffers.values()) {
        const tensor = tensors.get(addr);
        if (tensor?.region_type !== "kv_cache") continue;
        const [, cells = 1, ...outer] = tensor.ne;
        return { cells, streams: outer.reduce((product, n) => product * n, 1) };
      }
      return null;
    },
    passInputs(isPassing) {
      passesInputs = isPassing;
    },
    hasExperts: () => experts.size > 0,
    expertsIn(layer) {
      const placed = experts.get(layer);
      if (placed === undefined) return null;
      return {
        experts: placed.experts,
        expert_bytes: [...placed.matrices.values()].reduce((sum, one) => sum + one, 0),
      };
    },
    isSettled: () => repeated >= SETTLED_AFTER,
    unsettle() {
      repeated = 0;
    },
    live: () => [...buffers.values()].flatMap(tensorsIn),
  };
}
