/** The `watch` source: every access to a few bytes at a time, drawn at random, at a cost that it keeps by itself. */

import { createCodeMap } from "../../../code/code-bytes.ts";
import { createAccessDecoder } from "../../../code/trap-operation.ts";
import type { Batch } from "../../../columnar/batch.ts";
import { batchFromRows } from "../../../columnar/rows.ts";
import { type BpfObject, openBpfObject } from "../../../kernel/bpf-object.ts";
import { onlineCpus } from "../../../kernel/cpus.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import { openRing } from "../../../kernel/ring.ts";
import { ringLayout } from "../../../schema/c-header.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import type { RowOf } from "../../../schema/row.ts";
import { WATCH } from "../../../schema/shared-numbers.ts";
import { seededDraws } from "../../../statistics/draw-prng.ts";
import { type ActiveWatch, endOf, finishWatch, type WatchEnd } from "./active-watch.ts";
import { armWatch, registersOf } from "./arm.ts";
import { createBudget } from "./budget.ts";
import { calibrate } from "./calibrate.ts";
import { chooseDesign, type Design, isLong } from "./design.ts";
import { createDrawer, type Draw, type DrawRegion, drawWord, frameOf, lineMate } from "./draw.ts";
import { ENOUGH_TRAPS, type NamedWords, namedWatches } from "./named.ts";
import { listTracers, probeRegisters } from "./registers.ts";
import { MAX_GENERATION, openSlots } from "./slots.ts";
import { wholeStratum } from "./stratum.ts";
import { forEachTrap, type Trap } from "./traps.ts";
import { emptyCounts, type WatchSummary } from "./watch-summary.ts";

export type { WatchSummary } from "./watch-summary.ts";

export interface WatchOptions {
  /** Live regions to draw from; the same list object as long as nothing changed. */
  readonly regions: () => readonly DrawRegion[];
  /** Ns per token; null without a token axis. */
  readonly tokenPeriodNs: () => number | null;
  /** Rows just ahead of the token axis, as `rowsAhead` lists them; empty without one. */
  readonly rowsAhead: () => readonly DrawRegion[];
  /** Share of each CPU that watching may cost the target, in percent. */
  readonly budgetPct: number;
  /** Registers to use on each CPU at most. */
  readonly registers: number;
  readonly seed: number;
  /** CPUs on which the target may run; all that are online when it is empty. */
  readonly affinityCpus: readonly number[];
  /** Words to watch in place of drawn ones, outside the budget. */
  readonly named?: NamedWords;
}

const PLACE = { stream: "access", source: "watch", way: null } as const;

export interface WatchSource extends Disposable {
  /** Reads traps, ends watches and arms new ones; call it every 5 ms. `nowNs` is CLOCK_MONOTONIC. */
  poll(nowNs: bigint): void;
  /** Rows of watches that have ended, `access` and `watch`, a quarter of a second at a time; the rest comes with `stop`. */
  batches(): Batch[];
  /** Ends the watches on bytes that were unmapped, from that moment on. */
  onUnmap(pid: number, addr: bigint, sizeBytes: bigint, timeNs: bigint): void;
  /** Ends the watches of a process that exited or began another program. */
  onExit(pid: number, timeNs: bigint): void;
  /** Ends every watch and frees all registers; safe to call twice. */
  stop(): { readonly batches: Batch[]; readonly ledger: LedgerRow[]; readonly summary: WatchSummary };
}

/** Arming takes up to some hundred us on this thread, which has rings to read. */
const ARMINGS_PER_POLL = 4;
/** After registers were missing, how long until they are counted again. */
const PROBE_AGAIN_NS = 1_000_000_000n;
/** Rows wait this long, or until they are so many, to become a batch. */
const GATHER_NS = 250_000_000n;
const GATHER_ROWS = 1024;

/** Loads the program, attached to nothing. @throws MrmTraceError environment */
export function loadWatchObject(): Promise<BpfObject> {
  return openBpfObject("watch", { perCpu: ["trap_ring", "costs"] });
}

/**
 * Loads the program, counts the free registers and measures what traps and retargets cost (about 80 ms).
 * Without a free register it starts all the same and looks again every second.
 * @throws MrmTraceError environment when the program cannot be loaded
 */
