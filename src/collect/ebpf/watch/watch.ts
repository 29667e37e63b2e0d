/** The `watch` source: every access to a few bytes at a time, drawn at random, at a cost that it keeps by itself. */
import { type CodeMap, createCodeMap } from "../../../code/code-bytes.ts";
import { createAccessDecoder } from "../../../code/trap-operation.ts";
import type { Batch } from "../../../columnar/batch.ts";
import { onlineCpus } from "../../../kernel/cpus.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import type { Looks } from "../../../kernel/looks.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import { seededDraws } from "../../../statistics/prng.ts";
import { finishWatch, type WatchEnd } from "./active-watch.ts";
import { activeWatches, type Ending } from "./active-watches.ts";
import { armWatch, registersOf } from "./arm.ts";
import { createBudget } from "./budget.ts";
import { isLong } from "./design.ts";
import { type DrawSources, drawnWatches } from "./drawn-watches.ts";
import { type NamedWords, namedWatches } from "./named.ts";
import { registerRoom } from "./register-room.ts";
import type { PlannedWatch } from "./watch-choice.ts";
import { openWatchProgram } from "./watch-program.ts";
import { gatherWatchRows } from "./watch-rows.ts";
import { countFinished, emptyCounts, type WatchSummary } from "./watch-summary.ts";

export type { WatchSummary } from "./watch-summary.ts";

export interface WatchOptions extends DrawSources {
  /** Share of each CPU that watching may cost the target, in percent. */
  readonly budgetPct: number;
  /** Registers to use on each CPU at most. */
  readonly registers: number;
  readonly seed: number;
  /** CPUs on which the target may run; all that are online when it is empty. */
  readonly affinityCpus: readonly number[];
  /** Words to watch in place of drawn ones, outside the budget. */
  readonly named?: NamedWords;
  /** Looks that hold locks of the target, charged to the budget; none where it is absent. */
  readonly looks?: Looks;
}

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

const PLACE = { stream: "access", source: "watch", way: null } as const;
/** Arming takes up to some hundred us on this thread, which has rings to read. */
const ARMINGS_PER_POLL = 4;

/** The code of every process that is watched, read when its first watch is armed: traps are decoded by it. */
function codeOfWatched(code: CodeMap) {
  const learned = new Set<number>();
  return {
    learn(pid: number) {
      if (learned.has(pid)) return;
      learned.add(pid);
      code.learn(pid);
    },
    forget: (pid: number) => void learned.delete(pid),
  };
}

/**
 * Loads the program, counts the free registers and measures what traps and retargets cost (about 80 ms).
 * Without a free register it starts all the same and looks again every second.
 * @throws MrmTraceError environment when the program cannot be loaded
 */
