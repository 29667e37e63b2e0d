/** The graph reader: from the head of a ggml_cgraph to the tensors in the target's memory that it uses, read-only and bounded. */
import type { TensorUsage } from "../../schema/words.ts";
import type { ReadMemory } from "../engine.ts";
import { type CacheRole, cacheRole } from "./cache-role.ts";
import { cachePart, classify, isCacheName, isTable } from "./classify.ts";
import { decodeBuffer, decodeTensor, liesIn, type RawTensor } from "./decode-tensor.ts";
import type { GgmlLayout } from "./offsets.ts";

/** A tensor of a graph with its buffer. */
export interface GraphTensor {
  readonly tensor: RawTensor;
  readonly buffer: { readonly addr: bigint; readonly sizeBytes: number; readonly usage: TensorUsage };
  /** Of a cache that has no name. */
  readonly role?: CacheRole;
  /** A table of embeddings that the graph reads whole: the output matrix is tied to it. */
  readonly isOutput?: true;
}

/** A tensor in a buffer of a backend that has memory of its own. */
export interface GraphTensorElsewhere extends GraphTensor {
  readonly backend: string;
}

export interface GraphReading {
  /** Tensors that own their bytes, each once; views are resolved to the tensor they look into. */
  readonly tensors: readonly GraphTensor[];
  /** The same of those that lie in memory of another backend. */
  readonly elsewhere: readonly GraphTensorElsewhere[];
  readonly views: number;
  /** Nodes that were walked, and structures that were not believed, by reason. */
  readonly nodes: number;
  readonly refused: Readonly<Record<string, number>>;
  /** One node reads K and V together, which may be one row that both are made of: flash attention. Null where the graph reads no KV cache: one node of many may only write it. */
  readonly flashAttention: boolean | null;
  /**
   * Lists of cells by which its layers write keys: more than one where some layers have another cache. Of a build that writes without
   * such lists, masks by which its layers leave rows out: more than one where some layers look back over a window.
   */
  readonly caches: number;
  /** The layers that write keys by each of these lists, in order of its first write; none where a layer is not known, or there are no lists. */
  readonly cacheLists: readonly (readonly number[])[];
  /** False where a bound ended the walk. */
  readonly complete: boolean;
}

/** A graph of a large model has some 10^4 nodes. */
const NODE_LIMIT = 100_000;
const TENSOR_LIMIT = 400_000;
const VIEW_DEPTH = 16;
/** Type of the operand that names rows. */
const ROW_NUMBERS = "i32";
const CHUNK_BYTES = 16384n;
const CHUNK_LIMIT = 4096;

/** Reads through chunks, because ggml keeps a graph's structures together: one system call for some forty tensors. */
function chunked(read: ReadMemory): ReadMemory {
  const chunks = new Map<bigint, Uint8Array | null>();
  const chunkAt = (start: bigint): Uint8Array | null => {
    let chunk = chunks.get(start);
    if (chunk === undefined) {
      if (chunks.size >= CHUNK_LIMIT) chunks.clear();
      chunk = read(start, Number(CHUNK_BYTES));
      chunks.set(start, chunk);
    }
    return chunk;
  };
  return (address, length) => {
    const start = address - (address % CHUNK_BYTES);
    const offset = Number(address - start);
    // A chunk that is not readable as a whole may hold what we want in its readable part.
    const chunk = offset + length <= Number(CHUNK_BYTES) ? chunkAt(start) : null;
    const bytes = chunk ? chunk.subarray(offset, offset + length) : read(address, length);
    return bytes?.length === length ? bytes : null;
  };
}

/** A tensor that owns its bytes. */
interface Owner {
  readonly at: bigint;
  readonly tensor: RawTensor;
}

/** The memory of a process at two times, for as many graphs as are read then: their nodes lie side by side. */
export interface GraphMemory {
  readonly first: ReadMemory;
  /** As it is after a graph was walked: the target goes on while we read. */
  readonly second: ReadMemory;
}

export const graphMemory = (read: ReadMemory): GraphMemory => ({ first: chunked(read), second: chunked(read) });

