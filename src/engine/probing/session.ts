/** The probes of one run on every engine that is recognised: attach to objects as they are mapped, drain rows, account. */

import type { Batch } from "../../columnar/batch.ts";
import { GATHER_NS, GATHER_ROWS } from "../../columnar/gather.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import { u32Bytes } from "../../kernel/bpf-map.ts";
import type { BpfObject, LoadOptions } from "../../kernel/bpf-object.ts";
import { stableBytes } from "../../kernel/foreign-memory.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { openRingBuffer } from "../../kernel/ringbuf.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import { recordLayout } from "../../schema/records.ts";
import type { RowOf } from "../../schema/row.ts";
import type { AddressOf, Engine, KvHead, LiveTensor, NameAt, ObjectAt } from "../engine.ts";
import { type AttachTimes, attachSteps } from "./attach-steps.ts";
import { captureTable } from "./capture-table.ts";
import { coveredEngines } from "./covered-engines.ts";
import { earlyRecords, type Found } from "./early-records.ts";
import { type FollowedProcesses, followedProcesses, type ReadProcess } from "./followed-processes.ts";
import { type EngineFile, type LinkMany, objectProbes, openEngineObject } from "./object-probes.ts";
import { meanHitNs, measureProbeCost } from "./probe-cost.ts";
import { decodeRecord } from "./raw-record.ts";
import { type KernelCounts, recordAccount } from "./record-account.ts";
import { medianPeriod } from "./step-periods.ts";
import { type UnseenBegin, unseenBegin } from "./unseen-begin.ts";

export interface EngineSessionOptions {
  /** The map of watched processes; the caller keeps it. */
  readonly targetsFd: number;
  readonly openObject: (name: string, options: LoadOptions) => Promise<BpfObject>;
  readonly readMemory: ReadProcess;
  readonly engines: readonly Engine[];
  /** Nothing is named unless told. */
  readonly nameAt?: NameAt;
  /** No symbol lies anywhere unless told. */
  readonly addressOf?: AddressOf;
  readonly objectAt?: ObjectAt;
  /** How the probes of a file are put into it, where the kernel knows links of many; a measurement takes them away and puts them back. */
  readonly linkMany?: LinkMany;
}

/** What attaching to one object gave. */
export interface AttachResult {
  /** False where the object is no part of an engine, or was attached before. */
  readonly attached: boolean;
  readonly symbols: readonly string[];
  /** Time for reading the symbols and attaching, in ns. */
  readonly took_ns: bigint;
}

/** Names of engines, by what they told so far. */
export interface SeenOfEngines {
  /** A call which decodes. */
  readonly decoding: ReadonlySet<string>;
  /** Names of weights. */
  readonly naming: ReadonlySet<string>;
  /** Where a KV cache is. */
  readonly caching: ReadonlySet<string>;
}

/** The probes of one run, attached and live. */
export interface EngineSession extends SeenOfEngines {
  /**
   * Probes an object for each engine that it belongs to; once per file, once recorded per process.
   * @param path the mapped object, as its process names it
   * @param pid who mapped it
   * @param mappedNs when it was mapped, or seen to be: the gap until the probes is recorded
   * @param openPath where this process can open it, `path` unless told; null where no way leads to it any more
   * @param sawMapping true where its process was seen to map it: what went by since is missing
   */
  attachObject(
    path: string,
    pid: number,
    mappedNs?: bigint,
    openPath?: string | null,
    sawMapping?: boolean,
  ): Promise<AttachResult>;
  /** Rows of `tensor` and `step` since the last call; never blocks. */
  drain(): Batch[];
  /** What became of records so far. */
  account(): LedgerRow[];
  /** Nothing will be seen soon: looks at once at what is looked at now and then. */
  leave(): void;
  /** Detaches; the last rows, and what was lost. Called when nothing is seen any more. */
  stop(): { readonly batches: Batch[]; readonly ledger: LedgerRow[] };
  /** True where an engine was found in a process that is not gone. */
  isIn(pid: number): boolean;
  /** Lets go of a process that is gone; its rows come with the next drain. */
  forget(pid: number): void;
  /** What the engines could not tell so far, and why. */
  untold(): readonly string[];
  /**
   * How often probes were hit, in how many of these the processor stepped over what the probe replaced, and what a hit costs on the mean by
   * what it does on functions of our own, in ns; null where that could not be measured.
   */
  hitCost(): { readonly hits: number; readonly stepped: number; readonly mean_ns: number | null };
  /** Median time from one decode to the next over the last 32; null before the fourth. */
  tokenPeriodNs(): number | null;
  kvHead(): KvHead[];
  liveTensors(): LiveTensor[];
}

