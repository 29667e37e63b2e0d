/** The engine's probes of one run: attach to objects as they are mapped, drain rows, account for every record. */
import type { Batch } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import { u32Bytes } from "../../kernel/bpf-map.ts";
import type { BpfObject, OpenOptions } from "../../kernel/bpf-object.ts";
import { stableBytes } from "../../kernel/foreign-memory.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { openRingBuffer } from "../../kernel/ringbuf.ts";
import type { LedgerRow, Stage } from "../../schema/ledger.ts";
import { recordLayout } from "../../schema/records.ts";
import type { Engine, EngineRow, EngineSession } from "../engine.ts";
import { graphTally } from "./graph-tally.ts";
import { type EngineFile, objectProbes, openEngineObject } from "./object-probes.ts";
import { chooseLayout, type LayoutChoice } from "./offsets.ts";
import type { Outcome } from "./placed-tensors.ts";
import { measureProbeNs } from "./probe-cost.ts";
import { ENGINE_NAME, llamaCpp } from "./probes.ts";
import { type ProcessState, processState } from "./process-state.ts";
import { decodeRecord } from "./raw-record.ts";

export interface EngineSessionOptions {
  /** The map of watched processes; the caller keeps it. */
  readonly targetsFd: number;
  readonly openObject: (name: string, options: OpenOptions) => Promise<BpfObject>;
  /** Copies memory of a process; null where it cannot be read. */
  readonly readMemory: (pid: number, address: bigint, length: number) => Uint8Array | null;
  readonly engine?: Engine;
}

const FILTERED: readonly Outcome[] = ["simulated", "duplicate", "null_handle", "not_in_memory", "under_way"];
const DROPPED: readonly Outcome[] = ["call_unseen", "unreadable", "implausible"];
/** Steps wait this long, or until they are so many, to become a batch: it costs the same for one row as for hundreds. */
const GATHER_NS = 250_000_000n;
const GATHER_ROWS = 1024;
const UNKNOWN_BUILD: LayoutChoice = chooseLayout({ soname: null, buildId: null });

/** Sums of named counts. */
function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

