/**
 * The forward passes of one process: each begins where it looks up the embeddings of its tokens, and ends where the next
 * token is drawn from its result (argmax, multinomial); the weights that it uses and the caches that it writes are told of elsewhere.
 */
import { monotonicNs } from "../../kernel/libc.ts";
import { nullsOf } from "../../schema/row.ts";
import type { AddressOf, EngineProcess, EngineRow, NameAt, Outcome } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { medianPeriod, periodsBetween } from "../probing/step-periods.ts";
import { type CacheAppend, decodeCacheAppend, decodeJoinedRest } from "./cache-append.ts";
import type { CacheTensor } from "./cache-tensor.ts";
import { decodeCacheWrite, isPackedWrite } from "./cache-write.ts";
import { type CutGuesses, cutGuesses } from "./cut-guesses.ts";
import { type DraftTurns, draftTurns } from "./draft-turns.ts";
import { layersOfCaches } from "./moved-layers.ts";
import { movingCaches, type TimedAppend } from "./moving-caches.ts";
import { namedWeights } from "./named-weights.ts";
import { operandWeights } from "./operand-weights.ts";
import { passLengths } from "./pass-lengths.ts";
import { type PassMemoryTold, passMemory } from "./pass-memory.ts";
import { BLOCK, BLOCK_BYTES, DIMENSION, JOINED, PROBE } from "./probes.ts";
import { pythonObjectMemory } from "./python-objects.ts";
import { sequenceNumbers } from "./sequence-numbers.ts";
import { staticCaches, type TimedWrite } from "./static-caches.ts";
import { decodeLookup, decodeMatrix, type Lookup, type Matrix } from "./tensor-impl.ts";
import { tokenTables } from "./token-tables.ts";

interface Pass {
  /** Names it among all of the process. */
  readonly number: number;
  /** What its cache tells is added when it is over. */
  row: EngineRow<"step">;
  /** Null where the lookup could not be read. */
  readonly table: { readonly key: string; readonly addr: bigint } | null;
  drawn_ns: bigint | null;
  /** Rows that it wrote into what may be a cache. */
  readonly writes: TimedWrite[];
  /** What it put behind rows of what may be a cache, and is not told of yet. */
  readonly appends: TimedAppend[];
  /** Shapes of parts of a cache most of which is kept in another form. */
  readonly rests: Set<string>;
  /** Where the weights lie that it multiplied with last; null before the first. */
  multiplied: bigint | null;
  /** How many of `appends` have some behind them. */
  surrounded: number;
  /** It put rows behind what may be a cache. */
  hasPut: boolean;
  /** It put them behind others. */
  goesOn: boolean;
}

/** What a thread does. */
interface Thread {
  pass: Pass | null;
  /** It was seen to draw a token. */
  draws: boolean;
  readonly turns: DraftTurns;
  readonly cuts: CutGuesses;
  readonly lengths: ReturnType<typeof passLengths>;
}

const THREADS = 4096;
/** More than a pass makes: what is computed otherwise would fill our memory. */
const WRITES = 4096;
const PERIODS = 32;
/** A pass of which no token is drawn lasts to the next one, if that begins so soon; else its begin is all that is known of it. */
const NEXT_NS = 1_000_000_000n;
const PACKED =
  "tokens of several sequences are packed into one (continuous batching): a pass of several may be of prompts, or decode the next one of each, so that tokens of prompts and answers are not told apart";
const GUESSES =
  "one model guesses for another (assisted generation): its passes, and those that check its guesses, are of tokens that may not be taken, so that tokens of prompts and answers are not told apart";
const CUT =
  "passes of several tokens go on in a cache with a token drawn from each, and lose a part of their rows or come one behind the other, as those that check guesses (prompt lookup): they are not told apart from prompts, so that tokens of prompts and answers are not known";
const RECOMPUTED =
  "each token is computed with the whole text before it (there is no KV cache), so that tokens of prompts and answers are not told apart";
const QUANTISED =
  "most of a KV cache is kept in another form, as quantised: where that lies, and its rows, is not identifiable";
/** Weights that could not be read: nothing has a name there. */
const UNREAD = { addr: 0n } as const;

/** What all parts of a layer's keys, or of its values, have in common, however many rows they have. */
const shapeOf = ({ sequences, heads, head_elements, type }: CacheTensor): string =>
  `${sequences}x${heads}x${head_elements}${type}`;

const keyOf = ({ addr, rows, width }: Matrix): string => `0x${addr.toString(16)}/${rows}x${width}`;