function kernelCounts(object: BpfObject): KernelCounts {
  const { offsets, bytes } = recordLayout("engine_counts");
  const value = stableBytes(bytes);
  object.map("engine_counts").lookup(u32Bytes(0), value);
  const view = new DataView(value.buffer);
  const wordAt = (offset: number) => Number(view.getBigUint64(offset, true));
  const { hits, stepped, foreign, unwanted, ring_full } = offsets;
  return {
    hits: wordAt(hits),
    stepped: wordAt(stepped),
    foreign: wordAt(foreign),
    unwanted: wordAt(unwanted),
    ring_full: wordAt(ring_full),
  };
}

function clearCounts(object: BpfObject): void {
  object.map("engine_counts").update(u32Bytes(0), stableBytes(recordLayout("engine_counts").bytes));
}

/** Batches of what the engines tell: tensors at once, for watches are drawn from them; steps of some time together. */
function gatheredRows(engines: readonly FollowedProcesses[], unseen: UnseenBegin) {
  let steps: RowOf<"step">[] = [];
  let gatheredNs = 0n;
  const [decoding, naming, caching] = [new Set<string>(), new Set<string>(), new Set<string>()];
  return {
    decoding,
    naming,
    caching,
    addSteps(engine: Engine, rows: ReturnType<typeof attachSteps>): void {
      if (rows.some(({ kind }) => kind === "decode" || kind === "encode")) decoding.add(engine.name);
      unseen.take(engine.name, rows);
      steps.push(...rows.map((row) => ({ ...row, engine: engine.name })));
    },
    take(all: boolean): Batch[] {
      const tensors: RowOf<"tensor">[] = [];
      for (const { engine, takeRows } of engines) {
        const rows = takeRows();
        if (rows.tensors.some(({ region_type }) => region_type === "kv_cache")) caching.add(engine.name);
        tensors.push(...rows.tensors.map((row) => ({ ...row, engine: engine.name })));
        if (rows.tensors.some(({ region_type, name }) => region_type === "weight" && name !== null))
          naming.add(engine.name);
        this.addSteps(engine, rows.steps);
      }
      const batches: Batch[] = [];
      if (tensors.length > 0) batches.push(batchFromRows("tensor", tensors));
      const now = monotonicNs();
      if (steps.length > 0 && (all || steps.length >= GATHER_ROWS || now >= gatheredNs + GATHER_NS)) {
        batches.push(batchFromRows("step", steps));
        steps = [];
        gatheredNs = now;
      }
      return batches;
    },
  };
}

/**
 * Loads the kernel programs; attaches to nothing yet.
 * @throws MrmTraceError environment, where the kernel refuses them
 */