function median(values: number[]): number | null {
  if (values.length < 2) return null;
  values.sort((a, b) => a - b);
  return values[values.length >> 1] ?? null;
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
  const probeCostNs = measureProbeNs(object, "engine_entry", multi);
  const probes = objectProbes(object, multi, options.engine ?? llamaCpp);
  const processes = new Map<number, ProcessState>();
  const layouts = new Map<number, LayoutChoice>();
  const recorded = new Set<string>();
  const outcomes: Record<Outcome | "malformed", number> = {
    kept: 0,
    simulated: 0,
    duplicate: 0,
    null_handle: 0,
    not_in_memory: 0,
    under_way: 0,
    call_unseen: 0,
    unreadable: 0,
    implausible: 0,
    malformed: 0,
  };
  const graphs = graphTally();
  let steps: EngineRow<"step">[] = [];
  let gatheredNs = 0n;
  let stopped: { readonly batches: Batch[]; readonly ledger: LedgerRow[] } | null = null;

  function stateOf(pid: number, execEpoch: number): ProcessState {
    const known = processes.get(pid);
    if (known?.execEpoch === execEpoch) return known;
    if (known) retire(known);
    const choice = layouts.get(pid) ?? UNKNOWN_BUILD;
    const state = processState(pid, execEpoch, choice);
    state.steps.useParams(choice.params);
    processes.set(pid, state);
    return state;
  }

  /** Processes that are gone, whose last records may still be in the ring. */
  const leaving = new Set<ProcessState>();
  const retiredRows: EngineRow<"tensor">[] = [];
  function retire(state: ProcessState): void {
    leaving.delete(state);
    state.steps.flush();
    retiredRows.push(...state.map.takeRows());
    steps.push(...state.steps.takeRows());
    if (processes.get(state.pid) === state) processes.delete(state.pid);
  }

  function recordAttach(
    file: EngineFile,
    pid: number,
    mappedNs: bigint | undefined,
    began: bigint,
    ended: bigint,
  ): void {
    const { path, soname, buildId: build_id, layout, symbols, attached, refused } = file;
    const row = {
      pid,
      tid: pid,
      n_tokens: null,
      n_sequences: null,
      position_first: null,
      sequence_id: null,
      result: null,
    };
    const build = { build: layout.build, layout: layout.ggml.name, layout_evidence: layout.evidence };
    const about = JSON.stringify({ path, soname, build_id, ...build });
    steps.push({ ...row, timestamp_ns: mappedNs ?? began, end_ns: began, kind: "engine", detail: about });
    // A file that was probed before this process mapped it has no gap.
    const gap = mappedNs === undefined ? null : Number(file.attachedNs - mappedNs);
    const gap_ns = gap === null ? null : Math.max(0, gap);
    const detail = JSON.stringify({ path, probes: attached, refused, symbols, gap_ns });
    steps.push({ ...row, timestamp_ns: began, end_ns: ended, kind: "probes", result: BigInt(attached), detail });
  }

  function takeRecords(): void {
    ring.drain((view, offset, length) => {
      const record = decodeRecord(view, offset, length);
      if (record === null) outcomes.malformed += 1;
      else outcomes[stateOf(record.pid, record.execEpoch).take(record)] += 1;
    });
  }

  function readGraphs(): void {
    for (const state of processes.values()) {
      const check = state.readPendingGraph((address, length) => options.readMemory(state.pid, address, length));
      if (check === null) continue;
      graphs.note(`${state.pid}/${state.execEpoch}`, check.graph, check.reading, check.found);
    }
  }

  /** Tensors at once, for watches are drawn from them; steps of some time together unless `all` is asked for. */
  function takeBatches(all: boolean): Batch[] {
    const tensorRows = retiredRows.splice(0);
    for (const state of processes.values()) {
      tensorRows.push(...state.map.takeRows());
      steps.push(...state.steps.takeRows());
    }
    const batches: Batch[] = [];
    const ours = <Row extends object>(row: Row) => ({ ...row, engine: ENGINE_NAME });
    if (tensorRows.length > 0) batches.push(batchFromRows("tensor", tensorRows.map(ours)));
    const now = monotonicNs();
    if (steps.length > 0 && (all || steps.length >= GATHER_ROWS || now >= gatheredNs + GATHER_NS)) {
      batches.push(batchFromRows("step", steps.map(ours)));
      steps = [];
      gatheredNs = now;
    }
    return batches;
  }

  function kernelCounts(): { hits: number; foreign: number; ring_full: number } {
    const { offsets, bytes } = recordLayout("engine_counts");
    const value = stableBytes(bytes);
    object.map("engine_counts").lookup(u32Bytes(0), value);
    const view = new DataView(value.buffer);
    const at = (offset: number) => Number(view.getBigUint64(offset, true));
    return { hits: at(offsets.hits), foreign: at(offsets.foreign), ring_full: at(offsets.ring_full) };
  }

  function ledger(): LedgerRow[] {
    const { hits, foreign, ring_full } = kernelCounts();
    const row = (stage: Stage, kept: number, filtered: number, by: Record<string, number>): LedgerRow => {
      const dropped_by = Object.fromEntries(Object.entries(by).filter(([, n]) => n > 0));
      const dropped = total(dropped_by);
      const seen = kept + filtered + dropped;
      const place = { stream: "engine", source: null, stage, way: null } as const;
      return { ...place, pid: null, seen, kept, filtered, dropped, dropped_by, unseen_estimate: null };
    };
    const sumOf = (names: readonly Outcome[]) => names.reduce((sum, name) => sum + outcomes[name], 0);
    const delivered = total(outcomes);
    const refusals = Object.fromEntries(DROPPED.map((name) => [name, outcomes[name]]));
    const { asked, refused, refusedBy, unreadableObjects } = probes.counts;
    const graph = graphs.counts();
    return [
      row("attach", asked - refused, 0, { ...refusedBy, object_unreadable: unreadableObjects }),
      row("observe", hits - foreign, foreign, {}),
      row("ring", delivered, 0, { ring_full, not_drained: Math.max(0, hits - foreign - ring_full - delivered) }),
      row("decode", outcomes.kept, sumOf(FILTERED), { ...refusals, malformed: outcomes.malformed }),
      {
        ...row("decode", graph.found, graph.known, graph.refused),
        stream: "tensor",
        source: "region_map",
        way: "graph",
      },
    ];
  }

  return {
    async attachObject(path, pid, mappedNs) {
      const began = monotonicNs();
      const file = probes.attach(path);
      const ended = monotonicNs();
      const took_ns = ended - began;
      if (file === null) return { attached: false, symbols: [], took_ns };
      const key = `${pid}/${file.path}`;
      if (recorded.has(key)) return { attached: false, symbols: file.symbols, took_ns };
      recorded.add(key);
      const before = layouts.get(pid);
      layouts.set(pid, { ...file.layout, params: file.layout.params ?? before?.params ?? null });
      processes.get(pid)?.steps.useParams(file.layout.params);
      recordAttach(file, pid, mappedNs, began, ended);
      return { attached: true, symbols: file.symbols, took_ns };
    },
    drain() {
      if (stopped) return [];
      takeRecords();
      for (const state of leaving) retire(state);
      readGraphs();
      return takeBatches(false);
    },
    stop() {
      if (stopped) return stopped;
      probes[Symbol.dispose]();
      takeRecords();
      for (const state of [...processes.values()]) state.steps.flush();
      stopped = { batches: takeBatches(true), ledger: ledger() };
      owned.dispose();
      return stopped;
    },
    forget(pid) {
      const state = processes.get(pid);
      if (state) leaving.add(state);
      layouts.delete(pid);
      for (const key of recorded) if (key.startsWith(`${pid}/`)) recorded.delete(key);
    },
    probeCostNs,
    tokenPeriodNs: () => median([...processes.values()].flatMap(({ steps: log }) => log.tokenPeriodsNs())),
    kvHead: () => [...processes.values()].flatMap(({ steps: log }) => log.kvHeads()),
    liveTensors: () => [...processes.values()].flatMap(({ map }) => map.live()),
  };
}
