/** The eBPF collector: mappings, faults, the engine's tensors and steps, and watches, on one clock. */
import { existsSync } from "node:fs";
import type { Batch } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { EngineSession, LiveTensor } from "../../engine/engine.ts";
import { createEngineSession } from "../../engine/llama-cpp/session.ts";
import { MrmTraceError } from "../../errors.ts";
import { type BpfCost, type CostSampler, sampleBpfCosts } from "../../kernel/bpf-costs.ts";
import { openBpfObject } from "../../kernel/bpf-object.ts";
import { monotonicNs } from "../../kernel/libc.ts";
import { readRemote } from "../../kernel/remote-memory.ts";
import { createProcessMaps, type ProcessMaps } from "../../regions/mapping-events.ts";
import type { MappingEvent } from "../../regions/mapping-row.ts";
import type { LedgerRow } from "../../schema/ledger.ts";
import type { Capability, Collector, Target } from "../collector.ts";
import { type AccessSources, createAccessSources, sourceFacts } from "./access-sources.ts";
import type { ClockSource } from "./clock/clock.ts";
import { type ClockSummary, clockWarnings } from "./clock/clock-summary.ts";
import { type EbpfParts, ebpfParts, sightLeft, sourcesLeft } from "./ebpf-parts.ts";
import { createEngineObjects, type EngineObjects } from "./engine/engine-objects.ts";
import { type FaultSource, openFaults } from "./faults/faults.ts";
import { goneRanges } from "./lifecycle/gone-ranges.ts";
import { type LifecycleSource, openLifecycle } from "./lifecycle/lifecycle.ts";
import { offerMapped, treeAffinityCpus, watchTree } from "./lifecycle/running-tree.ts";
import type { SourceFacts } from "./samples/choose-sources.ts";
import { splitByHeat } from "./samples/heat.ts";
import type { SampleSummary } from "./samples/sample-summary.ts";
import { ASSUMED_SAMPLE_NS, type SampleReader } from "./samples/samples.ts";
import { withSkippedRuns } from "./skipped-runs.ts";
import { rowsAhead } from "./watch/ahead.ts";
import type { DrawRegion } from "./watch/draw.ts";
import { drawRegions } from "./watch/draw-regions.ts";
import { startWatch, type WatchSource, type WatchSummary } from "./watch/watch.ts";

/** How long a list of regions to draw from stays good while nothing in the map changed. */
const REGIONS_MAX_AGE_NS = 1_000_000_000n;
const REGIONS_MIN_AGE_NS = 100_000_000n;
const PROT_EXEC = 4;
/** An engine's library is probed, and a finished watch gets its next address, when they are seen: 10 ms later on average. */
const ATTENTIVE_MS = 20;

export interface EbpfOptions {
  readonly budgetPct: number;
  /** Debug registers to use on each CPU; 0 watches nothing. */
  readonly watchRegisters: number;
  /** Names of --source: auto, watch, pebs, ibs, clock. */
  readonly sources: readonly string[];
  /** Samples of the timer per second and CPU. */
  readonly clockHz: number;
  readonly seed: number;
  /** Shared objects of an engine that are known before the target starts: probed at once, so nothing is missed. */
  readonly engineObjects: readonly string[];
  /** Names of --ebpf: what is recorded beside mappings; everything unless told. */
  readonly parts?: readonly string[];
}

/** What the collector knows while it runs, for progress and for the report. */
export interface EbpfState {
  readonly pids: readonly number[];
  /** True when every process of the tree has ended. */
  readonly treeEnded: boolean;
  /** Calibrated cost of one hit of an engine probe in ns. */
  readonly probeCostNs: number | null;
}

export interface EbpfCollector extends Collector {
  state(): EbpfState;
  /** Run time and skipped runs of every BPF program; empty before `stop`. */
  bpfCosts(): readonly BpfCost[];
  /** What watching cost and how well it knew reads from writes; null when nothing was watched. */
  watchSummary(): WatchSummary | null;
  /** What sampling did and could not see; null where no PMU sampled. */
  sampleSummary(): SampleSummary | null;
  /** What the timer did; null where none was asked for. */
  clockSummary(): ClockSummary | null;
}

