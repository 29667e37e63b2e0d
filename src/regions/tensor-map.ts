/** Tensors over address and time: which tensor or engine buffer held an address when. */

import type { RowOf } from "../schema/row.ts";
import type { DataClass } from "../schema/words.ts";
import { type KvLayout, layoutOf } from "./kv-layout.ts";

/** One stay of a tensor, or of a buffer whose tensors share addresses, at [addr, addr + size_bytes). */
export interface TensorLifetime {
  readonly pid: number;
  /** The engine that told of it; null in captures that know one engine only. */
  readonly engine: string | null;
  /** Null for a buffer whose bytes several tensors share. */
  readonly name: string | null;
  readonly logical_id: string | null;
  readonly tensor_type: string | null;
  readonly shape: string | null;
  readonly layer: number | null;
  readonly addr: bigint;
  readonly size_bytes: bigint;
  readonly buffer: bigint | null;
  readonly birth_ns: bigint;
  /** True when it was found in a graph or an older mapping, or is a buffer whose making was not seen: born at some time before `birth_ns`. */
  readonly birth_censored: boolean;
  readonly evidence: string;
  /** What the buffer's usage tells later applies from the birth on. */
  region_type: DataClass | null;
  /** What the engine tells later applies from the birth on; null for what is no cache. */
  kv_layout: KvLayout | null;
  death_ns: bigint | null;
  ended_by: "free" | "replaced" | "exit" | null;
  /** Tensors seen in a shared buffer, in order of appearance; null for a tensor of its own. */
  candidates: string[] | null;
  /** Of a tied weight, which is used as each of them; none unless told. */
  other_names?: string[];
}

export interface TensorCounters {
  applied: number;
  /** Buffers and tensors without bytes: the engine's dry runs. */
  zero_sized: number;
  /** Usage, free or clear of a buffer, or the layout of a tensor, that was never announced. */
  unknown_buffers: number;
  /** Rows that lack an address or a buffer that their kind needs. */
  bad_rows: number;
}

export interface TensorMap {
  /** Applies one row, in order of time per process. Never throws. */
  apply(row: RowOf<"tensor">): void;
  /** The process ended or replaced its program: everything of it ends. */
  endProcess(pid: number, time_ns: bigint): void;
  /** Everything that ever lived, in order of appearance; rows of live ones still change. */
  lifetimes(): readonly TensorLifetime[];
  /** The same of what lay in memory of other backends, at addresses that are none of the process's. */
  elsewhere(): readonly TensorLifetime[];
  readonly counters: Readonly<TensorCounters>;
}

interface Buffer {
  readonly pid: number;
  readonly addr: bigint;
  readonly size_bytes: bigint;
  /** False where its making was not seen: it was there before we looked. */
  readonly born: boolean;
  /** Tensors of their own, by name and address. */
  readonly own: Map<string, TensorLifetime>;
  /** The region that stands for the tensors which share its bytes. */
  shared: TensorLifetime | null;
  readonly sharedRows: Map<string, RowOf<"tensor">>;
  usage: string | null;
}

const OWN_CLASSES: ReadonlySet<DataClass | null> = new Set(["weight", "kv_cache"]);
/** A graph of the largest models has some thousands of nodes. */
const MAX_CANDIDATES = 16_384;

/** What a table of embeddings is used for too where nobody has a name for that. */
const OUTPUT = "the output matrix";

const endOf = (row: { addr: bigint; size_bytes: bigint }): bigint => row.addr + row.size_bytes;

/** The life of a tensor of its own, which begins. @param before what stood for it until a graph told of it */
function lifeOf(
  row: RowOf<"tensor">,
  region_type: DataClass | null,
  before: TensorLifetime | null = null,
): TensorLifetime {
  const { pid, engine, name, logical_id, tensor_type, shape, layer, addr, size_bytes, evidence } = row;
  const place = { pid, engine, name, logical_id, tensor_type, shape, layer, addr, size_bytes, evidence };
  const birth = {
    buffer: row.buffer,
    birth_ns: before?.birth_ns ?? row.timestamp_ns,
    birth_censored:
      before?.birth_censored ??
      (row.kind !== "tensor" && !(row.kind === "elsewhere" && row.evidence === "engine_probe")),
  };
  const stated = { region_type, kv_layout: layoutOf(row) };
  return { ...place, ...birth, ...stated, death_ns: null, ended_by: null, candidates: null };
}

