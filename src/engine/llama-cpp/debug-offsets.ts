/** Offsets by the debugging data of a library, taken where every member is there and as large as what is read of it. */
import type { Definitions } from "../../elf/dwarf/definitions.ts";
import type { EngineObject } from "../engine.ts";
import type { BatchOffsets } from "../probing/capture-plan.ts";
import { capturesOf } from "./captures.ts";
import { GGML_LAYOUT, type GgmlLayout, LLAMA_PARAMS, NEWEST_KNOWN, type ParamsLayout } from "./offsets.ts";

const OF_GGML = ["ggml_tensor", "ggml_backend_buffer", "ggml_cgraph", "ggml_op"] as const;
const OF_PARAMS = "llama_context_params";
const OF_BATCH = "llama_batch";
/** Functions, one of which a library defines whose functions are handed these structures. */
const HANDED: readonly (readonly [symbols: readonly string[], structures: readonly string[]])[] = [
  [["ggml_backend_tensor_alloc", "ggml_backend_buffer_init", "ggml_graph_compute"], OF_GGML],
  [["llama_init_from_model"], [OF_PARAMS]],
  [["llama_decode"], [OF_BATCH]],
];

/** Structures that the functions of an object are handed. */
export function structuresOf({ symbol }: Pick<EngineObject, "symbol">): string[] {
  return HANDED.flatMap(([symbols, structures]) =>
    symbols.some((name) => symbol(name) !== undefined) ? structures : [],
  );
}

/** True where structures of ggml are among those that were asked for. */
export const isOfGgml = (asked: readonly string[]): boolean => asked.includes(OF_GGML[0]);

/** Null for what the debugging data was not asked for. */
export interface DebugOffsets {
  readonly ggml: GgmlLayout | null;
  readonly params: ParamsLayout | null;
  readonly batch: BatchOffsets | null;
}

/** Longer structures are none of these. */
const MOST_BYTES = 4096;
const MOST_OPERANDS = 64;
const MOST_NAME_BYTES = 512;
/** An operation that no node has, for builds that lack it. */
const NO_OPERATION = 0xffff;

const roundUp = (bytes: number): number => Math.ceil(bytes / 8) * 8;

class Refusal extends Error {}

/** Offsets of members, each held against the bytes that are read of it. */
function membersOf({ structures }: Definitions, structure: string) {
  const { bytes = 0, members } = structures.get(structure) ?? {};
  if (bytes > MOST_BYTES) throw new Refusal(`${structure} has ${bytes} bytes, more than ${MOST_BYTES}`);
  const member = (name: string) => {
    const found = members?.get(name);
    if (found === undefined) throw new Refusal(`${structure} has no member ${name}`);
    const size = found.bytes;
    if (size === null) throw new Refusal(`${structure}.${name} is of unknown size`);
    if (found.offset < 0 || found.offset + size > bytes)
      throw new Refusal(`${structure}.${name} lies outside of the ${bytes} bytes of its structure`);
    return { offset: found.offset, bytes: size };
  };
  return {
    bytes,
    member,
    offset(name: string, size: number): number {
      const found = member(name);
      if (found.bytes !== size) throw new Refusal(`${structure}.${name} has ${found.bytes} bytes, not ${size}`);
      return found.offset;
    },
  };
}

