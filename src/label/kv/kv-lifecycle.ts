/** Rows of the KV cache: one per token, layer and K or V, with its bytes and its life. */
import { type GrowingList, uint32List } from "../../columnar/growing-column.ts";
import { MrmTraceError } from "../../errors.ts";
import { isInBlocks, type KvPlace, UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import type { ModelFacts } from "../../schema/model-facts.ts";
import { tooMany } from "../label-room.ts";
import { type StepRow, withoutCut } from "../timeline/step-row.ts";
import { type EarlyRows, earlyRows } from "./early-batches.ts";
import { type CacheContext, type ContextLife, cacheContexts, contextsOfTensors } from "./kv-contexts.ts";
import type { TokenOrigin } from "./kv-token.ts";
import { kvTokens, SEVERAL_CACHES } from "./kv-tokens.ts";
import type { RowCopies } from "./moved-rows.ts";
import { endedRows, isOvercounted, NOT_HELD, rowsIn } from "./tensor-room.ts";
import { tokenColumns } from "./token-columns.ts";
import { type ColumnTokens, orderOfWrites, type TokenList, tokensAt } from "./token-list.ts";
import { type CacheLists, haveWindows, type WindowCache, windowCache } from "./window-caches.ts";

/** Where a cache tensor keeps the row of a token. */
export interface KvTensor extends KvPlace {
  readonly pid: number;
  readonly engine: string | null;
  readonly name: string | null;
  readonly layer: number | null;
  /** The context whose cache it is; null where the engine names none. */
  readonly context: string | null;
  /** 1 where all sequences share the rows, else one for each of them. */
  readonly streams: number;
  readonly addr: bigint;
  readonly birth_ns: number;
  readonly death_ns: number;
}

/**
 * Rows of the cache, in order of write, then of tensors. A token has a row in each tensor of its room: rows are counted in
 * tens of millions, so that nothing is kept of one alone.
 */
export interface KvRows {
  readonly tokens: TokenList;
  readonly tensors: readonly KvTensor[];
  /** Positions of tensors that keep the same tokens for the same time. */
  readonly rooms: readonly (readonly number[])[];
  /** Position of the room of each token. */
  readonly roomOf: ArrayLike<number>;
  /** Numbers of the rows, by `rowNumber`, on whose bytes traps agree with the engine's steps. */
  readonly confirmed: ReadonlySet<number>;
  /** Rows that a watch saw written once more while they were in the cache, though the steps do not tell of it. */
  readonly contradicted: number;
  /** What batches write of caches that move, in place of the tokens of these in figures of bytes: each copy is data of its own. */
  readonly copies: readonly RowCopies[];
  /** Bytes of cache tensors without a row of a token: one state for each sequence, or a shape that is none of a cache's. */
  readonly rowless_bytes: number;
  /** What the first batches leave open that were seen of a context; null where there are none. */
  readonly early: EarlyRows | null;
  /** Why the lives of some rows cannot be told, which are left out then; null where all are told. */
  readonly untold: string | null;
  /** Set where none is told because there is no memory for them. */
  readonly has_no_room?: true;
}

/** One number for a token in a tensor. */
export function rowNumber({ tensors }: KvRows, token: number, tensor: number): number {
  return token * tensors.length + tensor;
}

/** When the row of a token left the cache: evicted at a time, or with its tensor; null while it is there. */
export function evictedNs(evict_ns: number | null, { death_ns }: Pick<KvTensor, "death_ns">): number | null {
  const ns = Math.min(evict_ns ?? Number.POSITIVE_INFINITY, death_ns);
  return Number.isFinite(ns) ? ns : null;
}

function shapeOf(text: string | null): number[] {
  const numbers = (text ?? "").split("x").map(Number);
  return numbers.every((n) => Number.isSafeInteger(n) && n > 0) ? numbers : [];
}

/** Such a tensor says how much it holds, and not of how many tokens. */
export const FLAT_CACHE =
  "a cache tensor has one dimension, as in builds of llama.cpp before May 2025, so that how much of it is of one token is not told";

/** As many as positions were taken to be there for each. */
export const SHARED_BEFORE =
  "sequences have more rows together than their cache has cells: some of those that were there before the first batch are of several of them";

/** True for a cache tensor of rows that lie behind each other in one dimension. */
function isFlat({ shape, kv_layout }: TensorLifetime): boolean {
  const outer = shapeOf(shape).slice(1);
  const isOfRows = kv_layout === null || (kv_layout.form !== "state" && !isInBlocks(kv_layout));
  return isOfRows && outer.length > 0 && outer.every((n) => n === 1);
}

/** True for a cache tensor with a shape of at least two dimensions: not for one that has a state of each sequence, and no row of a token. */
const hasRows = (life: TensorLifetime): boolean =>
  shapeOf(life.shape).length > 1 && life.kv_layout?.form !== "state" && !isFlat(life);

/** Cache tensors with rows: [elements per token, tokens, streams]. */
function kvTensors(
  lives: readonly TensorLifetime[],
  contextOf: ReadonlyMap<TensorLifetime, string | null | undefined>,
  originNs: bigint,
): KvTensor[] {
  const out: KvTensor[] = [];
  for (const life of lives.filter(hasRows)) {
    const [elements = 1, cells = 1, ...outer] = shapeOf(life.shape);
    const streams = outer.reduce((product, n) => product * n, 1);
    const layout = life.kv_layout ?? UNKNOWN_LAYOUT;
    const row_bytes = isInBlocks(layout) ? layout.row_bytes : Number(life.size_bytes) / (cells * streams);
    out.push({
      pid: life.pid,
      engine: life.engine,
      name: life.name,
      layer: life.layer,
      context: contextOf.get(life) ?? null,
      streams,
      addr: life.addr,
      row_bytes,
      cells,
      layout,
      element_bytes: row_bytes / elements,
      birth_ns: Number(life.birth_ns - originNs),
      death_ns: life.death_ns === null ? Number.POSITIVE_INFINITY : Number(life.death_ns - originNs),
    });
  }
  return out;
}

const keyOf = ({ pid, engine, context }: Pick<TokenOrigin, "pid" | "engine" | "context">): string =>
  `${pid}/${engine ?? ""}/${context ?? ""}`;

/** The layers that keep a token for the same time. */
const layersOf = (origin: TokenOrigin): string => `${keyOf(origin)}/${origin.in_window ?? ""}`;

/** True where tensors that were there at one time have room for different numbers of tokens: some have a window. */
function haveSeveralSizes(tensors: readonly KvTensor[]): boolean {
  const sized = tensors.filter(({ layout }) => !isInBlocks(layout));
  return sized.some((one) =>
    sized.some((other) => one.cells !== other.cells && one.birth_ns < other.death_ns && other.birth_ns < one.death_ns),
  );
}

/** Tensors that lose the same rows at the same times. */
const roomOf = ({ cells, streams, layout, birth_ns, death_ns }: KvTensor): string =>
  `${isInBlocks(layout)}/${cells}/${streams}/${birth_ns}/${death_ns}`;

/** How the tensors of one context keep its tokens: by room the rows of each, NOT_HELD for one that it never held. */
function roomsOfContext(tokens: ColumnTokens, isRing: boolean, tensors: readonly KvTensor[]) {
  const ended = endedRows(tokens.columns);
  return [...Map.groupBy(tensors, roomOf).values()].map((members) => {
    const [first] = members as [KvTensor, ...KvTensor[]];
    // Blocks of a paged cache may lie in each other's order; its engine says when one is given back.
    const streams = isInBlocks(first.layout) ? 1 : first.streams;
    // What a window has passed is written over, within one batch even: then nothing is lost.
    const cells = isRing ? Number.POSITIVE_INFINITY : first.cells * (isInBlocks(first.layout) ? first.streams : 1);
    const lives = rowsIn(tokens, { ...first, cells, streams }, ended);
    // Most tensors lose nothing before its sequence does: then one list is enough for all of them.
    return { members, lives: lives.every((row, i) => row === tokens.rows[i]) ? tokens.rows : lives };
  });
}

/** True where more tokens were counted for a context than any of its tensors held. */
function areOvercounted(tokens: TokenList, tensors: readonly KvTensor[]): boolean {
  return [...Map.groupBy(tensors, roomOf).values()].some(
    ([first]) => first !== undefined && !isInBlocks(first.layout) && isOvercounted(tokens, first),
  );
}

/** Cells of one sequence where each has its own, by the tensors that were placed while a context lived; else by those that were there. */
function streamCellsIn({ from_ns, until_ns }: ContextLife, tensors: readonly KvTensor[]): number | null {
  const there = tensors.filter(({ birth_ns, death_ns }) => birth_ns < until_ns && death_ns > from_ns);
  const placed = there.filter(({ birth_ns }) => birth_ns >= from_ns);
  const divided = (placed.length > 0 ? placed : there).find(
    ({ streams, layout }) => streams > 1 && !isInBlocks(layout),
  );
  return divided?.cells ?? null;
}

interface ContextRooms {
  readonly rooms: readonly { readonly room: number; readonly lives: Uint32Array }[];
  /** The room of all its tensors. */
  readonly together: number;
  /** Place of its next token among its own. */
  next: number;
}

/** Tokens by the layers of a context that keep them, in the order in which these come first, and of each token which those are. */
function byLayers(tokens: ColumnTokens): { readonly groups: readonly ColumnTokens[]; readonly groupOf: Uint32Array } {
  const numbers = new Map<string, number>();
  const lists: GrowingList[] = [];
  const groupOf = new Uint32Array(tokens.length);
  let last: TokenOrigin | null = null;
  let group = 0;
  for (const [i, row] of tokens.rows.entries()) {
    const origin = tokens.origin(i);
    if (last !== origin) {
      const key = layersOf(origin);
      group = numbers.get(key) ?? lists.push(uint32List()) - 1;
      numbers.set(key, group);
      last = origin;
    }
    groupOf[i] = group;
    lists[group]?.push(row);
  }
  return { groups: lists.map((list) => tokensAt(tokens.columns, list.values())), groupOf };
}

/** Every row of the cache. @throws MrmTraceError environment at more than `mostTokens` */
function allRows(
  allSteps: readonly StepRow[],
  lifetimes: readonly TensorLifetime[],
  originNs: bigint,
  mostTokens: number,
  model: ModelFacts | null,
): KvRows {
  // Blocks that are made anew for every batch hold copies: their cache has its rows by its steps.
  const caches = lifetimes.filter(
    ({ region_type, kv_layout }) => region_type === "kv_cache" && kv_layout?.form !== "moved",
  );
  const engineOf = ({ pid, engine }: Pick<StepRow, "pid" | "engine">): string => `${pid}/${engine ?? ""}`;
  const steps = withoutCut(allSteps);
  const stepsOf = Map.groupBy(steps, engineOf);
  let homeless = false;
  const tensors = [...Map.groupBy(caches, engineOf)].flatMap(([engine, lives]) => {
    const { contexts } = cacheContexts(stepsOf.get(engine) ?? []);
    const contextOf = contextsOfTensors(contexts, lives, stepsOf.get(engine) ?? [], originNs);
    homeless ||= contexts.length > 1 && lives.some((life) => hasRows(life) && contextOf.get(life) === null);
    return kvTensors(lives, contextOf, originNs);
  });
  const number = new Map(tensors.map((tensor, k) => [tensor, k]));
  const tensorsOf = Map.groupBy(tensors, keyOf);
  const streamCells = (life: ContextLife): number | null => streamCellsIn(life, tensorsOf.get(keyOf(life)) ?? []);
  const cellsOf = (context: CacheContext): number =>
    Math.max(0, ...(tensorsOf.get(keyOf(context)) ?? []).map(({ cells, streams }) => cells * streams));
  const windows = new Map<string, WindowCache>();
  const windowOf = (context: CacheContext, lists: readonly CacheLists[]): WindowCache | null | undefined => {
    const mine = tensorsOf.get(keyOf(context)) ?? [];
    const window = windowCache(mine, lists, model);
    if (window === null && !haveWindows(mine, model)) return undefined;
    if (window !== null) windows.set(keyOf(context), window);
    return window;
  };
  const withStates = new Set(caches.filter(({ kv_layout }) => kv_layout?.form === "state").map(engineOf));
  const ofSteps = kvTokens(steps, streamCells, mostTokens, windowOf, (context) => withStates.has(engineOf(context)));
  const rooms: number[][] = [];
  const roomFor = (members: readonly KvTensor[]): number =>
    rooms.push(members.map((tensor) => number.get(tensor) ?? 0)) - 1;
  let severalSizes = false;
  const flat = new Set(caches.filter(isFlat).map(engineOf));
  let isUnsized = false;
  let isShared = false;
  const { groups, groupOf } = byLayers(ofSteps.tokens);
  const contexts = groups.map((members): ContextRooms | null => {
    const one = members.origin(0);
    const layers = windows.get(keyOf(one))?.layers ?? null;
    const keeps = ({ layer }: KvTensor) => layers === null || layers.has(layer ?? -1) === one.in_window;
    const mine = (tensorsOf.get(keyOf(one)) ?? []).filter(keeps);
    if (flat.has(engineOf(one))) {
      isUnsized = true;
      return null;
    }
    if (haveSeveralSizes(mine)) {
      severalSizes = true;
      return null;
    }
    // Of a window's rows most are written over.
    const isRing = one.in_window === true;
    if (!isRing && areOvercounted(members, mine)) {
      isShared = true;
      return null;
    }
    const found = roomsOfContext(members, isRing, mine);
    return {
      rooms: found.map((each) => ({ room: roomFor(each.members), lives: each.lives })),
      together: roomFor(found.flatMap((each) => each.members)),
      next: 0,
    };
  });
  const rows = uint32List();
  const roomNumbers = uint32List();
  const push = (row: number | undefined, room: number): void => {
    if (row === undefined || row === NOT_HELD) return;
    rows.push(row);
    if (rows.length() > mostTokens) throw tooMany("tokens in caches", mostTokens);
    roomNumbers.push(room);
  };
  for (const group of groupOf) {
    const context = contexts[group] ?? null;
    if (context === null) continue;
    const t = context.next++;
    const life = context.rooms[0]?.lives[t];
    if (context.rooms.every(({ lives }) => lives[t] === life)) push(life, context.together);
    else for (const { room, lives } of context.rooms) push(lives[t], room);
  }
  for (const { tensors: ofGroup, tokens: members } of ofSteps.moved.groups) {
    for (const tensor of ofGroup) number.set(tensor, tensors.push(tensor) - 1);
    const room = roomFor(ofGroup);
    for (const row of members.rows) push(row, room);
  }
  const { columns } = ofSteps.tokens;
  const [unordered, roomsOfRows] = [rows.values(), roomNumbers.values()];
  const order = ofSteps.moved.groups.length === 0 ? null : orderOfWrites(columns, unordered);
  const untold =
    ofSteps.untold ??
    (isUnsized
      ? FLAT_CACHE
      : severalSizes
        ? SEVERAL_CACHES
        : isShared
          ? SHARED_BEFORE
          : homeless
            ? "a cache tensor does not say of which context it is"
            : null);
  const rowless_bytes = caches.reduce((sum, life) => sum + (hasRows(life) ? 0 : Number(life.size_bytes)), 0);
  const confirmed = new Set<number>();
  return {
    tokens: tokensAt(columns, order?.map((t) => unordered[t] as number) ?? unordered),
    tensors,
    rooms,
    roomOf: order?.map((t) => roomsOfRows[t] as number) ?? roomsOfRows,
    ...{ confirmed, contradicted: 0, copies: ofSteps.moved.copies, rowless_bytes, untold },
    early: earlyRows(ofSteps.early, cellsOf, steps),
  };
}

/**
 * Every row of the cache by the engine's steps, in order of its token's write; none is confirmed. Where more tokens were in
 * caches than there is memory for, none is told, and why.
 * @param model that computed, where its file was read
 */
export function kvRows(
  steps: readonly StepRow[],
  lifetimes: readonly TensorLifetime[],
  originNs: bigint,
  mostTokens = Number.POSITIVE_INFINITY,
  model: ModelFacts | null = null,
): KvRows {
  try {
    return allRows(steps, lifetimes, originNs, mostTokens, model);
  } catch (error) {
    if (!(error instanceof MrmTraceError) || error.code !== "environment") throw error;
    const tokens = tokensAt(tokenColumns(), new Uint32Array(0));
    const nothing = { tokens, tensors: [], rooms: [], roomOf: [], copies: [], confirmed: new Set<number>() };
    const untold = `${error.message}; analyse with --memory 2GiB, or more than that, tells more: how many there are is not known before they are read`;
    return { ...nothing, contradicted: 0, rowless_bytes: 0, early: null, untold, has_no_room: true };
  }
}