/** @param facts what decides on sources of accesses; this machine unless told */
export function createEbpfCollector(options: EbpfOptions, facts: SourceFacts = sourceFacts()): EbpfCollector {
  const owned = new DisposableStack();
  const recorded = ebpfParts(options.parts);
  const sources = createAccessSources({ ...options, sources: sourcesLeft(recorded, options.sources) }, facts);
  let parts: Parts | null = null;
  let summary: WatchSummary | null = null;
  let sampled: SampleSummary | null = null;
  let timed: ClockSummary | null = null;
  let final: EbpfState | null = null;
  let costs: readonly BpfCost[] = [];
  return {
    name: "ebpf",
    canRun: async () => sightLeft(recorded, canRunHere(sources)),
    async start(target) {
      try {
        parts = await startParts(owned, target, { ...options, recorded }, sources);
      } catch (error) {
        owned.dispose();
        throw error;
      }
    },
    batches: () => (parts === null ? [] : poll(parts)),
    patienceMs: () => (recorded.engine || parts?.watch || parts?.samples || parts?.clock ? ATTENTIVE_MS : Infinity),
    async stop() {
      if (parts === null) return { batches: [], ledger: [] };
      costs = parts.costs.costs(monotonicNs());
      const result = stopParts(parts, costs);
      summary = result.summary;
      timed = result.timed;
      sampled = parts.samples?.summary() ?? null;
      // The programs and their maps are gone after this: what they knew is kept.
      final = stateOf(parts);
      parts = null;
      owned.dispose();
      return result;
    },
    state: () => final ?? stateOf(parts),
    bpfCosts: () => costs,
    watchSummary: () => summary,
    sampleSummary: () => sampled,
    clockSummary: () => timed,
    warnings: () => (timed === null ? [] : clockWarnings(timed)),
    costs: () => [
      ...(sampled === null ? [] : [{ what: "samples", count: sampled.samples, each_ns: ASSUMED_SAMPLE_NS }]),
      ...(timed === null ? [] : [{ what: "timer", count: timed.samples - timed.foreign, each_ns: timed.cost }]),
    ],
  };
}

function canRunHere(sources: AccessSources): Capability {
  if (process.getuid?.() !== 0) {
    return { ok: false, reason: `eBPF needs root, and this is uid ${process.getuid?.()}`, hint: "run it with sudo" };
  }
  if (!existsSync("/sys/kernel/btf/vmlinux")) {
    return {
      ok: false,
      reason: "the kernel has no BTF: /sys/kernel/btf/vmlinux is missing",
      hint: "boot a kernel with CONFIG_DEBUG_INFO_BTF=y (every current distribution kernel has it)",
    };
  }
  return sources.capability();
}

interface Parts {
  readonly lifecycle: LifecycleSource;
  readonly faults: FaultSource | null;
  readonly session: EngineSession;
  /** Null where the engine is left alone. */
  readonly objects: EngineObjects | null;
  readonly clock: ClockSource | null;
  readonly watch: WatchSource | null;
  readonly samples: SampleReader | null;
  readonly costs: CostSampler;
  readonly maps: ProcessMaps;
  readonly pids: Set<number>;
  readonly ended: Set<number>;
  /** Set when the map changed since the regions were listed. */
  stale: boolean;
  readonly cache: CacheTensors;
}

/** The live tensors of the KV caches, listed anew only when the engine placed or freed something. */
interface CacheTensors {
  list(): readonly LiveTensor[];
  forget(): void;
}

function cacheTensors(session: EngineSession): CacheTensors {
  let known: readonly LiveTensor[] | null = null;
  return {
    list() {
      known ??= session.liveTensors().filter((tensor) => tensor.region_type === "kv_cache");
      return known;
    },
    forget() {
      known = null;
    },
  };
}

async function startParts(
  owned: DisposableStack,
  target: Target,
  { recorded, ...options }: EbpfOptions & { readonly recorded: EbpfParts },
  sources: AccessSources,
): Promise<Parts> {
  const lifecycle = owned.use(await openLifecycle(target.held ? target.pid : null));
  const faults = recorded.faults ? owned.use(await openFaults(lifecycle.targetsFd)) : null;
  const session = await createEngineSession({
    targetsFd: lifecycle.targetsFd,
    openObject: openBpfObject,
    readMemory: readRemote,
  });
  owned.defer(() => {
    session.stop();
  });
  const objects = recorded.engine ? createEngineObjects(session) : null;
  const maps = createProcessMaps({});
  const engineObjects = recorded.engine ? options.engineObjects : [];
  for (const path of engineObjects) await session.attachObject(path, target.pid);
  if (!target.held) await offerMapped(objects, target.pid);
  const live = regionList(maps, session);
  const cache = cacheTensors(session);
  const { clock, samples, watch } = await sources.start(owned, lifecycle.targetsFd, (budgetPct, directing) =>
    startWatch({
      regions: () => live.list(directing),
      tokenPeriodNs: () => session.tokenPeriodNs(),
      rowsAhead: () => rowsAhead(session.kvHead(), cache.list()),
      budgetPct,
      registers: options.watchRegisters,
      seed: options.seed,
      affinityCpus: treeAffinityCpus(target.pid),
      named: { pid: target.pid, words: recorded.words },
    }),
  );
  const pids = watchTree(target.pid, lifecycle);
  if (!pids.includes(target.pid)) {
    throw new MrmTraceError("target", "the target ended before it was traced", "start it again; something ended it");
  }
  const parts: Parts = {
    lifecycle,
    faults,
    session,
    objects,
    clock,
    watch,
    samples,
    costs: owned.use(sampleBpfCosts(monotonicNs())),
    maps,
    pids: new Set(pids),
    ended: new Set(),
    stale: true,
    cache,
  };
  live.bind(parts);
  return parts;
}

