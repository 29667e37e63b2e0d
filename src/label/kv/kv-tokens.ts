/**
 * Tokens of the KV cache by the engine's steps: which batch wrote each, which later batches read it, what evicted it.
 *
 * A batch appends one row per token. Attention runs over every filled row, so each later batch reads every live row
 * once; the read by the batch that wrote it is not counted. Times are the begins of the batches: a row is written and
 * read at the same offset in each, so that their difference is its age. Where the first batch that was seen continues a
 * sequence, the rows before it were there: of their life only the reads and the end are known.
 */

import { detailOf, isBatch, type StepRow } from "../timeline/step-row.ts";
import { cellsOf, cellTokens } from "./kv-cells.ts";

export interface KvToken {
  readonly pid: number;
  /** The engine in whose cache it is; null in captures that know one engine only. */
  readonly engine: string | null;
  /** Position in the sequence; null where several sequences are in the batch. */
  readonly position: number | null;
  /** The row of the cache tensors that it has; null where that is not known. */
  readonly cell: number | null;
  /** Of a row that was there: begin of the first batch that was seen, so that it is older. */
  readonly write_ns: number;
  /** False for a row that was in the cache before the first batch that was seen. */
  readonly is_written: boolean;
  /** End of the batch that wrote it. */
  readonly written_by_ns: number;
  /** Begin of the last later batch that read it; null for none. */
  readonly last_read_ns: number | null;
  /** Null while it is in the cache. */
  readonly evict_ns: number | null;
  readonly total_reads: number;
}

/** A token that was there has no batch that wrote it. */
const THERE = -1;

interface LiveToken {
  readonly position: number | null;
  readonly batch: number;
}

interface Trim {
  readonly from: number;
  readonly to: number;
}

function trimOf(step: StepRow): Trim {
  const { position_from: from, position_to: end } = detailOf(step);
  return {
    from: typeof from === "number" ? Math.max(0, from) : 0,
    to: typeof end === "number" && end >= 0 ? end : Number.POSITIVE_INFINITY,
  };
}

function isIn(token: LiveToken, trim: Trim): boolean {
  if (token.position === null) return trim.from === 0 && trim.to === Number.POSITIVE_INFINITY;
  return token.position >= trim.from && token.position < trim.to;
}

/** Tokens of one engine in one process in order of their write. `steps` are its own, in order of their begin. */
function tokensOf(pid: number, engine: string | null, steps: readonly StepRow[]): KvToken[] {
  const batches: StepRow[] = [];
  const ended: KvToken[] = [];
  let live: LiveToken[] = [];
  /** Nothing told yet what the cache holds. */
  let unknown = true;

  function close(token: LiveToken, evict_ns: number | null): void {
    const written = batches[Math.max(0, token.batch)] as StepRow;
    const reads = batches.length - 1 - token.batch;
    ended.push({
      pid,
      engine,
      position: token.position,
      // One sequence fills the cache from its start.
      cell: token.position,
      write_ns: written.begin_ns,
      is_written: token.batch !== THERE,
      written_by_ns: written.end_ns,
      last_read_ns: reads > 0 ? (batches[batches.length - 1] as StepRow).begin_ns : null,
      evict_ns,
      total_reads: reads,
    });
  }
  function evict(trim: Trim, time_ns: number): void {
    const kept: LiveToken[] = [];
    for (const token of live) {
      if (isIn(token, trim)) close(token, time_ns);
      else kept.push(token);
    }
    live = kept;
  }

  for (const step of steps) {
    if (step.kind === "context" || step.kind === "kv_clear") unknown = false;
    if (step.kind === "kv_clear" || step.kind === "context_free") {
      evict({ from: 0, to: Number.POSITIVE_INFINITY }, step.begin_ns);
    } else if (step.kind === "kv_trim") {
      evict(trimOf(step), step.begin_ns);
    } else if (isBatch(step)) {
      const first = (step.n_sequences ?? 1) > 1 ? null : step.position_first;
      const last = live.at(-1)?.position ?? -1;
      for (let i = 0; unknown && i < (first ?? 0); i++) live.push({ position: i, batch: THERE });
      unknown = false;
      // A batch that goes back writes over what is there.
      if (first !== null && first <= last) evict({ from: first, to: Number.POSITIVE_INFINITY }, step.begin_ns);
      batches.push(step);
      for (let i = 0; i < (step.n_tokens ?? 0); i++) {
        live.push({ position: first === null ? null : first + i, batch: batches.length - 1 });
      }
    }
  }
  for (const token of live) close(token, null);
  return ended.sort((left, right) => left.write_ns - right.write_ns || (left.position ?? -1) - (right.position ?? -1));
}

/** Tokens of every engine and process with batches. */
export function kvTokens(steps: readonly StepRow[]): KvToken[] {
  const tokens: KvToken[] = [];
  for (const engineSteps of Map.groupBy(steps, ({ pid, engine }) => `${pid}/${engine ?? ""}`).values()) {
    const [first] = engineSteps;
    if (first === undefined || !engineSteps.some(isBatch)) continue;
    const tellsCells = engineSteps.some((step) => isBatch(step) && cellsOf(step) !== null);
    tokens.push(...(tellsCells ? cellTokens : tokensOf)(first.pid, first.engine, engineSteps));
  }
  return tokens;
}