/** An empty map. Tensors of weights and caches are kept one by one; others collapse into their buffer. */
export function createTensorMap(): TensorMap {
  const all: TensorLifetime[] = [];
  const buffers = new Map<string, Buffer>();
  /** By process and buffer. */
  const elsewhere = new Map<string, TensorLifetime[]>();
  const allElsewhere: TensorLifetime[] = [];
  const counters: TensorCounters = { applied: 0, zero_sized: 0, unknown_buffers: 0, bad_rows: 0 };

  function open(row: TensorLifetime): TensorLifetime {
    all.push(row);
    return row;
  }

  function close(row: TensorLifetime, time_ns: bigint, ended_by: "free" | "replaced" | "exit"): void {
    if (row.death_ns !== null) return;
    row.death_ns = time_ns;
    row.ended_by = ended_by;
  }

  function closeBuffer(key: string, buffer: Buffer, time_ns: bigint, ended_by: "free" | "replaced" | "exit"): void {
    for (const tensor of buffer.own.values()) close(tensor, time_ns, ended_by);
    if (buffer.shared) close(buffer.shared, time_ns, ended_by);
    buffers.delete(key);
  }

  /** Another buffer at the same addresses means that the end of the earlier one was missed. */
  function openBuffer(key: string, row: RowOf<"tensor">, addr: bigint, size_bytes: bigint): Buffer {
    const existing = buffers.get(key);
    if (existing && existing.addr === addr && existing.size_bytes === size_bytes) return existing;
    for (const [other, buffer] of buffers) {
      const overlaps = buffer.pid === row.pid && buffer.addr < addr + size_bytes && addr < endOf(buffer);
      if (other === key || overlaps) closeBuffer(other, buffer, row.timestamp_ns, "replaced");
    }
    const { pid, usage } = row;
    const born = row.kind === "buffer";
    const buffer: Buffer = { pid, addr, size_bytes, born, own: new Map(), shared: null, sharedRows: new Map(), usage };
    buffers.set(key, buffer);
    return buffer;
  }

  /** What stood for the buffer of a tensor that is alone in it, and of which a graph tells now what it is: it was so from the birth on. */
  function takeShared(buffer: Buffer, row: RowOf<"tensor">): TensorLifetime | null {
    const { shared, sharedRows } = buffer;
    const [placed] = sharedRows.values();
    if (row.kind !== "graph" || shared === null || placed === undefined || sharedRows.size > 1) return null;
    if (placed.addr !== row.addr || placed.size_bytes !== row.size_bytes) return null;
    all.splice(all.indexOf(shared), 1);
    buffer.shared = null;
    sharedRows.clear();
    return shared;
  }

  function placeOwn(
    buffer: Buffer,
    row: RowOf<"tensor">,
    region_type: DataClass | null,
    before: TensorLifetime | null = null,
  ): void {
    const key = `${row.addr}/${row.name}`;
    const same = buffer.own.get(key);
    if (same && same.death_ns === null && same.size_bytes === row.size_bytes) return;
    for (const [otherKey, other] of buffer.own) {
      if (other.addr < endOf(row) && row.addr < endOf(other)) {
        close(other, row.timestamp_ns, "replaced");
        buffer.own.delete(otherKey);
      }
    }
    const tensor = lifeOf(row, region_type, before);
    buffer.own.set(key, open(tensor));
  }

  function placeElsewhere(row: RowOf<"tensor">): void {
    const tensor = lifeOf(row, row.region_type);
    allElsewhere.push(tensor);
    const key = `${row.pid}/${row.buffer}`;
    elsewhere.set(key, [...(elsewhere.get(key) ?? []), tensor]);
  }

  /** Who tells of a second use may not be the one who told of the tensor, and has then another buffer for it. */
  function addName({ pid, addr, name }: RowOf<"tensor">): void {
    const there = [...buffers.values()].filter((one) => one.pid === pid && one.addr <= addr && addr < endOf(one));
    const tensor = there.flatMap((buffer) => [...buffer.own.values()]).find((one) => one.addr === addr);
    if (tensor === undefined) {
      counters.unknown_buffers += 1;
      return;
    }
    const names = new Set([...(tensor.other_names ?? []), name ?? OUTPUT]);
    if (names.size > 1) names.delete(OUTPUT);
    tensor.other_names = [...names];
  }

  /** False where no such buffer of another backend is known. */
  function endElsewhere(key: string, time_ns: bigint, ended_by: "free" | "exit"): boolean {
    for (const tensor of elsewhere.get(key) ?? []) close(tensor, time_ns, ended_by);
    return elsewhere.delete(key);
  }

  function placeShared(buffer: Buffer, row: RowOf<"tensor">): void {
    const region_type = row.region_type ?? (buffer.usage === "compute" ? "activation" : null);
    const key = `${row.addr}/${row.name}`;
    if (!buffer.sharedRows.has(key) && buffer.sharedRows.size < MAX_CANDIDATES) buffer.sharedRows.set(key, row);
    buffer.shared ??= open({
      pid: row.pid,
      engine: row.engine,
      name: null,
      logical_id: null,
      tensor_type: null,
      shape: null,
      layer: null,
      addr: buffer.addr,
      size_bytes: buffer.size_bytes,
      buffer: row.buffer,
      birth_ns: row.timestamp_ns,
      birth_censored: row.kind !== "tensor" || !buffer.born,
      evidence: row.evidence,
      region_type,
      kv_layout: null,
      death_ns: null,
      ended_by: null,
      candidates: [],
    });
    buffer.shared.region_type ??= region_type;
    const { candidates } = buffer.shared;
    const { name } = row;
    if (name !== null && candidates !== null && candidates.length < MAX_CANDIDATES && !candidates.includes(name)) {
      candidates.push(name);
    }
  }

  function placeTensor(row: RowOf<"tensor">): void {
    const addr = row.buffer_addr ?? row.addr;
    const size_bytes = row.buffer_size_bytes ?? row.size_bytes;
    if (row.size_bytes <= 0n || size_bytes <= 0n) {
      counters.zero_sized += 1;
      return;
    }
    const buffer = openBuffer(`${row.pid}/${row.buffer ?? `at ${row.addr}`}`, row, addr, size_bytes);
    if (OWN_CLASSES.has(row.region_type)) placeOwn(buffer, row, row.region_type, takeShared(buffer, row));
    else if (buffer.usage === "weights") placeOwn(buffer, row, "weight");
    else placeShared(buffer, row);
  }

  /** The engine says what a buffer is for only after it placed the tensors. */
  function setUsage(buffer: Buffer, usage: string | null): void {
    buffer.usage = usage;
    if (usage === "compute" && buffer.shared) buffer.shared.region_type = "activation";
    if (usage !== "weights" || buffer.shared === null) return;
    const index = all.indexOf(buffer.shared);
    if (index >= 0) all.splice(index, 1);
    buffer.shared = null;
    for (const row of buffer.sharedRows.values()) placeOwn(buffer, row, "weight");
    buffer.sharedRows.clear();
  }

  return {
    apply(row) {
      if (row.kind === "tensor" || row.kind === "graph" || row.kind === "file") {
        counters.applied += 1;
        placeTensor(row);
        return;
      }
      if (row.kind === "elsewhere") {
        counters.applied += 1;
        placeElsewhere(row);
        return;
      }
      if (row.kind === "tied") {
        counters.applied += 1;
        addName(row);
        return;
      }
      if (row.buffer === null) {
        counters.bad_rows += 1;
        return;
      }
      counters.applied += 1;
      const key = `${row.pid}/${row.buffer}`;
      const addr = row.buffer_addr ?? row.addr;
      const size_bytes = row.buffer_size_bytes ?? row.size_bytes;
      if (row.kind === "free" && endElsewhere(key, row.timestamp_ns, "free")) return;
      if (row.kind === "buffer") {
        if (size_bytes > 0n) openBuffer(key, row, addr, size_bytes);
        else counters.zero_sized += 1;
        return;
      }
      const buffer = buffers.get(key);
      const tensor = row.kind === "layout" ? buffer?.own.get(`${row.addr}/${row.name}`) : null;
      if (buffer === undefined || tensor === undefined) counters.unknown_buffers += 1;
      else if (tensor !== null) tensor.kv_layout = layoutOf(row);
      else if (row.kind === "usage") setUsage(buffer, row.usage);
      else if (row.kind === "free") closeBuffer(key, buffer, row.timestamp_ns, "free");
    },
    endProcess(pid, time_ns) {
      for (const [key, buffer] of buffers) if (buffer.pid === pid) closeBuffer(key, buffer, time_ns, "exit");
      for (const key of elsewhere.keys()) if (key.startsWith(`${pid}/`)) endElsewhere(key, time_ns, "exit");
    },
    lifetimes: () => all,
    elsewhere: () => allElsewhere,
    counters,
  };
}