/** The list of regions to draw from, made anew when the map changed, but not at every change. */
function regionList(maps: ProcessMaps, session: EngineSession) {
  let regions: readonly DrawRegion[] = [];
  let made_ns = 0n;
  let parts: Parts | null = null;
  return {
    bind(of: Parts) {
      parts = of;
    },
    list(samples: SampleReader | null): readonly DrawRegion[] {
      const age = monotonicNs() - made_ns;
      if (age > REGIONS_MAX_AGE_NS || (parts?.stale === true && age > REGIONS_MIN_AGE_NS)) {
        const drawn = drawRegions(maps, session);
        regions = samples === null ? drawn : splitByHeat(drawn, samples.heat);
        made_ns = monotonicNs();
        if (parts) parts.stale = false;
      }
      return regions;
    },
  };
}

function applyRow(parts: Parts, row: MappingEvent): void {
  parts.maps.apply(row);
  if (row.kind !== "madvise") parts.stale = true;
  if (row.kind === "fork" && row.child_pid !== null) {
    parts.pids.add(row.child_pid);
    parts.ended.delete(row.child_pid);
  }
  if (row.kind === "exit") parts.ended.add(row.pid);
  if (parts.clock !== null) tellClock(parts.clock, row);
  if (row.kind === "exit" || row.kind === "exec") {
    parts.session.forget(row.pid);
    parts.cache.forget();
    parts.watch?.onExit(row.pid, row.timestamp_ns);
  } else if (parts.watch !== null) {
    for (const { addr, size_bytes } of goneRanges(row)) {
      parts.watch.onUnmap(row.pid, addr, size_bytes, row.timestamp_ns);
    }
  }
}

/** Whose code is where, as far as the timer's samples need it. */
function tellClock(clock: ClockSource, row: MappingEvent): void {
  const executable = row.prot !== null && (row.prot & PROT_EXEC) !== 0;
  if (row.kind === "fork" && row.child_pid !== null) clock.onFork(row.child_pid, row.pid);
  else if (row.kind === "exec") clock.onExec(row.pid, row.timestamp_ns);
  else if (row.kind === "exit") clock.onExit(row.pid);
  else if (executable && row.kind !== "snapshot") clock.onCode(row.pid);
}

function poll(parts: Parts): Batch[] {
  parts.costs.poll(monotonicNs());
  const rows = parts.lifecycle.drain();
  for (const row of rows) applyRow(parts, row);
  for (const pid of parts.maps.pidsNeedingSnapshot()) parts.lifecycle.requestSnapshot(pid);
  const out: Batch[] = [];
  if (rows.length > 0) {
    void parts.objects?.offer(rows);
    out.push(batchFromRows("mapping", rows));
  }
  out.push(...(parts.faults?.drain() ?? []));
  const engine = parts.session.drain();
  if (engine.some((batch) => batch.table === "tensor")) {
    parts.stale = true;
    parts.cache.forget();
  }
  out.push(...engine);
  if (parts.samples !== null) {
    parts.samples.poll(monotonicNs());
    out.push(...parts.samples.drain());
  }
  if (parts.clock !== null) {
    parts.clock.poll(monotonicNs());
    out.push(...parts.clock.batches());
  }
  if (parts.watch !== null) {
    parts.watch.poll(monotonicNs());
    out.push(...parts.watch.batches());
  }
  return out;
}

function stopParts(
  parts: Parts,
  costs: readonly BpfCost[],
): { batches: Batch[]; ledger: LedgerRow[]; summary: WatchSummary | null; timed: ClockSummary | null } {
  parts.objects?.close();
  const watched = parts.watch?.stop() ?? null;
  parts.lifecycle.leave();
  parts.samples?.detach();
  parts.faults?.detach();
  parts.lifecycle.detach();
  const engine = parts.session.stop();
  const polled = poll({ ...parts, watch: null });
  // After the last mappings, which say whose code is where.
  const timed = parts.clock?.stop() ?? null;
  const batches = [...polled, ...(timed?.batches ?? []), ...engine.batches, ...(watched?.batches ?? [])];
  return {
    batches,
    ledger: withSkippedRuns(costs, parts.samples?.summary().source ?? null, [
      ...parts.lifecycle.ledger(),
      ...(parts.faults?.ledger() ?? []),
      ...engine.ledger,
      ...(parts.samples?.ledger() ?? []),
      ...(timed?.ledger ?? []),
      ...(watched?.ledger ?? []),
    ]),
    summary: watched?.summary ?? null,
    timed: timed?.summary ?? null,
  };
}

function stateOf(parts: Parts | null): EbpfState {
  if (parts === null) {
    return {
      pids: [],
      treeEnded: false,
      probeCostNs: null,
    };
  }
  const pids = [...parts.pids];
  return {
    pids,
    treeEnded: pids.every((pid) => parts.ended.has(pid)),
    probeCostNs: parts.session.probeCostNs,
  };
}