export async function startWatch(options: WatchOptions): Promise<WatchSource> {
  using opening = new DisposableStack();
  const program = opening.use(await openWatchProgram());
  const { slots } = program;
  const allCpus = onlineCpus();
  const cpus = options.affinityCpus.length > 0 ? options.affinityCpus : allCpus;
  const named = options.named === undefined || options.named.words.length === 0 ? null : namedWatches(options.named);
  const wanted = Math.min(options.registers, named?.count ?? options.registers);
  const choice = named ?? drawnWatches(options, seededDraws(options.seed));
  const registers = registerRoom({ cpus, most: options.registers, wanted }, monotonicNs());
  const calibration = program.calibrate(allCpus);
  const budget = createBudget({ cpus, budgetPct: options.budgetPct, costs: calibration });
  const code = opening.use(createCodeMap(() => Number(monotonicNs()), options.looks?.kind("looks at maps")));
  const decode = createAccessDecoder(code);
  const watched = codeOfWatched(code);
  const owned = opening.move();
  const beginNs = monotonicNs();
  const active = activeWatches();
  const rows = gatherWatchRows(beginNs);
  const counts = emptyCounts();
  const agreement = { agreed: 0, compared: 0 };
  let lastId = 0;
  let chargedLooksNs = 0;
  let stopped: ReturnType<WatchSource["stop"]> | null = null;

  function readTraps(): void {
    program.drain((generation, trap) => {
      const watch = active.get(generation);
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

  function chargeLooks(): void {
    const ns = options.looks?.ns ?? 0;
    budget.chargeLooks(ns - chargedLooksNs);
    chargedLooksNs = ns;
  }

  /** Disarms, reads the last traps, and makes rows of what was seen. */
  function finish(ending: readonly Ending[]): void {
    if (ending.length === 0) return;
    const disarmed = ending.map((one) => ({ ...one, disarmedNs: one.watch.armed.disarm() }));
    readTraps();
    for (const { watch, end, disarmedNs } of disarmed) {
      active.remove(watch);
      const result = finishWatch(watch, end, disarmedNs, slots.state(watch.spec.slot), decode);
      if (!result.complete) {
        counts.incomplete += 1;
        counts.incomplete_rows += result.rows;
        continue;
      }
      countFinished(counts, agreement, result.seen);
      choice.learn(watch.draw.region.stratum, watch.spec.mode, result.seen);
      rows.add(result.watchRow, result.accessRows);
    }
  }

  /** Arms one watch on every CPU; false where the registers were gone. */
  function arm({ draw, design }: PlannedWatch): boolean {
    const { pid } = draw.region;
    watched.learn(pid);
    const slot = active.freeSlot();
    if (slot === null) return false;
    const { mode, trapLimit } = design;
    const { addr, sizeBytes } = draw;
    const generation = program.nextGeneration();
    const refreshCount = calibration.countsEveryTrap ? trapLimit : 1;
    const spec = { slot, generation, pid, addr, sizeBytes, mode, trapLimit, refreshCount };
    const result = armWatch(program.fd, slots, spec, cpus);
    budget.chargeRetargets(registersOf(mode).length);
    counts.register_retries += result.ok ? result.watch.retries : result.retries;
    if (!result.ok) {
      counts.register_failures += 1;
      return false;
    }
    counts.armings += 1;
    lastId += 1;
    const deadlineNs = result.watch.beginNs + BigInt(Math.round(design.dwellLimitNs));
    active.add({ id: lastId, spec, armed: result.watch, draw, design, deadlineNs, traps: [], end: null });
    return true;
  }

  /** Arms what the budget and the free registers allow; false when nothing more can be done now. */
  function armNext(nowNs: bigint): boolean {
    const freeRegisters = registers.count - active.held();
    if (freeRegisters < 1 || (choice.isBudgeted && !budget.canSpend())) return false;
    const planned = choice.next({
      elapsedNs: Number(nowNs - beginNs),
      registers: registers.count,
      freeRegisters,
      longRegisters: active.held((watch) => isLong(watch.design)),
      isWatched: active.isWatched,
    });
    if (planned === null) return false;
    for (const one of planned) {
      if (arm(one)) continue;
      registers.miss(active.held(), nowNs);
      return false;
    }
    return true;
  }

  function endWhere(isGone: (pid: number, addr: bigint, sizeBytes: number) => boolean, end: WatchEnd): void {
    active.endWhere(isGone, end);
    choice.forget(isGone);
  }

  function summary(): WatchSummary {
    const elapsed_ns = Number(monotonicNs() - beginNs);
    const spent = budget.spentNs();
    return {
      counts,
      calibration,
      agreement,
      cpus: cpus.length,
      registers: registers.summary(),
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
    const seen = program.rowsRead();
    const row: LedgerRow = {
      ...PLACE,
      stage: "decode",
      pid: null,
      seen,
      kept: access_rows,
      filtered: seen - access_rows - incomplete_rows,
      dropped: incomplete_rows,
      dropped_by: { watch_incomplete: incomplete_rows },
      unseen_estimate: null,
    };
    return stale_rows + seen === 0 ? [] : [...program.ledger({ ...PLACE, stage: "ring" }), row];
  }

  function stop(): ReturnType<WatchSource["stop"]> {
    if (stopped !== null) return stopped;
    finish(active.endingAll());
    readTraps();
    stopped = { batches: rows.take(true), ledger: ledger(), summary: summary() };
    owned.dispose();
    return stopped;
  }

  return {
    poll(nowNs) {
      if (stopped !== null) return;
      budget.refill(Number(nowNs - beginNs));
      chargeLooks();
      readTraps();
      finish(active.ending(slots, nowNs));
      if (registers.lookAgain(active.held(), nowNs)) budget.chargeRetargets(1);
      for (let i = 0; i < ARMINGS_PER_POLL && armNext(nowNs); i++);
    },
    batches: () => rows.take(false),
    onUnmap(pid, addr, sizeBytes, timeNs) {
      const overlaps = (owner: number, first: bigint, bytes: number) =>
        owner === pid && first < addr + sizeBytes && addr < first + BigInt(bytes);
      endWhere(overlaps, { by: "unmap", atNs: timeNs });
    },
    onExit(pid, timeNs) {
      endWhere((owner) => owner === pid, { by: "exit", atNs: timeNs });
      watched.forget(pid);
    },
    stop,
    [Symbol.dispose]: () => void stop(),
  };
}
