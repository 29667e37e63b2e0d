/** One process of vLLM: the cache of each layer where its attention is first seen, and its steps. */
import { monotonicNs } from "../../kernel/libc.ts";
import { nullsOf, type WordOf } from "../../schema/row.ts";
import { formatCounted } from "../../units.ts";
import { pythonClasses, pythonObjects } from "../cpython/objects.ts";
import { pagedReads } from "../cpython/paged-reads.ts";
import type { AddressOf, EngineProcess, EngineRow, Outcome, ReadMemory } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import { periodsBetween } from "../probing/step-periods.ts";
import { cacheKinds, cacheLayers } from "./cache-layers.ts";
import { type LayerCache, layerCache } from "./cache-tensor.ts";
import { loadedWeights } from "./loaded-weights.ts";
import { placedCaches } from "./placed-caches.ts";
import { PROBE } from "./probes.ts";
import { type RequestRows, requestRows, type SharedRows, type StepRows } from "./request-rows.ts";
import { requestStates } from "./request-states.ts";
import { runnerFinder } from "./runner-finder.ts";
import { guessesTokens, isFurtherWorker } from "./runner-settings.ts";
import { sequenceOwners } from "./sequence-owners.ts";
import { fillsCache, hasBlocks, stepBlocks } from "./step-blocks.ts";

/** Steps between which the times of the last are kept. */
const PERIODS = 32;
/** So many steps with the same caches, and those of the layers behind the first are taken to be known. */
const ALIKE = 8;
/** So many pools of a process are remembered. */
const POOLS = 16;
/** The requests of a process are read no more often: while a sequence has no name, and while it is asked which have ended. */
const NAMING_NS = 20_000_000n;
const ENDING_NS = 250_000_000n;
interface OpenStep {
  row: EngineRow<"step">;
  shared: readonly SharedRows[];
  /** Blocks that were given out again for it. */
  freed: StepRows["freed"];
  /** Calls of attention so far that were told, each of a layer, and how many returned. */
  calls: number;
  returns: number;
  /** One of them was seen, understood or not. */
  isCalled: boolean;
  isDecode: boolean;
}

const OTHER_BLOCKS =
  "no look at the requests of its model runner found one with the blocks of a sequence, as where several kinds of layers have blocks of their own, where requests end at once, or where the runner keeps them in another form, as its second version (which needs Triton)";

const OTHER_MODEL =
  "a second cache came up behind steps with the first, as where a process has two models: weights by name, requests and settings are those of the first, steps and caches those of both";

const GUESSES =
  "tokens are guessed (speculative decoding): a step with guesses counts as one of a prompt, those that were not taken too, and so does what a draft model computes, so that tokens of the run are not those of prompts and answers";