export async function createEngineSession(options: EngineSessionOptions): Promise<EngineSession> {
  const owned = new DisposableStack();
  const { object, multi } = await openEngineObject(options.openObject, { targets: options.targetsFd });
  owned.use(object);
  const ring = owned.use(openRingBuffer(object.map("engine_ring")));
  const cost = measureProbeCost(object, "engine_entry", multi);
  // What was just measured made hits of its own, which are nobody's.
  clearCounts(object);
  const { engines, nameAt = () => null, addressOf = () => null, objectAt = () => null } = options;
  const captures = captureTable(object.map("engine_captures"));
  const probes = objectProbes({
    object,
    multi,
    engines,
    captures,
    ...(options.linkMany && { linkMany: options.linkMany }),
  });
  const followed = engines.map((engine) => followedProcesses(engine, nameAt, addressOf, objectAt));
  const states = () => followed.flatMap((engine) => engine.states());
  const unseen = unseenBegin();
  const rows = gatheredRows(followed, unseen);
  const account = recordAccount();
  const covered = coveredEngines();
  const early = earlyRecords(({ engine, record }) => followed[engine]?.isKnown(record) ?? true);
  /** Files by engine and process that were recorded. */
  const recorded = new Set<string>();
  /** The processes of an engine that map such a file. */
  const mapping = new Map<Engine, Set<number>>();
  let stopped: { readonly batches: Batch[]; readonly ledger: LedgerRow[] } | null = null;
  let lastCounts: KernelCounts | null = null;

  function takeRecord({ engine: number, record }: Found): void {
    const engine = followed[number];
    if (engine === undefined) account.count("malformed");
    else if (covered.has(record.pid, engine.engine.name)) account.count("duplicate");
    else account.count(engine.take(record), engine.engine.tellsPlaces?.(record.probe));
  }

  /**
   * All records up to now, of which none is left of a process that is gone, unless another CPU is still at one.
   * @param isLast takes what waits too
   */
  function takeRecords(isLast = false): void {
    if (isLast) for (const found of early.take(true)) takeRecord(found);
    ring.drain((view, offset, length) => {
      const found = decodeRecord(view, offset, length, captures.captures);
      if (found === null) account.count("malformed");
      else if (isLast || !early.keep(found)) takeRecord(found);
    });
    if (!ring.pending() && early.isEmpty()) covered.letGo();
  }

  function recount(): void {
    for (const engine of followed) account.recountUnderWay(engine.takeUnderWay());
  }

  /** True where each process that maps an engine has another one that is built on it. */
  function isCovered(engine: Engine): boolean {
    const pids = mapping.get(engine) ?? new Set();
    for (const pid of pids) if (!covered.has(pid, engine.name)) return false;
    return pids.size > 0;
  }

  /** False where it was recorded before. */
  function recordAttach(file: EngineFile, pid: number, times: AttachTimes): boolean {
    const key = `${pid}/${file.engine.name}/${file.identity}`;
    if (recorded.has(key)) return false;
    recorded.add(key);
    mapping.set(file.engine, (mapping.get(file.engine) ?? new Set()).add(pid));
    followed.find(({ engine }) => engine === file.engine)?.mapped(pid, file.build);
    // A process of the same number went before it, or ran another program.
    if (covered.isLeaving(pid)) takeRecords();
    covered.cover(pid, file.engine.builtOn ?? []);
    rows.addSteps(file.engine, attachSteps(file, pid, times));
    return true;
  }

  function tellGaps(files: readonly EngineFile[], pid: number, mappedNs: bigint): void {
    for (const { engine, symbols, attachedNs } of files) {
      if (engine.beforeSteps === undefined || !symbols.includes(engine.beforeSteps)) continue;
      unseen.tellGap(engine.name, pid, Math.max(0, Number(attachedNs - mappedNs)));
    }
  }

  const counts = (): KernelCounts => lastCounts ?? kernelCounts(object);
  const ledger = (): LedgerRow[] => [
    ...account.ledger(counts(), probes.counts, lastCounts !== null),
    ...unseen.ledger(),
  ];

  function look(isLast: boolean): void {
    for (const found of early.take()) takeRecord(found);
    takeRecords(isLast);
    for (const engine of followed) {
      engine.retireForgotten();
      for (const { process, look: found } of engine.look(options.readMemory, isLast)) account.countLook(process, found);
    }
    recount();
  }

  return {
    async attachObject(path, pid, mappedNs, openPath = path, sawMapping = false) {
      const began = monotonicNs();
      const files = probes.attach(path, openPath);
      const ended = monotonicNs();
      const fresh = files.filter((file) => recordAttach(file, pid, { mappedNs, began, ended }));
      if (sawMapping && mappedNs !== undefined) tellGaps(fresh, pid, mappedNs);
      return { attached: fresh.length > 0, symbols: files.flatMap(({ symbols }) => symbols), took_ns: ended - began };
    },
    drain() {
      if (stopped) return [];
      look(false);
      const now = monotonicNs();
      for (const engine of followed) {
        const running = engine.states();
        const isAwaited = running.length === 0 && !isCovered(engine.engine);
        const repeats = running.length > 0 && running.every((state) => state.isRepeating?.() ?? false);
        captures.setFirstOnly(engines.indexOf(engine.engine), repeats);
        probes.setWanted(engine.engine, "rests", isAwaited || !running.every((state) => state.isSettled()));
        const areCalled = running.every((state) => state.hasCalled?.() ?? false);
        probes.setWanted(engine.engine, "graphSteps", isAwaited || !areCalled);
        probes.setWanted(
          engine.engine,
          "onRequest",
          running.some((state) => state.isAsking?.(now)),
        );
      }
      return rows.take(false);
    },
    leave() {
      if (!stopped) look(true);
    },
    account: () => stopped?.ledger ?? ledger(),
    stop() {
      if (stopped) return stopped;
      // Before the probes are taken away, which takes time.
      takeRecords(true);
      for (const engine of followed) {
        engine.retireForgotten();
        engine.leave(options.readMemory);
      }
      probes[Symbol.dispose]();
      takeRecords(true);
      for (const engine of followed) engine.flush();
      recount();
      lastCounts = kernelCounts(object);
      stopped = { batches: rows.take(true), ledger: ledger() };
      owned.dispose();
      return stopped;
    },
    isIn: (pid) => mapping.values().some((pids) => pids.has(pid)),
    forget(pid) {
      for (const engine of followed) engine.forget(pid);
      covered.forget(pid);
      unseen.forget(pid);
      for (const pids of mapping.values()) pids.delete(pid);
      for (const key of recorded) if (key.startsWith(`${pid}/`)) recorded.delete(key);
    },
    decoding: rows.decoding,
    naming: rows.naming,
    caching: rows.caching,
    untold: () => followed.flatMap(({ engine, untold }) => untold().map((why) => `${engine.name}: ${why}`)),
    hitCost() {
      const { hits, stepped } = counts();
      return { hits, stepped, mean_ns: cost === null ? null : meanHitNs(cost, hits, stepped) };
    },
    tokenPeriodNs: () => medianPeriod(states().flatMap((state) => state.tokenPeriodsNs())),
    kvHead: () => states().flatMap((state) => state.kvHeads()),
    liveTensors: () => states().flatMap((state) => state.liveTensors()),
  };
}