export async function startWatch(options: WatchOptions): Promise<WatchSource> {
  using opening = new DisposableStack();
  const object = opening.use(await loadWatchObject());
  const programFd = object.program("watch_trap").fd;
  const slots = opening.use(openSlots(object.map("slots"), object.map("costs")));
  const layout = ringLayout("trap");
  const ring = opening.use(openRing(object.map("trap_ring"), layout));
  const allCpus = onlineCpus();
  const cpus = options.affinityCpus.length > 0 ? options.affinityCpus : allCpus;
  const random = seededDraws(options.seed);
  const drawer = createDrawer(random);
  const code = opening.use(createCodeMap(() => Number(monotonicNs())));
  const decode = createAccessDecoder(code);
  const counts = emptyCounts();
  const active = new Map<number, ActiveWatch>();
  const named = options.named === undefined ? [] : namedWatches(options.named);
  const wanted = named.length === 0 ? options.registers : Math.min(options.registers, named.length);
  const needsPair = new Set<string>();
  const chosenOf = new Map<string, number>();
  const pids = new Set<number>();
  let generation = 0;
  let lastId = 0;
  const nextGeneration = () => {
    generation = (generation % MAX_GENERATION) + 1;
    return generation;
  };
  const free = probeRegisters(cpus, options.registers);
  const calibration = calibrate({ programFd, slots, cpus: allCpus, nextGeneration });
  // The calibration's own rows and traps are none of the target's.
  let readRows = 0;
  const drainTraps = (take: (generation: number, trap: Trap) => void): void =>
    ring.drain((rows) => forEachTrap(rows, layout, take));
  drainTraps(() => {
    readRows += 1;
  });
  for (const cpu of allCpus) slots.takeTraps(cpu);
  const budget = createBudget({ cpus, budgetPct: options.budgetPct, costs: calibration });
  const beginNs = monotonicNs();
  const owned = opening.move();
  let registers = free.count;
  let leastRegisters = free.count;
  let candidates = free.count < options.registers ? listTracers() : [];
  let probeAtNs = beginNs + PROBE_AGAIN_NS;
  let pending: { readonly draw: Draw; readonly from: readonly DrawRegion[] } | null = null;
  let accessRows: RowOf<"access">[] = [];
  let watchRows: RowOf<"watch">[] = [];
  let gatheredNs = beginNs;
  let agreed = 0;
  let compared = 0;
  let stopped: ReturnType<WatchSource["stop"]> | null = null;

  const held = (of: (watch: ActiveWatch) => boolean = () => true) =>
    [...active.values()].filter(of).reduce((sum, watch) => sum + registersOf(watch.spec.mode).length, 0);

  function readTraps(): void {
    drainTraps((of, trap) => {
      readRows += 1;
      const watch = active.get(of);
      if (watch) watch.traps.push(trap);
      else counts.stale_rows += 1;
    });
    for (const cpu of cpus) {
      const { traps, stale, foreign, early, beyond } = slots.takeTraps(cpu);
      budget.chargeTraps(cpu, traps);
      counts.traps += traps;
      counts.stale_traps += stale;
      counts.foreign_traps += foreign;
      counts.early_traps += early;
      counts.beyond_traps += beyond;
    }
  }

  function finish(ending: readonly { watch: ActiveWatch; end: WatchEnd }[]): void {
    if (ending.length === 0) return;
    const disarmed = ending.map((one) => ({ ...one, disarmedNs: one.watch.armed.disarm() }));
    readTraps();
    for (const { watch, end, disarmedNs } of disarmed) {
      active.delete(watch.spec.generation);
      const result = finishWatch(watch, end, disarmedNs, slots.state(watch.spec.slot), decode);
      if (!result.complete) {
        counts.incomplete += 1;
        counts.incomplete_rows += result.rows;
        continue;
      }
      const { seen } = result;
      counts.finished += 1;
      counts.kernel_traps += seen.kernelTraps;
      counts.collapsed_traps += seen.collapsed;
      counts.outside_traps += seen.outside;
      counts.twin_rows += seen.twins;
      counts.unpaired_rows += seen.unpaired;
      counts.undecided_traps += seen.undecided;
      counts.access_rows += seen.accesses.length;
      agreed += seen.agreed;
      compared += seen.compared;
      const { stratum } = watch.draw.region;
      if (seen.undecided > 0) needsPair.add(stratum);
      else if (seen.traps > 0 && watch.spec.mode === "pair") needsPair.delete(stratum);
      accessRows.push(...result.accessRows);
      watchRows.push(result.watchRow);
    }
  }

  /** Arms one register set; false where the registers were gone. */
  function arm(draw: Draw, design: Design): boolean {
    const { pid } = draw.region;
    if (!pids.has(pid)) {
      pids.add(pid);
      code.learn(pid);
    }
    const used = new Set([...active.values()].map((watch) => watch.spec.slot));
    let slot = 0;
    while (used.has(slot)) slot += 1;
    if (slot >= WATCH.slots) return false;
    const { mode, trapLimit } = design;
    const spec = {
      slot,
      generation: nextGeneration(),
      pid,
      addr: draw.addr,
      sizeBytes: draw.sizeBytes,
      mode,
      trapLimit,
    };
    const refreshCount = calibration.countsEveryTrap ? trapLimit : 1;
    const result = armWatch(programFd, slots, { ...spec, refreshCount }, cpus);
    budget.chargeRetargets(registersOf(mode).length);
    if (!result.ok) {
      counts.register_retries += result.retries;
      counts.register_failures += 1;
      return false;
    }
    counts.register_retries += result.watch.retries;
    counts.armings += 1;
    lastId += 1;
    active.set(spec.generation, {
      id: lastId,
      spec: { ...spec, refreshCount },
      armed: result.watch,
      draw,
      design,
      deadlineNs: result.watch.beginNs + BigInt(Math.round(design.dwellLimitNs)),
      traps: [],
      end: null,
    });
    return true;
  }

  /** Notes that registers were gone, and who may have taken them. */
  function missRegisters(nowNs: bigint): void {
    registers = held();
    leastRegisters = Math.min(leastRegisters, registers);
    candidates = listTracers();
    probeAtNs = nowNs + PROBE_AGAIN_NS;
  }

  /** Arms the first named word that is not watched now; false where there is none, or no register for it. */
  function armNamed(nowNs: bigint): boolean {
    const next = named.find(({ draw }) => ![...active.values()].some((watch) => watch.draw === draw));
    if (next === undefined || registers - held() < 1) return false;
    const armed = arm(next.draw, next.design);
    if (!armed) missRegisters(nowNs);
    return armed;
  }

  /** Arms what the budget and the free registers allow; false when nothing more can be done now. */
  function armNext(nowNs: bigint): boolean {
    if (named.length > 0) return armNamed(nowNs);
    const freeRegisters = registers - held();
    if (freeRegisters < 1 || !budget.canSpend()) return false;
    const regions = options.regions();
    if (pending?.from !== regions) pending = null;
    let draw = pending?.draw ?? drawer.draw(regions);
    if (draw === null) return false;
    const ahead = draw.region.region_type === "kv_cache" ? options.rowsAhead() : [];
    const design = chooseDesign(
      {
        armings: chosenOf.get(draw.region.stratum) ?? 0,
        regionType: draw.region.region_type,
        tokenPeriodNs: options.tokenPeriodNs(),
        elapsedNs: Number(nowNs - beginNs),
        registers,
        freeRegisters,
        longRegisters: held((watch) => isLong(watch.design)),
        hasRowsAhead: ahead.length > 0,
        needsPair: needsPair.has(draw.region.stratum),
      },
      random,
    );
    if (design === null) {
      // The draw waits for its registers: another in its place would be a choice by what is running.
      pending = { draw, from: regions };
      return false;
    }
    pending = null;
    const { stratum } = draw.region;
    chosenOf.set(stratum, (chosenOf.get(stratum) ?? 0) + 1);
    if (design.name === "ahead") {
      const frame = frameOf(ahead.filter((region) => region.stratum === wholeStratum(stratum)));
      draw = drawWord(frame, random, draw.drawWeight);
      if (draw === null) return true;
    }
    const drawn = design.name === "cohort" ? [draw, lineMate(draw, random)] : [draw];
    for (const one of drawn) {
      if (one !== null && !arm(one, design)) {
        missRegisters(nowNs);
        return false;
      }
    }
    return true;
  }

  function endWhere(gone: (pid: number, addr: bigint, sizeBytes: number) => boolean, end: WatchEnd): void {
    for (const watch of active.values()) {
      const { pid, addr, sizeBytes } = watch.spec;
      if (watch.end === null && gone(pid, addr, sizeBytes)) watch.end = end;
    }
    if (pending && gone(pending.draw.region.pid, pending.draw.addr, pending.draw.sizeBytes)) pending = null;
  }

  /** Rows of some time together, unless `all` is asked for: a batch costs the same for one row as for hundreds. */
  function takeBatches(all: boolean): Batch[] {
    const taken: Batch[] = [];
    const now = monotonicNs();
    if (!all && accessRows.length < GATHER_ROWS && now < gatheredNs + GATHER_NS) return taken;
    gatheredNs = now;
    if (accessRows.length > 0) taken.push(batchFromRows("access", accessRows));
    if (watchRows.length > 0) taken.push(batchFromRows("watch", watchRows));
    accessRows = [];
    watchRows = [];
    return taken;
  }

  function summary(): WatchSummary {
    const elapsed_ns = Number(monotonicNs() - beginNs);
    const spent = budget.spentNs();
    return {
      counts,
      calibration,
      agreement: { agreed, compared },
      cpus: cpus.length,
      registers: { wanted, free_at_start: free.count, least: leastRegisters, candidates },
      budget: {
        budget_pct: options.budgetPct,
        elapsed_ns,
        spent_pct: (100 * Math.max(0, ...spent)) / elapsed_ns,
        spent_ns: Object.fromEntries(cpus.map((cpu, i) => [cpu, spent[i] ?? 0])),
      },
    };
  }

  function ledger(): LedgerRow[] {
    const { access_rows, incomplete_rows, stale_rows } = counts;
    const row: LedgerRow = {
      ...PLACE,
      stage: "decode",
      pid: null,
      seen: readRows,
      kept: access_rows,
      filtered: readRows - access_rows - incomplete_rows,
      dropped: incomplete_rows,
      dropped_by: { watch_incomplete: incomplete_rows },
      unseen_estimate: null,
    };
    return stale_rows + readRows === 0 ? [] : [...ring.ledger({ ...PLACE, stage: "ring" }), row];
  }

  function stop(): ReturnType<WatchSource["stop"]> {
    if (stopped !== null) return stopped;
    finish([...active.values()].map((watch) => ({ watch, end: watch.end ?? { by: "end", atNs: null } })));
    readTraps();
    stopped = { batches: takeBatches(true), ledger: ledger(), summary: summary() };
    owned.dispose();
    return stopped;
  }

  return {
    poll(nowNs) {
      if (stopped !== null) return;
      budget.refill(Number(nowNs - beginNs));
      readTraps();
      const ending: { watch: ActiveWatch; end: WatchEnd }[] = [];
      for (const watch of active.values()) {
        const enough: WatchEnd | null = watch.traps.length >= ENOUGH_TRAPS ? { by: "dwell", atNs: null } : null;
        const end = endOf(watch, slots.state(watch.spec.slot), nowNs) ?? enough;
        if (end !== null) ending.push({ watch, end });
      }
      finish(ending);
      if (registers < options.registers && nowNs >= probeAtNs) {
        probeAtNs = nowNs + PROBE_AGAIN_NS;
        budget.chargeRetargets(1);
        registers = held() + probeRegisters(cpus, options.registers - held()).count;
      }
      for (let i = 0; i < ARMINGS_PER_POLL && armNext(nowNs); i++);
    },
    batches: () => takeBatches(false),
    onUnmap(pid, addr, sizeBytes, timeNs) {
      const overlaps = (of: number, first: bigint, bytes: number) =>
        of === pid && first < addr + sizeBytes && addr < first + BigInt(bytes);
      endWhere(overlaps, { by: "unmap", atNs: timeNs });
    },
    onExit(pid, timeNs) {
      endWhere((of) => of === pid, { by: "exit", atNs: timeNs });
      pids.delete(pid);
    },
    stop,
    [Symbol.dispose]: () => void stop(),
  };
}