/** Numbers of layers; none where one is not known. */
function listsOf(lists: readonly ReadonlySet<number | null>[]): number[][] {
  const numbers = lists.map((layers) => [...layers].filter((layer) => layer !== null));
  return numbers.every((layers, i) => layers.length === lists[i]?.size) ? numbers : [];
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function sameTensor(one: RawTensor, other: RawTensor): boolean {
  const { name, type, sizeBytes, buffer, data, viewSrc } = one;
  return (
    name === other.name &&
    type === other.type &&
    sizeBytes === other.sizeBytes &&
    buffer === other.buffer &&
    data === other.data &&
    viewSrc === other.viewSrc
  );
}

/**
 * Walks a graph: its nodes, their operands, and what views look into. Never throws on hostile memory.
 * @param head its own bytes as they were when it was computed: a callback has each node computed as a graph of its own, and
 *   all of these lie at one address
 * @param backendOf the backend that keeps a buffer in memory of its own; null for a buffer in the process's
 */
export function readGraph(
  head: DataView,
  { first: read, second: readAgain }: GraphMemory,
  layout: GgmlLayout,
  backendOf: (buffer: bigint) => string | null = () => null,
): GraphReading {
  const refused: Record<string, number> = {};
  const refuse = (reason: string) => {
    refused[reason] = (refused[reason] ?? 0) + 1;
  };
  const tensors = new Map<bigint, RawTensor | null>();
  const buffers = new Map<bigint, GraphTensor["buffer"] | null>();
  const owners = new Map<bigint, GraphTensor>();
  /** Buffers that backends with memory of their own keep, and the tensors in these. */
  const backends = new Map<bigint, string>();
  const elsewhere = new Map<bigint, GraphTensorElsewhere>();
  /** Nodes by which caches without a name were told, by owner. */
  const writers = new Map<bigint, bigint>();
  /** Nodes that read a table of embeddings whole, by owner. */
  const readers = new Map<bigint, bigint>();
  let complete = true;
  let views = 0;

  function tensorAt(pointer: bigint): RawTensor | null {
    const existing = tensors.get(pointer);
    if (existing !== undefined) return existing;
    if (tensors.size >= TENSOR_LIMIT) {
      complete = false;
      return null;
    }
    const bytes = read(pointer, layout.tensor.bytes);
    let tensor: RawTensor | null = null;
    if (bytes === null) refuse("tensor_unreadable");
    else {
      const decoded = decodeTensor(viewOf(bytes), layout);
      if (decoded.ok) tensor = decoded.value;
      else refuse(`tensor_${decoded.doubt}`);
    }
    tensors.set(pointer, tensor);
    return tensor;
  }

  /** The buffer in which a tensor lies. */
  function bufferOf({ buffer: pointer, data, sizeBytes }: RawTensor): GraphTensor["buffer"] | null {
    const seen = buffers.get(pointer);
    if (seen !== undefined) return seen;
    const backend = backendOf(pointer);
    if (backend !== null) backends.set(pointer, backend);
    const bytes = read(pointer, layout.copied.buffer);
    const raw =
      bytes && decodeBuffer(viewOf(bytes), layout, (one) => liesIn(data, sizeBytes, { ...one, addr: one.context }));
    if (!raw) refuse(bytes ? "buffer_implausible" : "buffer_unreadable");
    const buffer = raw ? { addr: raw.context, sizeBytes: raw.sizeBytes, usage: raw.usage } : null;
    buffers.set(pointer, buffer);
    return buffer;
  }

  /** The tensor that owns the bytes of the one at `pointer`. */
  function ownerOf(pointer: bigint): Owner | null {
    let current = pointer;
    for (let depth = 0; depth < VIEW_DEPTH; depth++) {
      const tensor = tensorAt(current);
      if (tensor === null) return null;
      if (tensor.viewSrc === 0n) return { at: current, tensor };
      current = tensor.viewSrc;
    }
    refuse("view_too_deep");
    return null;
  }

  function visit(pointer: bigint): Owner | null {
    const owner = ownerOf(pointer);
    if (owner === null) return null;
    const { at: ownerAt, tensor } = owner;
    if (!owners.has(ownerAt)) {
      // Not placed yet, an operand that needs no memory, or one without elements.
      if (tensor.data === 0n || tensor.buffer === 0n || tensor.sizeBytes === 0) return owner;
      const buffer = bufferOf(tensor);
      if (buffer === null) return owner;
      const backend = backends.get(tensor.buffer);
      if (backend !== undefined) {
        elsewhere.set(ownerAt, { tensor, buffer, backend });
        return owner;
      }
      if (!liesIn(tensor.data, tensor.sizeBytes, buffer)) {
        refuse("outside_buffer");
        return owner;
      }
      owners.set(ownerAt, { tensor, buffer });
    }
    return owner;
  }

  /** A tensor without a cache's name into which rows are set, and that keeps them: what it is, the node tells. */
  function giveRole(writer: bigint, node: RawTensor, { at: ownerAt, tensor }: Owner): void {
    const placed = owners.get(ownerAt);
    if (placed === undefined || placed.role || placed.buffer.usage !== "any" || isCacheName(tensor.name)) return;
    const role = cacheRole(node, tensor, tensorAt);
    if (role === null) return;
    owners.set(ownerAt, { ...placed, role });
    writers.set(ownerAt, writer);
  }

  function partOf({ at: ownerAt, tensor }: Owner): "k" | "v" | null {
    return owners.get(ownerAt)?.role?.part ?? cachePart(tensor.name);
  }

  function layerOf({ at: ownerAt, tensor }: Owner): number | null {
    return owners.get(ownerAt)?.role?.layer ?? classify(tensor.name, "any").layer;
  }

  /**
   * True for a node that reads all of an operand: nothing is read for a view, and where whole numbers say which rows no more than these. The
   * number of that operation is another one in builds that are older than what is known.
   */
  function readsWhole({ op, viewSrc, src: [, rows] }: RawTensor): boolean {
    const namesRows = rows !== undefined && tensorAt(rows)?.type.name === ROW_NUMBERS;
    return op !== layout.operations.getRows && !namesRows && viewSrc === 0n;
  }

  const nodeCount = head.getInt32(layout.graph.nodeCount, true);
  const list = head.getBigUint64(layout.graph.nodes, true);
  if (nodeCount < 0 || nodeCount > NODE_LIMIT) refuse("graph_implausible");
  const wanted = nodeCount >= 0 && nodeCount <= NODE_LIMIT ? nodeCount : 0;
  let nodes = 0;
  let fused = false;
  let usesCache = false;
  /** Layers that write keys by a list of cells, by that list. */
  const indexes = new Map<bigint, Set<number | null>>();
  /** Nodes of what queries and keys make, until a mask is laid over it. */
  const scores = new Set<bigint>();
  const masks = new Set<bigint>();

  /** @param readsKeys whether an operand of the node is a cache of keys */
  function noteMask(pointer: bigint, { src }: RawTensor, readsKeys: boolean): void {
    const isScored = scores.has(src[0] ?? 0n);
    if (!readsKeys && !isScored) return;
    // A node by itself has the mask behind queries, keys and values.
    const mask = readsKeys ? src[3] : src[1];
    if (mask !== undefined) masks.add(ownerOf(mask)?.at ?? mask);
    else scores.add(pointer);
  }

  for (let i = 0; i < wanted && complete; i++) {
    const entry = read(list + BigInt(i * 8), 8);
    if (entry === null) {
      refuse("node_list_unreadable");
      break;
    }
    const pointer = viewOf(entry).getBigUint64(0, true);
    const node = tensorAt(pointer);
    if (node === null) continue;
    nodes += 1;
    const owner = visit(pointer);
    const [, index] = node.src;
    if (node.op === layout.operations.setRows && owner !== null) {
      giveRole(pointer, node, owner);
      if (index !== undefined && partOf(owner) === "k")
        indexes.set(index, (indexes.get(index) ?? new Set()).add(layerOf(owner)));
    }
    let cached = 0;
    let readsKeys = false;
    for (const operand of node.src) {
      const used = visit(operand);
      if (used === null) continue;
      const part = partOf(used);
      if (part !== null) cached += 1;
      readsKeys ||= part === "k";
      if (isTable(used.tensor.name) && readsWhole(node)) readers.set(used.at, pointer);
    }
    // What is written into a cache, or moved in it, looks into it.
    if (owner !== null && partOf(owner) !== null) continue;
    usesCache ||= cached > 0;
    fused ||= cached > 1;
    noteMask(pointer, node, readsKeys);
  }
  for (const tensor of tensors.values()) if (tensor !== null && tensor.viewSrc !== 0n) views += 1;
  // What is not the same a second time may be half of one graph and half of the next.
  const tensorAgain = (pointer: bigint): RawTensor | null => {
    const bytes = readAgain(pointer, layout.tensor.bytes);
    const again = bytes && decodeTensor(viewOf(bytes), layout);
    return again?.ok ? again.value : null;
  };
  const sameRole = (address: bigint, owner: RawTensor, role: CacheRole): boolean => {
    const node = tensorAgain(writers.get(address) ?? 0n);
    return node !== null && JSON.stringify(cacheRole(node, owner, tensorAgain)) === JSON.stringify(role);
  };
  for (const [address, { tensor, role }] of owners) {
    const again = tensorAgain(address);
    if (again !== null && sameTensor(again, tensor) && (role === undefined || sameRole(address, again, role))) continue;
    owners.delete(address);
    refuse("changed_while_read");
  }
  for (const [address, reader] of readers) {
    const owner = owners.get(address);
    const before = tensors.get(reader);
    const again = tensorAgain(reader);
    if (owner === undefined || !before || again === null) continue;
    if (again.op === before.op && String(again.src) === String(before.src))
      owners.set(address, { ...owner, isOutput: true });
    else refuse("changed_while_read");
  }
  complete &&= nodes === wanted;
  return {
    tensors: [...owners.values()],
    elsewhere: [...elsewhere.values()],
    views,
    nodes,
    refused,
    flashAttention: usesCache ? fused : null,
    caches: indexes.size > 0 ? indexes.size : masks.size,
    cacheLists: listsOf([...indexes.values()]),
    complete,
  };
}