export function follow(pid: number, addressOf: AddressOf): EngineProcess {
  const finder = runnerFinder(pid, addressOf);
  const weights = loadedWeights(pid, finder);
  const owners = sequenceOwners();
  const classes = pythonClasses();
  const caches = placedCaches(pid);
  let [isLearned, isGuessing] = [false, false];
  const begins: bigint[] = [];
  let steps: EngineRow<"step">[] = [];
  let rows: { readonly blockTokens: number; readonly of: RequestRows } | null = null;
  /** Where the pools lie that were used last, in their order. */
  const pools: bigint[] = [];
  let takeTurns = false;
  /** A step had a first layer whose cache came up behind whole steps with another. */
  let isSecond = false;
  /** Layers of the model, once a step was seen to its end: of several models those of the largest. */
  let layerCount = 0;
  /** Steps in a row that had as many layers, fewer than that. */
  let [fewer, fewerSteps] = [0, 0];
  /** Steps in a row that called as many layers, each with a cache that is known. */
  let alike = 0;
  let open: OpenStep | null = null;
  /** The step that was told last, since when none was prepared. */
  let closed: { readonly tid: number; returns: number } | null = null;
  /** How often the step was prepared that is open. */
  let preparations = 0;
  /** A step was told of since the requests were read. */
  let isNew = false;
  let lookedNs = 0n;
  let keepsPrefixes: boolean | null = null;

  /** A step had as many layers: two are taken for one where the preparation of the second was lost. */
  function countLayers(returns: number): void {
    fewerSteps = returns < layerCount ? (returns === fewer ? fewerSteps + 1 : 1) : 0;
    fewer = returns;
    if (returns > layerCount || fewerSteps >= ALIKE) layerCount = returns;
  }

  function close(): void {
    if (open?.isCalled) {
      // Once they are passed over, as many as were under way then are told.
      const isWhole = alike >= ALIKE || open.calls === layerCount;
      alike = isWhole && open.returns === layerCount && preparations === 1 ? alike + 1 : 0;
      countLayers(open.returns);
      caches.endStep(open.calls === layerCount && open.returns === layerCount);
      closed = { tid: open.row.tid, returns: open.returns };
      const { row, shared, freed } = open;
      const older = shared.filter(({ is_fresh }) => !is_fresh);
      const fresh = shared.filter(({ is_fresh }) => is_fresh);
      const behind = { ...row, timestamp_ns: row.end_ns ?? row.timestamp_ns };
      steps.push(
        ...freedRows(row, freed),
        ...begunRows(row, shared),
        ...copyRows(row, older),
        row,
        ...copyRows(behind, fresh),
      );
      if (open.isDecode) begins.push(open.row.timestamp_ns);
      if (begins.length > PERIODS + 1) begins.shift();
    }
    open = null;
  }

  function stepRow({ timestamp_ns, tid }: Pick<RawRecord, "timestamp_ns" | "tid">, kind: WordOf<"step", "kind">) {
    const { engine: _, ...none } = nullsOf("step");
    return { ...none, timestamp_ns, pid, tid, kind };
  }

  function prepare(record: RawRecord): Outcome {
    // A model with several kinds of layers prepares each of them in turn.
    const isAgain = open !== null && !open.isCalled;
    preparations = isAgain ? preparations + 1 : 1;
    close();
    closed = null;
    open = {
      row: stepRow(record, "decode"),
      shared: [],
      freed: [],
      calls: 0,
      returns: 0,
      isCalled: false,
      isDecode: false,
    };
    return "kept";
  }

  /** What the objects of its model runner say of all of its steps, once that is known: a row each. */
  function learnModel(read: ReadMemory): void {
    const found = isLearned ? null : finder.found();
    if (found !== null) {
      isLearned = true;
      const python = pythonObjects(read, found.layout, classes);
      caches.learn(cacheLayers(read, python, found.runner));
      const kv_caches = cacheKinds(python, found.runner) ?? 0;
      const row = stepRow({ timestamp_ns: monotonicNs(), tid: pid }, "engine");
      // Those too whose layers are called by no function that is probed, as those that keep a state.
      if (kv_caches > 1) steps.push({ ...row, detail: JSON.stringify({ settings: { kv_caches } }) });
      isGuessing = guessesTokens(python, found.runner);
      if (isGuessing) steps.push({ ...row, detail: JSON.stringify({ mixes_tokens: true }) });
      if (isFurtherWorker(python, found.runner))
        steps.push({ ...row, detail: JSON.stringify({ repeats_steps: true }) });
    } else if (!isLearned && (finder.untold() !== null || caches.isImpatient())) caches.learn(null);
  }

  /** A sequence that begins with rows of others has nothing else. */
  function begunRows(step: EngineRow<"step">, shared: readonly SharedRows[]): EngineRow<"step">[] {
    return [...new Set(shared.map(({ sequence }) => sequence))].map((sequence_id) => {
      const detail = JSON.stringify({ position_from: 0, position_to: -1 });
      return { ...stepRow(step, "kv_trim"), sequence_id, detail };
    });
  }

  /** Full blocks apart, as they could be found again by their prefix. */
  function freedRows(step: EngineRow<"step">, freed: StepRows["freed"]): EngineRow<"step">[] {
    return [true, false].flatMap((full_blocks) => {
      const kv_cells = freed.filter(({ is_full }) => is_full === full_blocks).map(({ cells }) => cells);
      const detail = JSON.stringify({ kv_cells, full_blocks });
      return kv_cells.length === 0 ? [] : [{ ...stepRow(step, "kv_free"), detail }];
    });
  }

  function copyRows(step: EngineRow<"step">, shared: readonly SharedRows[]): EngineRow<"step">[] {
    return shared.map(({ sequence: sequence_id, is_fresh: _, ...from }) => {
      return { ...stepRow(step, "kv_copy"), sequence_id, detail: JSON.stringify(from) };
    });
  }

  /** Blocks of two pools that are used in turn have the same numbers: of none of them is known whose rows they have. */
  function usePool(addr: bigint, call: Pick<RawRecord, "timestamp_ns" | "tid">): void {
    if (pools.at(-1) === addr) return;
    if (pools.includes(addr) && !takeTurns) {
      takeTurns = true;
      steps.push({ ...stepRow(call, "engine"), detail: JSON.stringify({ settings: { kv_caches: 2 } }) });
    }
    pools.push(addr);
    if (pools.length > POOLS) pools.shift();
  }

  /** What the first layer of a step says of all of it. */
  function tell(step: OpenStep, record: RawRecord, cache: LayerCache): boolean {
    const found = stepBlocks(record.payload, cache);
    if (found === null) return false;
    if (rows?.blockTokens !== cache.block_tokens) {
      rows = { blockTokens: cache.block_tokens, of: requestRows(cache.block_tokens) };
      const settings = { kv_caches: preparations, block_tokens: cache.block_tokens, blocks: cache.blocks };
      steps.push({ ...stepRow(record, "engine"), detail: JSON.stringify({ settings }) });
    }
    usePool(cache.storage.addr, record);
    const { tokens: n_tokens, requests: n_sequences, listed } = found;
    step.isDecode = n_tokens === n_sequences;
    step.row = { ...step.row, n_tokens, n_sequences };
    if (listed === null) return true;
    const { kv_rows, kv_row_cells, shared, freed, prompts: begun } = rows.of.rowsOf(listed);
    // The last part of a prompt that was computed in parts may have one token.
    const ending = kv_rows.filter(
      ([sequence, position, count]) => count === 1 && owners.isAtPrompt(sequence, position),
    );
    const prompts = [...new Set([...begun, ...ending.map(([sequence]) => sequence)])];
    step.isDecode &&= prompts.length === 0;
    const detail = { kv_rows, kv_row_cells, ...(prompts.length > 0 ? { prompt_sequences: prompts } : {}) };
    const sequences = kv_rows.map(([sequence]) => sequence);
    if (finder.untold() === null) owners.note(step.row.timestamp_ns, sequences, listed);
    isNew = true;
    const [first = null] = kv_rows.length === 1 ? kv_rows : [];
    const [sequence_id, position_first] = first ?? [null, null];
    step.shared = shared;
    step.freed = freed;
    step.row = { ...step.row, sequence_id, position_first, detail: JSON.stringify(detail) };
    return true;
  }

  /** A step that only encodes keeps no rows: the memory for its keys and values is given back behind it. */
  function encode(step: OpenStep, record: RawRecord, cache: LayerCache): Outcome {
    const found = stepBlocks(record.payload, cache);
    if (found === null) return "implausible";
    step.row = { ...step.row, kind: "encode", n_tokens: found.tokens, n_sequences: found.requests };
    return "kept";
  }

  function attend(record: RawRecord): Outcome {
    if (open === null || open.row.tid !== record.tid) {
      if (open === null && record.isReturn && closed?.tid === record.tid) {
        // It had more layers than any before it.
        closed.returns += 1;
        countLayers(closed.returns);
      }
      return "under_way";
    }
    if (record.isReturn) {
      open.row = { ...open.row, end_ns: record.timestamp_ns, result: 0n };
      open.returns += 1;
      if (layerCount > 0 && open.returns === layerCount) close();
      return "kept";
    }
    open.isCalled = true;
    weights.awake();
    if (record.unreadable !== 0) return "unreadable";
    const cache = layerCache(record.payload);
    const [first] = cache?.places ?? [];
    if (cache === null || first === undefined) return "implausible";
    open.calls += 1;
    if (hasBlocks(record.payload) && fillsCache(record.payload, cache)) return encode(open, record, cache);
    // Every call returns, also those that are passed over.
    if (caches.meet(cache, open.returns, preparations, record)) {
      // Another cache: those of the layers behind this one are to be told again.
      alike = 0;
      isSecond ||= open.returns === 0 && layerCount > 0;
    }
    if (open.row.n_tokens !== null || !hasBlocks(record.payload)) return "kept";
    return tell(open, record, cache) ? "kept" : "implausible";
  }

  /** Reads the requests that the engine has, where that may tell whose a sequence is. */
  function nameSequences(read: ReadMemory): void {
    const asks = owners.asks();
    if (!isNew || asks === null || monotonicNs() < lookedNs + (asks === "names" ? NAMING_NS : ENDING_NS)) return;
    const found = finder.find(read);
    if (found === null) return;
    const states = requestStates(read, found, classes);
    if (states === null) {
      owners.take(null, monotonicNs());
      lookedNs = monotonicNs();
      return;
    }
    isNew = false;
    if (keepsPrefixes === null) {
      keepsPrefixes = states.keepsPrefixes();
      const settings = { prefix_caching: keepsPrefixes };
      const row = stepRow({ timestamp_ns: monotonicNs(), tid: pid }, "engine");
      if (keepsPrefixes !== null) steps.push({ ...row, detail: JSON.stringify({ settings }) });
    }
    owners.take(states, monotonicNs());
    lookedNs = monotonicNs();
  }

  function tellOwners(): void {
    for (const { sequence: sequence_id, ...owner } of owners.told()) {
      const row = stepRow({ timestamp_ns: monotonicNs(), tid: pid }, "request");
      steps.push({ ...row, sequence_id, detail: JSON.stringify(owner) });
    }
  }

  return {
    useBuild: () => {},
    look(readMemory) {
      const read = pagedReads(readMemory);
      // First what goes by.
      nameSequences(read);
      const look = weights.look(read);
      learnModel(read);
      return look === null ? [] : [look];
    },
    isSettled: () => false,
    isRepeating: () => layerCount > 1 && alike >= ALIKE,
    take(record) {
      if (record.probe === PROBE.prepare) return prepare(record);
      return record.probe === PROBE.attention ? attend(record) : "implausible";
    },
    flush() {
      close();
      caches.flush();
    },
    takeRows() {
      tellOwners();
      const ofWeights = weights.takeRows();
      const taken = { tensors: [...caches.takeRows(), ...ofWeights.tensors], steps: [...steps, ...ofWeights.steps] };
      steps = [];
      return taken;
    },
    tokenPeriodsNs: () => periodsBetween(begins),
    kvHeads: () => [],
    liveTensors: () => [...caches.live(), ...weights.live()],
    untold() {
      const why = finder.untold() ?? (owners.isHopeless() ? OTHER_BLOCKS : null);
      const unread = `${formatCounted(owners.unnamed, "sequence")} ended before the requests of the engine were read`;
      const reason = why ?? (owners.unnamed > 0 ? unread : null);
      return [
        ...(reason === null || rows === null ? [] : [`whose request a sequence is, is not identifiable: ${reason}`]),
        ...(isSecond ? [OTHER_MODEL] : []),
        ...(isGuessing ? [GUESSES] : []),
      ];
    },
  };
}
