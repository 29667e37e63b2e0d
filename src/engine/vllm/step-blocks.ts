/** The requests of a step with the blocks of the cache that each has, as the kernel program read them. */
import { recordLayout } from "../../schema/records.ts";
import { ENGINE, ENGINE_ROOM } from "../../schema/shared-numbers.ts";
import type { LayerCache } from "./cache-tensor.ts";

export interface StepRequest {
  /** Tokens of the request that the step works on, the last of its `length`. */
  readonly tokens: number;
  readonly length: number;
  /** Its blocks in the order of its tokens. */
  readonly blocks: readonly number[];
}

export interface StepBlocks {
  readonly tokens: number;
  readonly requests: number;
  /** Null where they are more than a record has room for, or tokens look back over a window only. */
  readonly listed: readonly StepRequest[] | null;
}

const HEAD = recordLayout("engine_blocks");
const REQUEST = recordLayout("engine_block_request");
const RUN = recordLayout("engine_index_run");
const START = ENGINE_ROOM.compact;
const TOKENS = 2 ** 24;

/** How many requests and runs a record has room for, and where its runs begin. */
function rooms(requests: number, runs: number) {
  const runsAt = START + HEAD.bytes + requests * REQUEST.bytes;
  return { requests, runs, runsAt, bytes: runsAt + runs * RUN.bytes };
}

type Rooms = ReturnType<typeof rooms>;

const FEW = rooms(ENGINE.few_block_requests, ENGINE.few_block_runs);
const MANY = rooms(ENGINE.block_requests, ENGINE.block_runs);

const roomsOf = ({ byteLength }: DataView): Rooms => (byteLength >= MANY.bytes ? MANY : FEW);

/** True where the record of a call has them: those of the layers behind the first are left out. */
export function hasBlocks(payload: DataView): boolean {
  return payload.byteLength >= FEW.bytes;
}

/**
 * True where a step has all blocks of its cache, one behind the other from the first on: nothing is left of a memory that was made for
 * this step alone, as where a model only encodes. Of a cache that is kept no request ever has the first block.
 */
export function fillsCache(payload: DataView, { blocks }: Pick<LayerCache, "blocks">): boolean {
  const head = (name: keyof typeof HEAD.offsets): number => payload.getUint32(START + HEAD.offsets[name], true);
  const { runsAt } = roomsOf(payload);
  if (head("runs") !== 1 || payload.getUint32(runsAt + RUN.offsets.first, true) !== 0) return false;
  const count = payload.getUint32(runsAt + RUN.offsets.count, true);
  // Those of more requests than there is room for are not told.
  const isCut = head("requests") > MANY.requests && head("requests_held") === MANY.requests;
  return count === head("held") && (isCut ? count < blocks : count === blocks && head("requests_held") > 0);
}

/** Blocks one by one; null where a run is none of the cache's. */
function blockList(
  payload: DataView,
  runs: number,
  held: number,
  { blocks }: Pick<LayerCache, "blocks">,
): number[] | null {
  const out: number[] = [];
  const { runs: most, runsAt } = roomsOf(payload);
  for (let i = 0; i < Math.min(runs, most); i++) {
    const first = payload.getUint32(runsAt + i * RUN.bytes + RUN.offsets.first, true);
    const count = payload.getUint32(runsAt + i * RUN.bytes + RUN.offsets.count, true);
    if (first + count > blocks || out.length + count > held) return null;
    for (let k = 0; k < count; k++) out.push(first + k);
  }
  return out.length === held ? out : null;
}

/** @returns null where the numbers are none of a step on this cache: the build's arguments are others */
export function stepBlocks(payload: DataView, cache: Pick<LayerCache, "blocks" | "block_tokens">): StepBlocks | null {
  const head = (name: keyof typeof HEAD.offsets): number => payload.getUint32(START + HEAD.offsets[name], true);
  const [tokens, requests, held] = [head("tokens"), head("requests"), head("requests_held")];
  if (tokens === 0 || tokens > TOKENS || requests === 0 || requests > tokens || held > requests) return null;
  if (held < requests || head("has_window") !== 0) return { tokens, requests, listed: null };
  if (requests > roomsOf(payload).requests || head("held") > ENGINE.block_steps) return null;
  const blocks = blockList(payload, head("runs"), head("held"), cache);
  if (blocks === null) return null;
  const listed: StepRequest[] = [];
  let next = 0;
  let sum = 0;
  for (let i = 0; i < requests; i++) {
    const place = START + HEAD.bytes + i * REQUEST.bytes;
    const tokensOfStep = payload.getUint32(place + REQUEST.offsets.tokens, true);
    const length = payload.getUint32(place + REQUEST.offsets.length, true);
    const count = Math.ceil(length / cache.block_tokens);
    if (tokensOfStep === 0 || tokensOfStep > length || next + count > blocks.length) return null;
    listed.push({ tokens: tokensOfStep, length, blocks: blocks.slice(next, next + count) });
    next += count;
    sum += tokensOfStep;
  }
  return sum === tokens && next === blocks.length ? { tokens, requests, listed } : null;
}
