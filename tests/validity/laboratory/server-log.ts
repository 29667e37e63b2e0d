/** What llama-server says in its log of its slots, replayed: which rows of the cache each batch writes and needs, apart from what the tracer sees. */
import type { RowOf } from "../../../src/schema/row.ts";
import { quantileOf, type Truth } from "../../../src/simulate/true-quantiles.ts";
import { firstIndex } from "../../../src/statistics/first-index.ts";

/** A row of the cache: what one token has in all layers. */
export interface ServerRow {
  readonly slot: number;
  readonly position: number;
  /** Begin and end of the batch that wrote it, or twice when the server restored it from a prompt that it had saved. */
  readonly written: readonly [begin_ns: number, end_ns: number];
  readonly isRestored: boolean;
  /** Begin and end of the last batch that needed it; null where none did. */
  needed: readonly [begin_ns: number, end_ns: number] | null;
  needs: number;
  /** When the server gave it up; null where it lived to the end. */
  evict_ns: number | null;
}

/** A batch: times in ns since the start of the log. */
export interface ServerBatch {
  readonly begin_ns: number;
  end_ns: number;
  readonly tokens: number;
  readonly sequences: number;
  /**
   * Graphs that the engine computes for it at least, and for one that decodes a token of each sequence just as many. Where each slot has a cache of its
   * own, a graph goes over neighbours: sequences whose numbers follow each other.
   */
  readonly graphs: number;
  /** Rows that its sequences have, those that it writes among them: what attention goes over. */
  readonly visible: number;
  /** Of these the ones that were there before it. */
  readonly needed: number;
  /** What it has of each slot, by slot. */
  readonly parts: readonly (readonly [slot: number, position: number, tokens: number])[];
}

/** A request that got a slot. */
export interface ServerRequest {
  readonly slot: number;
  readonly prompt_tokens: number;
  /** Where it got its slot, and where it gave it back or the log ends: the number of the batch that came next. */
  readonly first_batch: number;
  end_batch: number | null;
  /** As the server counts them at its end, tokens of the prompt that it worked on and of the answer; null where its client hung up. */
  counted: readonly [evaluated: number, output: number] | null;
}

export interface ServerLog {
  readonly rows: readonly ServerRow[];
  readonly batches: readonly ServerBatch[];
  /** In the order in which they got their slots. */
  readonly requests: readonly ServerRequest[];
}

/** A batch that goes on, and the span that its rows hold. */
interface OpenBatch {
  readonly batch: ServerBatch;
  readonly written: [begin_ns: number, end_ns: number];
}

const TIME = /^(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) /;
const PROMPT = /id +(\d+) \| task -?\d+ \| new prompt, .*task\.n_tokens = (\d+)/;
const EVALUATED = /print_timing: id +(\d+) \| task -?\d+ \| prompt eval time = .*\/ +(\d+) tokens/;
const ANSWERED = /print_timing: id +(\d+) \| task -?\d+ \| +eval time = .*\/ +(\d+) tokens/;
const RELEASE = /release: id +(\d+) \| task -?\d+ \| stop processing: n_tokens = (\d+)/;
const TRIM = /id +(\d+) \| task -?\d+ \| cached n_tokens = \d+, memory_seq_rm \[(\d+), end\)/;
const TOKEN = /id +(\d+) \| task -?\d+ \| slot decode token, .*n_tokens = (\d+)/;
const CLEAR = /id +(\d+) \| task -?\d+ \| clearing prompt with/;
const RESTORE = /state_read_meta: cell_count = (\d+), dest_seq_id = (\d+)/;
const DECODE = /srv +decode: n_batch \(effective\) = \d+, off = (\d+)/;
/** What it says next after a batch. */
const DECODED = /process_toke:|start_loop: update slots/;

function timeOf(line: string): number | null {
  const [, minutes, seconds, ms, us] = TIME.exec(line) ?? [];
  return us === undefined
    ? null
    : 1e3 * (6e7 * Number(minutes) + 1e6 * Number(seconds) + 1e3 * Number(ms) + Number(us));
}

/** The two numbers that a pattern finds. */
function numbers(pattern: RegExp, line: string): readonly [number, number] | null {
  const found = pattern.exec(line);
  return found === null ? null : [Number(found[1]), Number(found[2])];
}

