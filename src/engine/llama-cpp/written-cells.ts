/** Which cells of the KV cache a graph writes: the numbers that its first SET_ROWS into a cache gets. */
import { recordLayout } from "../../schema/records.ts";
import { ENGINE, ENGINE_ROOM } from "../../schema/shared-numbers.ts";
import type { IndexOffsets } from "../probing/capture-plan.ts";
import type { BatchRun } from "./decode-step.ts";
import type { GgmlLayout } from "./offsets.ts";

/** Cells that follow each other, as [first, count]; streams of a cache come one behind the other. */
export type CellRange = readonly [first: number, count: number];

/** Numbers of ggml (ggml.h), which are those of its files: types that indexes may have. */
const I32 = 26;
const I64 = 27;
/** Usage of a buffer whose tensors are rewritten in every graph (ggml-backend.h). */
const COMPUTE = 2;

/**
 * How the kernel program finds the indexes of the first SET_ROWS: its second operand. The usage of an older build's buffer is
 * not found there, and no buffer is passed over: what is no cache is none for the map of tensors.
 */
export function indexOffsets({ graph, tensor, operations, buffers: [buffer] }: GgmlLayout): IndexOffsets {
  return {
    count: graph.nodeCount,
    nodes: graph.nodes,
    operation: operations.setRows,
    nodeOperation: tensor.op,
    operand: tensor.src + 8,
    owner: tensor.viewSrc,
    buffer: tensor.buffer,
    usage: buffer.usage,
    passing: COMPUTE,
    type: tensor.type,
    elements: tensor.ne,
    data: tensor.data,
    narrowType: I32,
    wideType: I64,
  };
}

const HEAD = recordLayout("engine_indexes");
const RUN = recordLayout("engine_index_run");
const START = ENGINE_ROOM.compact;

export interface WrittenCells {
  /** The first byte of the cache tensor. */
  readonly addr: bigint;
  /** In the order of the graph's tokens. */
  readonly ranges: readonly CellRange[];
  readonly tokens: number;
}

/** Null for a graph that writes no cache, or more places than were copied. */
export function writtenCells(payload: DataView): WrittenCells | null {
  if (payload.byteLength < START + HEAD.bytes + ENGINE.least_runs * RUN.bytes) return null;
  const field = (name: keyof typeof HEAD.offsets): number => payload.getUint32(START + HEAD.offsets[name], true);
  const addr = payload.getBigUint64(START + HEAD.offsets.target, true);
  const tokens = field("elements");
  const runs = field("runs");
  if (addr === 0n || tokens === 0 || field("held") !== tokens) return null;
  if (START + HEAD.bytes + runs * RUN.bytes > payload.byteLength) return null;
  const ranges: CellRange[] = [];
  let held = 0;
  for (let i = 0; i < runs; i++) {
    const start = START + HEAD.bytes + i * RUN.bytes;
    const count = payload.getUint32(start + RUN.offsets.count, true);
    ranges.push([payload.getUint32(start + RUN.offsets.first, true), count]);
    held += count;
  }
  return held === tokens ? { addr, ranges, tokens } : null;
}

/** How a cache tensor is divided: cells of one stream, and streams. */
export interface CacheShape {
  readonly cells: number;
  readonly streams: number;
}

/** Cells one by one, as ranges. */
function rangesOf(cells: readonly number[]): CellRange[] {
  const ranges: [number, number][] = [];
  for (const cell of cells) {
    const last = ranges.at(-1);
    if (last !== undefined && last[0] + last[1] === cell) last[1] += 1;
    else ranges.push([cell, 1]);
  }
  return ranges;
}

/**
 * The cells of a batch's tokens, in the order of its runs. The graphs of a batch take its tokens in their order, but where
 * every sequence has a stream: there they take those of each sequence in their order, and the stream names the sequence.
 * @returns null where the cells are not those of the tokens: another number of them, a cell twice, one that the cache lacks
 */
export function cellsOfRuns(
  runs: readonly Omit<BatchRun, "asking">[],
  written: readonly CellRange[],
  { cells: size, streams }: CacheShape,
): CellRange[] | null {
  const byStream = new Map<number, number[]>();
  const seen = new Set<number>();
  for (const [first, count] of written) {
    for (let cell = first; cell < first + count; cell++) {
      if (cell >= size * streams || seen.has(cell)) return null;
      seen.add(cell);
      const stream = Math.floor(cell / size);
      const list = byStream.get(stream);
      if (list === undefined) byStream.set(stream, [cell]);
      else list.push(cell);
    }
  }
  const cells: number[] = [];
  const next = new Map<number, number>();
  for (const { sequences, tokens } of runs) {
    const [sequence = 0] = sequences;
    if (streams > 1 && sequences.length > 1) return null;
    const stream = streams > 1 ? sequence : 0;
    const place = next.get(stream) ?? 0;
    const found = (byStream.get(stream) ?? []).slice(place, place + tokens);
    if (found.length !== tokens) return null;
    next.set(stream, place + tokens);
    cells.push(...found);
  }
  return cells.length === seen.size ? rangesOf(cells) : null;
}
