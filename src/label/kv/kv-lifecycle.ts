/** Rows of the KV cache: one per token, layer and K or V, with its bytes and its life. */
import { type KvPlace, UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import type { StepRow } from "../timeline/step-row.ts";
import { type CacheContext, cacheContexts, contextsOfTensors } from "./kv-contexts.ts";
import type { KvToken } from "./kv-token.ts";
import { kvTokens } from "./kv-tokens.ts";
import { tokensIn } from "./tensor-room.ts";

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

/** Rows of the cache, in order of write, then of tensors. */
export interface KvRows {
  readonly tokens: readonly KvToken[];
  readonly tensors: readonly KvTensor[];
  readonly count: number;
  /** Positions of a row's token and of its tensor in the two lists. */
  readonly token: Uint32Array;
  readonly tensor: Uint32Array;
  /** 1 where traps on the row's bytes agree with the engine's steps. */
  readonly confirmed: Uint8Array;
  /** Rows that a watch saw written once more while they were in the cache, though the steps do not tell of it. */
  readonly contradicted: number;
  /** Bytes of cache tensors without a row of a token: one state for each sequence, or a shape that is none of a cache's. */
  readonly rowless_bytes: number;
  /** Why the lives of some rows cannot be told, which are left out then; null where all are told. */
  readonly untold: string | null;
}

/** When the row of a token left the cache: evicted, or with its tensor; null while it is there. */
export function evictedNs(token: KvToken, tensor: KvTensor): number | null {
  const ns = Math.min(token.evict_ns ?? Number.POSITIVE_INFINITY, tensor.death_ns);
  return Number.isFinite(ns) ? ns : null;
}

function shapeOf(text: string | null): number[] {
  const numbers = (text ?? "").split("x").map(Number);
  return numbers.every((n) => Number.isSafeInteger(n) && n > 0) ? numbers : [];
}

/** True for a cache tensor with a shape of at least two dimensions: not for one that has a state of each sequence, and no row of a token. */
const hasRows = ({ shape, kv_layout }: TensorLifetime): boolean =>
  shapeOf(shape).length > 1 && kv_layout?.form !== "state";

/** Cache tensors with rows: [elements per token, tokens, streams]. */
function kvTensors(
  lives: readonly TensorLifetime[],
  contextOf: ReadonlyMap<TensorLifetime, string | null>,
  originNs: bigint,
): KvTensor[] {
  const out: KvTensor[] = [];
  for (const life of lives.filter(hasRows)) {
    const [elements = 1, cells = 1, ...outer] = shapeOf(life.shape);
    const streams = outer.reduce((product, n) => product * n, 1);
    const layout = life.kv_layout ?? UNKNOWN_LAYOUT;
    const row_bytes = layout.form === "paged" ? layout.row_bytes : Number(life.size_bytes) / (cells * streams);
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

const keyOf = ({ pid, engine, context }: Pick<KvToken, "pid" | "engine" | "context">): string =>
  `${pid}/${engine ?? ""}/${context ?? ""}`;

/** Tensors that lose the same rows at the same times. */
const roomOf = ({ cells, streams, layout, birth_ns, death_ns }: KvTensor): string =>
  `${layout.form === "paged"}/${cells}/${streams}/${birth_ns}/${death_ns}`;

/** The rows of one context's tokens in its tensors. @returns for each token its lives, each with the tensors that have it */
function rowsOfContext(tokens: readonly KvToken[], tensors: readonly KvTensor[]) {
  const rooms = [...Map.groupBy(tensors, roomOf).values()].map((members) => {
    const [first] = members as [KvTensor, ...KvTensor[]];
    // Blocks of a paged cache may lie in each other's order; its engine says when one is given back.
    const streams = first.layout.form === "paged" ? 1 : first.streams;
    const cells = first.layout.form === "paged" ? first.cells * first.streams : first.cells;
    return { members, lives: tokensIn(tokens, { ...first, cells, streams }) };
  });
  return tokens.map((_, t) =>
    rooms.flatMap(({ members, lives }) => {
      const life = lives[t];
      return life ? [{ life, members }] : [];
    }),
  );
}

interface ContextRows {
  readonly rows: ReturnType<typeof rowsOfContext>;
  /** Place of its next token among its own. */
  next: number;
}

/** Every row of the cache by the engine's steps, in order of its token's write; none is confirmed. */
export function kvRows(steps: readonly StepRow[], lifetimes: readonly TensorLifetime[], originNs: bigint): KvRows {
  const caches = lifetimes.filter(({ region_type }) => region_type === "kv_cache");
  const engineOf = ({ pid, engine }: Pick<StepRow, "pid" | "engine">): string => `${pid}/${engine ?? ""}`;
  const stepsOf = Map.groupBy(steps, engineOf);
  let homeless = false;
  const tensors = [...Map.groupBy(caches, engineOf)].flatMap(([engine, lives]) => {
    const { contexts } = cacheContexts(stepsOf.get(engine) ?? []);
    const placed = kvTensors(lives, contextsOfTensors(contexts, lives, originNs), originNs);
    homeless ||= contexts.length > 1 && placed.some(({ context }) => context === null);
    return placed;
  });
  const number = new Map(tensors.map((tensor, k) => [tensor, k]));
  const tensorsOf = Map.groupBy(tensors, keyOf);
  const isSplit = (context: CacheContext): boolean =>
    (tensorsOf.get(keyOf(context)) ?? []).some(({ streams, layout }) => streams > 1 && layout.form !== "paged");
  const ofSteps = kvTokens(steps, isSplit);
  const rowsOf = new Map(
    [...Map.groupBy(ofSteps.tokens, keyOf)].map(([key, members]) => {
      return [key, { rows: rowsOfContext(members, tensorsOf.get(key) ?? []), next: 0 }] as [string, ContextRows];
    }),
  );
  let count = 0;
  for (const { rows } of rowsOf.values())
    for (const lives of rows) for (const { members } of lives) count += members.length;
  const tokens: KvToken[] = [];
  const token = new Uint32Array(count);
  const tensor = new Uint32Array(count);
  let row = 0;
  for (const one of ofSteps.tokens) {
    const context = rowsOf.get(keyOf(one));
    if (context === undefined) continue;
    for (const { life, members } of context.rows[context.next++] ?? []) {
      tokens.push(life);
      for (const member of members) {
        token[row] = tokens.length - 1;
        tensor[row++] = number.get(member) ?? 0;
      }
    }
  }
  const untold = ofSteps.untold ?? (homeless ? "a cache tensor does not say of which context it is" : null);
  const rowless_bytes = caches.reduce((sum, life) => sum + (hasRows(life) ? 0 : Number(life.size_bytes)), 0);
  const confirmed = new Uint8Array(count);
  return { tokens, tensors, count, token, tensor, confirmed, contradicted: 0, rowless_bytes, untold };
}