/** @throws Error where the log does not hold together */
export function serverLogOf(text: string): ServerLog {
  const rows: ServerRow[] = [];
  const batches: ServerBatch[] = [];
  const slots = new Map<number, ServerRow[]>();
  const prompts = new Map<number, number>();
  const requests: ServerRequest[] = [];
  /** By slot, the request that it serves, and what of its prompt was worked on. */
  const serving = new Map<number, ServerRequest>();
  const evaluated = new Map<number, number>();
  /** Tokens that the next batch has of each slot. */
  const next = new Map<number, number>();
  let open: OpenBatch | null = null;
  const rowsOf = (slot: number): ServerRow[] => {
    const mine = slots.get(slot) ?? [];
    slots.set(slot, mine);
    return mine;
  };
  const trim = (slot: number, from: number, time: number): void => {
    for (const row of rowsOf(slot).splice(from)) row.evict_ns = time;
  };
  const restore = (slot: number, count: number, time: number): void => {
    trim(slot, 0, time);
    for (let position = 0; position < count; position++) {
      const row: ServerRow = {
        ...{ slot, position, written: [time, time], isRestored: true },
        ...{ needed: null, needs: 0, evict_ns: null },
      };
      rowsOf(slot).push(row);
      rows.push(row);
    }
  };
  const decode = (time: number): OpenBatch => {
    const span: [number, number] = [time, time];
    let needed = 0;
    let tokens = 0;
    const parts: [slot: number, position: number, tokens: number][] = [];
    for (const [slot, count] of [...next].sort(([a], [b]) => a - b)) {
      const mine = rowsOf(slot);
      parts.push([slot, mine.length, count]);
      needed += mine.length;
      tokens += count;
      for (const row of mine) {
        row.needed = span;
        row.needs += 1;
      }
      for (let i = 0; i < count; i++) {
        const row: ServerRow = {
          ...{ slot, position: mine.length, written: span, isRestored: false },
          ...{ needed: null, needs: 0, evict_ns: null },
        };
        mine.push(row);
        rows.push(row);
      }
    }
    const graphs = [...next.keys()].filter((slot) => !next.has(slot - 1)).length;
    const sums = { tokens, sequences: next.size, graphs, needed, visible: needed + tokens, parts };
    const batch = { begin_ns: time, end_ns: time, ...sums };
    if (tokens > 0) batches.push(batch);
    next.clear();
    return { batch, written: span };
  };
  for (const line of text.split("\n")) {
    const time = timeOf(line);
    if (time === null) continue;
    if (open !== null && DECODED.test(line)) {
      open.batch.end_ns = time;
      open.written[1] = time;
      open = null;
    }
    const [prompt, trimmed, token] = [numbers(PROMPT, line), numbers(TRIM, line), numbers(TOKEN, line)];
    if (prompt !== null) {
      const [slot, prompt_tokens] = prompt;
      prompts.set(slot, prompt_tokens);
      const request = { slot, prompt_tokens, first_batch: batches.length, end_batch: null, counted: null };
      requests.push(request);
      serving.set(slot, request);
    }
    const [worked, answered, released] = [EVALUATED, ANSWERED, RELEASE].map((pattern) => numbers(pattern, line));
    if (worked) evaluated.set(...worked);
    const ending = serving.get((answered ?? released)?.[0] ?? -1);
    if (answered && ending !== undefined) ending.counted = [evaluated.get(ending.slot) ?? 0, answered[1]];
    if (released && ending !== undefined) ending.end_batch = batches.length;
    if (trimmed !== null) {
      const [slot, from] = trimmed;
      trim(slot, from, time);
      if (rowsOf(slot).length !== from) throw new Error(`slot ${slot} has fewer rows than it keeps: ${line}`);
      next.set(slot, (prompts.get(slot) ?? 0) - from);
    }
    if (token !== null) {
      const [slot, position] = token;
      if (rowsOf(slot).length !== position) throw new Error(`slot ${slot} has another number of rows: ${line}`);
      next.set(slot, 1);
    }
    const cleared = numbers(CLEAR, line);
    if (cleared !== null) trim(cleared[0], 0, time);
    const restored = numbers(RESTORE, line);
    if (restored !== null) restore(restored[1], restored[0], time);
    const decoding = DECODE.exec(line);
    if (decoding !== null) {
      if (decoding[1] !== "0") throw new Error(`a batch in parts: ${line}`);
      open = decode(time);
    }
  }
  return { rows, batches, requests };
}

const isDecode = ({ tokens, sequences }: ServerBatch): boolean => tokens <= sequences;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const exactly = (value: number): Truth => ({ lo: value, hi: value });

/** What the server restores of a saved prompt and gives up again before a batch had it: it is written, and no batch ever tells of it. */
const isUntold = ({ isRestored, needs, evict_ns }: ServerRow): boolean =>
  isRestored && needs === 0 && evict_ns !== null;

/** How long each row that a batch had was needed: from begin or end of what wrote it, to begin or end of the last batch that needed it. */
export function needsOf({ rows }: Pick<ServerLog, "rows">): { readonly least: number[]; readonly most: number[] } {
  const told = rows.filter((row) => !isUntold(row));
  return {
    least: told.map(({ written, needed }) => (needed === null ? 0 : Math.max(0, needed[0] - written[1]))),
    most: told.map(({ written, needed }) => (needed === null ? 0 : needed[1] - written[0])),
  };
}

/** A quantile of times of which the least and the most are known. */
export function quantileBetween(least: readonly number[], most: readonly number[], q: number): Truth | null {
  const [low, high] = [quantileOf(least, q), quantileOf(most, q)];
  return low === null || high === null ? null : { lo: low.lo, hi: high.hi };
}