function ggmlLayout(definitions: Definitions): GgmlLayout {
  const [fields, places, list] = [OF_GGML[0], OF_GGML[1], OF_GGML[2]].map((name) => membersOf(definitions, name)) as [
    ReturnType<typeof membersOf>,
    ReturnType<typeof membersOf>,
    ReturnType<typeof membersOf>,
  ];
  const operations = definitions.enumerations.get(OF_GGML[3]);
  const getRows = operations?.get("GGML_OP_GET_ROWS");
  if (getRows === undefined) throw new Refusal("ggml_op has no GGML_OP_GET_ROWS");
  const operands = fields.member("src");
  const name = fields.member("name");
  const srcCount = operands.bytes / 8;
  if (!Number.isInteger(srcCount) || srcCount < 2 || srcCount > MOST_OPERANDS)
    throw new Refusal(
      `ggml_tensor.src has ${operands.bytes} bytes, which are no pointers of 2 to ${MOST_OPERANDS} operands`,
    );
  if (name.bytes < 1 || name.bytes > MOST_NAME_BYTES)
    throw new Refusal(`ggml_tensor.name has ${name.bytes} bytes, not 1 to ${MOST_NAME_BYTES}`);
  const tensor = {
    bytes: fields.bytes,
    type: fields.offset("type", 4),
    buffer: fields.offset("buffer", 8),
    ne: fields.offset("ne", 32),
    nb: fields.offset("nb", 32),
    op: fields.offset("op", 4),
    src: operands.offset,
    srcCount,
    viewSrc: fields.offset("view_src", 8),
    viewOffset: fields.offset("view_offs", 8),
    data: fields.offset("data", 8),
    name: name.offset,
    nameBytes: name.bytes,
  };
  const buffer = {
    context: places.offset("context", 8),
    size: places.offset("size", 8),
    usage: places.offset("usage", 4),
  };
  const graph = {
    nodeCount: list.offset("n_nodes", 4),
    leafCount: list.offset("n_leafs", 4),
    nodes: list.offset("nodes", 8),
    leafs: list.offset("leafs", 8),
  };
  const { copied } = GGML_LAYOUT;
  return {
    name: "its debugging data",
    tensor,
    buffers: [buffer],
    graph,
    operations: { getRows, setRows: operations?.get("GGML_OP_SET_ROWS") ?? NO_OPERATION },
    // No less than of the known builds, so that libraries with the same offsets copy the same.
    copied: {
      graph: Math.max(copied.graph, roundUp(Math.max(...Object.values(graph)) + 8)),
      node: Math.max(copied.node, roundUp(Math.max(tensor.ne + 32, tensor.op + 4, tensor.type + 4))),
      buffer: Math.max(copied.buffer, roundUp(Math.max(...Object.values(buffer)) + 8)),
      bufferFrom: Math.min(copied.bufferFrom, ...Object.values(buffer)),
    },
  };
}

function paramsLayout(definitions: Definitions): ParamsLayout {
  const { offset } = membersOf(definitions, OF_PARAMS);
  const offsets = {
    contextTokens: offset("n_ctx", 4),
    batchTokens: offset("n_batch", 4),
    sequences: offset("n_seq_max", 4),
    threads: offset("n_threads", 4),
    flashAttention: offset("flash_attn_type", 4),
    typeK: offset("type_k", 4),
    typeV: offset("type_v", 4),
  };
  return { bytes: Math.max(LLAMA_PARAMS.bytes, roundUp(Math.max(...Object.values(offsets)) + 4)), ...offsets };
}

function batchOffsets(definitions: Definitions): BatchOffsets {
  const { offset } = membersOf(definitions, OF_BATCH);
  return {
    tokens: offset("n_tokens", 4),
    positions: offset("pos", 8),
    sequenceCounts: offset("n_seq_id", 8),
    sequences: offset("seq_id", 8),
    logits: offset("logits", 8),
  };
}

/** The offsets of what was asked for and found, or in one line why they are not taken: all of them or none. */
export function offsetsOfDebugData(data: Definitions & { readonly untold: string | null }): DebugOffsets | string {
  if (data.untold !== null) return data.untold;
  const { structures } = data;
  try {
    const found = {
      ggml: structures.has(OF_GGML[0]) ? ggmlLayout(data) : null,
      params: structures.has(OF_PARAMS) ? paramsLayout(data) : null,
      batch: structures.has(OF_BATCH) ? batchOffsets(data) : null,
    };
    const { ggml, params, batch } = NEWEST_KNOWN;
    capturesOf({ ggml: found.ggml ?? ggml, params: found.params ?? params, batch: found.batch ?? batch });
    return found;
  } catch (error) {
    if (error instanceof Refusal || error instanceof RangeError) return error.message;
    throw error;
  }
}