/** True of what is drawn when the pass has long been over; layers that choose their experts so draw as often as they come. */
function isLongAfter({ row, drawn_ns }: Pass, time_ns: bigint): boolean {
  if (drawn_ns === null) return false;
  const took_ns = drawn_ns - row.timestamp_ns;
  return time_ns - drawn_ns > (took_ns > NEXT_NS ? took_ns : NEXT_NS);
}

/** As the step stream has it: sums, and by how long blocks were kept. */
function listOf({ passes, allocations, bytes, most_bytes, open_bytes, kept }: PassMemoryTold): unknown[] {
  const bins = [...kept].sort(([a], [b]) => a - b).map(([bin, [count, sum]]) => [bin, count, sum]);
  return [[passes, allocations, bytes, most_bytes, open_bytes], bins];
}

/**
 * None yet.
 * @param fileNameAt what the tables are called, where a file tells it
 * @param now_ns CLOCK_MONOTONIC
 */
export function forwardPasses(
  pid: number,
  fileNameAt: NameAt,
  addressOf: AddressOf = () => null,
  now_ns: () => bigint = monotonicNs,
): EngineProcess {
  const threads = new Map<number, Thread>();
  const named = namedWeights(pid, fileNameAt, addressOf);
  const nameAt: NameAt = (process, addr) => {
    const name = named.nameAt(addr);
    return name === null ? fileNameAt(process, addr) : { name };
  };
  const objects = pythonObjectMemory(pid, addressOf);
  const tables = tokenTables(nameAt);
  const weights = operandWeights(pid, nameAt);
  const takeSequences = sequenceNumbers();
  const caches = staticCaches(pid, named.layersOf, takeSequences);
  const layersOfMoving = layersOfCaches(named.layersOf, (addr) => nameAt(pid, addr)?.name ?? null);
  const moving = movingCaches(pid, layersOfMoving, takeSequences);
  const memory = passMemory();
  let passes = 0;
  let hasRests = false;
  /** Why tokens of prompts and answers are not told apart. */
  const mixed = new Set<string>();
  /** Begins of the last passes of one token per sequence, in ns. */
  let begins: bigint[] = [];
  let rows: EngineRow<"step">[] = [];

  function threadOf(tid: number): Thread {
    const followed = threads.get(tid);
    if (followed !== undefined) return followed;
    if (threads.size >= THREADS) flush();
    const thread: Thread = {
      pass: null,
      draws: false,
      turns: draftTurns(),
      cuts: cutGuesses(),
      lengths: passLengths(),
    };
    threads.set(tid, thread);
    return thread;
  }

  /** All layers of a pass are through: it moves nothing more. @param isWhole false where it may have been cut */
  function move(pass: Pass, isWhole: boolean): void {
    const { row, table, rests } = pass;
    // What comes behind the part that is kept in another form is no cache of its own.
    const appends = pass.appends.splice(0).filter(({ append }) => !rests.has(shapeOf(append.into)));
    pass.surrounded = 0;
    if (appends.length === 0) return;
    pass.row = { ...row, ...moving.endPass(row.n_tokens ?? 0, appends, isWhole, table?.addr ?? null) };
  }

  /** @param next_ns begin of the next pass of the thread; null where there is none */
  function end(thread: Thread, next_ns: bigint | null): void {
    const { pass, draws } = thread;
    thread.pass = null;
    if (pass === null) return;
    if (next_ns !== null) memory.end(pass.number, next_ns);
    noteLength(thread, pass);
    const isWhole = pass.drawn_ns !== null || next_ns !== null;
    move(pass, isWhole);
    const { row, table, drawn_ns, writes } = pass;
    const isSoon = next_ns !== null && next_ns - row.timestamp_ns <= NEXT_NS;
    // Of a thread that draws tokens, a pass without one was interrupted, or is not over.
    const untold_ns = draws ? null : row.timestamp_ns;
    const ended = { ...row, end_ns: drawn_ns ?? (isSoon ? next_ns : untold_ns) };
    rows.push(...caches.endPass(ended, writes, isWhole, table?.addr ?? null));
  }

  function tellMixed(why: string, { timestamp_ns, tid }: Pick<RawRecord, "timestamp_ns" | "tid">): void {
    const { engine: _, ...nothing } = nullsOf("step");
    const detail = JSON.stringify({ mixes_tokens: true });
    if (mixed.size === 0) rows.push({ ...nothing, timestamp_ns, pid, tid, kind: "engine", detail });
    mixed.add(why);
  }

  function noteLength({ lengths }: Thread, { row, table, drawn_ns, writes, goesOn }: Pass): void {
    const { timestamp_ns, tid, n_tokens: tokens, n_sequences: sequences } = row;
    if (table === null || tokens === null) return;
    const isDrawn = drawn_ns !== null;
    const said = lengths.pass({ table: table.key, tokens, sequences, isDrawn, goesOn: goesOn || writes.length > 0 });
    if (said !== null) tellMixed(said === "packed" ? PACKED : RECOMPUTED, { timestamp_ns, tid });
  }

  function begin(thread: Thread, { timestamp_ns, tid }: RawRecord, lookup: Lookup | null): void {
    end(thread, timestamp_ns);
    const { engine: _, ...nothing } = nullsOf("step");
    const tokens = lookup?.tokens ?? null;
    const isGuessed = lookup !== null && thread.turns.pass(keyOf(lookup.table), lookup.tokens);
    if (isGuessed) tellMixed(GUESSES, { timestamp_ns, tid });
    const n_sequences = lookup?.sequences ?? (tokens === 1 ? 1 : null);
    const row = { ...nothing, timestamp_ns, pid, tid, kind: "decode", n_tokens: tokens, n_sequences } as const;
    passes += 1;
    thread.pass = {
      number: passes,
      row,
      table: lookup && { key: keyOf(lookup.table), addr: lookup.table.addr },
      drawn_ns: null,
      writes: [],
      appends: [],
      rests: new Set(),
      multiplied: null,
      surrounded: 0,
      hasPut: false,
      goesOn: false,
    };
    memory.begin(passes);
    if (tokens === null || tokens > (n_sequences ?? 1)) return;
    begins = [...begins.slice(1 - PERIODS), timestamp_ns];
  }

  function look(record: RawRecord): Outcome {
    const lookup = record.unreadable === 0 ? decodeLookup(record.payload) : null;
    if (lookup === "nowhere") return "null_handle";
    if (lookup?.tokens === 0) return "empty";
    const thread = threadOf(record.tid);
    const key = lookup && keyOf(lookup.table);
    const role = lookup && key ? tables.roleOf(pid, key, lookup.table.addr) : "unnamed";
    // Without a name, a second table that is looked up before a token is drawn belongs to the same pass, as that of positions.
    const isSecond = role === "unnamed" && thread.pass !== null && thread.pass.drawn_ns === null;
    const isStep =
      role === "tokens" || (role === "unnamed" && !(isSecond && (thread.pass?.table?.key ?? null) !== key));
    if (isStep) begin(thread, record, lookup);
    if (lookup !== null && nameAt(pid, lookup.table.addr) === null) named.want(lookup.table.addr, record.timestamp_ns);
    if (lookup !== null && thread.pass !== null) weights.note(lookup.table, thread.pass.number, true, record);
    if (lookup !== null) return "kept";
    return record.unreadable === 0 ? "implausible" : "unreadable";
  }

  function multiply(record: RawRecord): Outcome {
    const pass = threads.get(record.tid)?.pass;
    if (pass == null) return "under_way";
    const matrix = record.unreadable === 0 ? decodeMatrix(record.payload) : null;
    const { addr: behind } = matrix === null || matrix === "nowhere" ? UNREAD : matrix;
    for (const { multiplied } of pass.appends.slice(pass.surrounded)) multiplied.behind = behind;
    pass.surrounded = pass.appends.length;
    pass.multiplied = behind;
    if (matrix === "nowhere") return "null_handle";
    if (matrix !== null) return weights.note(matrix, pass.number, false, record);
    // Weights of whole numbers are none of ours, and no sign of another layout.
    return record.unreadable === 0 ? "kept" : "unreadable";
  }

  function write(record: RawRecord): Outcome {
    const pass = threads.get(record.tid)?.pass;
    if (pass == null) return "under_way";
    if (record.unreadable !== 0) return "unreadable";
    const found = decodeCacheWrite(record.payload, record.args[DIMENSION]);
    if (found === null) return "implausible";
    const { timestamp_ns, tid } = record;
    const tokens = pass.row.n_tokens ?? 0;
    if (found === "other" && tokens > 1 && isPackedWrite(record.payload, record.args[DIMENSION], tokens))
      tellMixed(PACKED, record);
    if (found === "other" || pass.writes.length >= WRITES) return "kept";
    const timed = { write: found, timestamp_ns, tid };
    caches.note(timed);
    memory.keep(found.storage.addr);
    pass.writes.push(timed);
    return "kept";
  }

  /** Rows of the first layer say what becomes of those of all others. */
  function noteGuesses({ cuts }: Thread, pass: Pass, found: CacheAppend, record: RawRecord): void {
    if (pass.hasPut) return;
    pass.hasPut = true;
    pass.goesOn = found.before !== null;
    const isGuessed = cuts.put(found, () => pass.drawn_ns !== null);
    // Whose guesses they are is known where another model made them.
    if (isGuessed && !mixed.has(GUESSES)) tellMixed(CUT, record);
  }

  function append(record: RawRecord): Outcome {
    const thread = threads.get(record.tid);
    const pass = thread?.pass;
    if (thread === undefined || pass == null) return "under_way";
    if (record.unreadable !== 0) return "unreadable";
    const found = decodeCacheAppend(record.payload, record.args[JOINED]);
    if (found === null) return "implausible";
    const { timestamp_ns, tid } = record;
    if (found === "other") {
      const rest = decodeJoinedRest(record.payload, record.args[JOINED]);
      if (rest !== null) pass.rests.add(shapeOf(rest));
      hasRests ||= rest !== null;
    }
    if (found === "other" || pass.appends.length >= WRITES) return "kept";
    noteGuesses(thread, pass, found, record);
    const timed = { append: found, timestamp_ns, tid, multiplied: { before: pass.multiplied, behind: null } };
    moving.note(timed);
    memory.keep(found.into.storage.addr);
    pass.appends.push(timed);
    return "kept";
  }

  function allocate({ args, tid, timestamp_ns }: RawRecord): Outcome {
    const pass = threads.get(tid)?.pass ?? null;
    const isInside = pass !== null && pass.drawn_ns === null;
    memory.allocate(args[BLOCK], Number(args[BLOCK_BYTES]), isInside ? pass.number : null, timestamp_ns);
    return "kept";
  }

  /** What passes allocated, as the last look told. */
  function toldMemory(): EngineRow<"step">[] {
    const seen = memory.takeTold();
    if (seen === null) return [];
    const { engine: _, ...nothing } = nullsOf("step");
    const detail = JSON.stringify({ activations: listOf(seen) });
    return [{ ...nothing, timestamp_ns: now_ns(), pid, tid: pid, kind: "engine", detail }];
  }

  function flush(isGone = false): void {
    memory.close();
    for (const thread of threads.values()) end(thread, null);
    threads.clear();
    moving.flush(isGone);
    rows.push(...caches.flush());
  }

  return {
    useBuild: () => {},
    take(record) {
      if (record.probe === PROBE.embedding) return look(record);
      if (record.probe === PROBE.linear) return multiply(record);
      if (record.probe === PROBE.write) return write(record);
      if (record.probe === PROBE.append) return append(record);
      if (record.probe === PROBE.allocate) return allocate(record);
      if (record.probe === PROBE.free) {
        memory.free(record.args[BLOCK], record.timestamp_ns);
        return "kept";
      }
      const thread = threads.get(record.tid);
      if (thread?.pass == null || isLongAfter(thread.pass, record.timestamp_ns)) return "under_way";
      thread.pass.drawn_ns = record.timestamp_ns;
      memory.end(thread.pass.number, record.timestamp_ns);
      move(thread.pass, true);
      thread.draws = true;
      return "kept";
    },
    look(read, isLast = false) {
      caches.check(read, now_ns, isLast);
      moving.check(read, now_ns, isLast);
      objects.look(read, now_ns(), isLast);
      if (isLast) named.check(read, now_ns());
      for (const { addr } of weights.live()) named.want(addr, 0n);
      const look = named.look(read, now_ns, passes);
      rows.push(...caches.settle());
      moving.settle();
      return look === null ? [] : [look];
    },
    leave(read) {
      caches.check(read, now_ns, true);
      rows.push(...caches.flush());
      moving.leave(read);
      named.check(read, now_ns());
    },
    isSettled: weights.isSettled,
    isAsking: (nowNs) => memory.isAsking(nowNs, passes, medianPeriod(periodsBetween(begins)) ?? 0),
    flush,
    takeRows() {
      const taken = rows;
      rows = [];
      const ofCaches = caches.takeRows();
      const ofNames = named.takeRows();
      const ofMoving = moving.takeRows();
      const tensors = [...weights.takeRows(), ...ofCaches.tensors, ...ofMoving.tensors, ...ofNames.tensors];
      tensors.push(...objects.takeRows());
      return { tensors, steps: [...ofCaches.steps, ...ofMoving.steps, ...ofNames.steps, ...taken, ...toldMemory()] };
    },
    tokenPeriodsNs: () => periodsBetween(begins),
    kvHeads: () => [],
    liveTensors: () => [
      ...weights.live().filter(({ addr }) => named.nameAt(addr) === null),
      ...named.live(),
      ...caches.live(),
    ],
    untold: () => [
      ...mixed,
      ...(hasRests ? [QUANTISED] : []),
      ...caches.untold(),
      ...moving.untold(),
      ...named.untold(),
    ],
  };
}