/** What the cache has, and the weights. */
export interface ServerMemory {
  /** Cells of the cache, of all slots together. */
  readonly cells: number;
  readonly row_bytes: number;
  /** Of those that a step reads as a whole. */
  readonly weight_bytes: number;
  /** A batch with which the engine tried its cache: how long before the first one of the log, ns, and its tokens; 0 where it did not. */
  readonly tried_ns: number;
  readonly tried_tokens: number;
}

/** Figures of one run by `metric of class`, those of decode steps with `, decode` behind. */
export function serverTruth(
  log: ServerLog,
  { cells, row_bytes, weight_bytes, tried_ns, tried_tokens }: ServerMemory,
): Map<string, Truth> {
  const { batches, rows } = log;
  const seconds = ((batches.at(-1)?.end_ns ?? 0) - (batches[0]?.begin_ns ?? 0) + tried_ns) / 1e9;
  const decodes = batches.filter(isDecode);
  const of = (some: readonly ServerBatch[], what: "tokens" | "needed" | "visible" | "graphs"): number =>
    sum(some.map((batch) => batch[what]));
  const tokens = of(decodes, "tokens");
  /** Passes over the weights: a prompt is multiplied by a few of its tokens at a time, and each of its sequences may have graphs of its own. */
  const most = (batch: ServerBatch): number =>
    isDecode(batch) ? batch.graphs : Math.ceil(batch.tokens / 4) + batch.sequences;
  const restored = rows.filter(({ isRestored }) => isRestored).length;
  const told = rows.filter((row) => !isUntold(row)).length + tried_tokens;
  const perToken = (value: number): Truth => exactly(value / tokens);
  return new Map([
    ["reads_per_byte_per_token of weight, decode", perToken(of(decodes, "graphs"))],
    ["reads_per_byte_per_token of kv_cache, decode", perToken(of(decodes, "visible") / cells)],
    // What is restored is written between two steps, which is decode time where these are near.
    ["writes_per_byte_per_token of kv_cache, decode", { lo: 1 / cells, hi: (1 + restored / tokens) / cells }],
    ["read_bytes_per_s of kv_cache", exactly((row_bytes * of(batches, "visible")) / seconds)],
    ["write_bytes_per_s of kv_cache", exactly((row_bytes * (rows.length + tried_tokens)) / seconds)],
    [
      "read_bytes_per_s of weight",
      { lo: (weight_bytes * of(batches, "graphs")) / seconds, hi: (weight_bytes * sum(batches.map(most))) / seconds },
    ],
    ["needs_per_write of kv_cache", exactly(sum(rows.map(({ needs }) => needs)) / told)],
    ["write_once_ratio of kv_cache", exactly(1)],
  ]);
}

/** A row of `kv_block_lifecycle` of one tensor. */
export interface SeenRow {
  readonly sequence_id: number | null;
  readonly position: number | null;
  readonly write_ns: bigint;
  readonly evict_ns: bigint | null;
  readonly total_reads: number;
}

/** What the tracer has of the rows of a tensor that were written since a time. */
export function seenRows(rows: readonly RowOf<"kv_block_lifecycle">[], since_ns: bigint): SeenRow[] {
  return rows.flatMap(({ sequence_id, position, write_ns, evict_ns, total_reads }) =>
    write_ns === null || write_ns < since_ns
      ? []
      : [{ sequence_id, position, write_ns, evict_ns, total_reads: Number(total_reads ?? 0n) }],
  );
}

/** How many of some moments, which are in order, have come by a time. */
function comeBy<T extends number | bigint>(moments: readonly T[], time: T): number {
  return firstIndex(moments.length, (i) => (moments[i] ?? time) <= time);
}

/**
 * How many rows of the log the tracer has as they are there: of that sequence and position, as often needed, and written and given up
 * between the same batches: what is said of a moment may come much later, where another program has the CPU.
 * @param begins_ns of the batches of the log, by the tracer
 */
export function agreeingRows(
  { rows, batches }: Pick<ServerLog, "rows" | "batches">,
  seen: readonly SeenRow[],
  begins_ns: readonly bigint[],
): { agree: number; all: number } {
  const keyOf = (slot: number | null, position: number | null): string => `${slot} ${position}`;
  const inOrder = seen.toSorted((a, b) => Number(a.write_ns - b.write_ns));
  const byPlace = Map.groupBy(inOrder, ({ sequence_id, position }) => keyOf(sequence_id, position));
  const logged = batches.map(({ begin_ns }) => begin_ns);
  const told = rows.filter((row) => !isUntold(row));
  const agree = told.filter((row) => {
    const other = byPlace.get(keyOf(row.slot, row.position))?.shift();
    if (other === undefined || other.total_reads !== row.needs) return false;
    if (comeBy(begins_ns, other.write_ns) !== comeBy(logged, row.written[0])) return false;
    const [ended, mine] = [row.evict_ns, other.evict_ns];
    if (ended === null || mine === null)
      return comeBy(begins_ns, mine ?? begins_ns.at(-1) ?? 0n) === batches.length && ended === null;
    return comeBy(begins_ns, mine) === comeBy(logged, ended);
  });
  return { agree: agree.length, all: Math.max(told.length, seen.length) };
}
