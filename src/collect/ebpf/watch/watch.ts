/** The `watch` source: every access to a few bytes at a time, drawn at random, at a cost that it keeps by itself. */
import type { Batch } from "../../../columnar/batch.ts";
import type { Looks } from "../../../kernel/looks.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import { seededDraws, seededRandom } from "../../../statistics/prng.ts";
import { besideWatches, type StringTicks } from "../copies/beside-watches.ts";
import { type ActiveWatch, finishWatch, type WatchEnd } from "./active-watch.ts";
import { activeWatches, type Ending } from "./active-watches.ts";
import { registersOf } from "./arm.ts";
import { createBudget } from "./budget.ts";
import { budgetTurns } from "./budget-turns.ts";
import type { Design } from "./design.ts";
import { type DrawSources, drawnWatches } from "./drawn-watches.ts";
import { lateNotes } from "./late-polls.ts";
import { type NamedWords, namedWatches } from "./named.ts";
import { createPace } from "./pace.ts";
import { type CpusOfTarget, followCpus } from "./registers/followed-cpus.ts";
import { createReservations } from "./reservations.ts";
import type { CpuTraps } from "./slots.ts";
import type { IsGone, PlannedWatch } from "./watch-choice.ts";
import { openWatchMachine, type WatchMachine } from "./watch-machine.ts";
import { gatherWatchRows } from "./watch-rows.ts";
import { ACCESSES, countFinished, countTraps, decodedRow, emptyCounts, type WatchSummary } from "./watch-summary.ts";

export type { WatchSummary } from "./watch-summary.ts";

export interface WatchOptions extends DrawSources, CpusOfTarget {
  /** Share of each CPU that watching may cost the target, in percent. */
  readonly budgetPct: number;
  /** Registers to use on each CPU at most. */
  readonly registers: number;
  readonly seed: number;
  /** CPUs on which the target may run; all that are online when it is empty. */
  readonly affinityCpus: readonly number[];
  /** True where this thread has a CPU soon after it wakes: then a poll that comes late says more. */
  readonly isPrompt?: boolean;
  /** Words to watch in place of drawn ones, outside the budget. */
  readonly named?: NamedWords;
  /** True where the whole budget and a part of it hold by turns. */
  readonly byTurns?: boolean;
  /** Looks that hold locks of the target, charged to the budget; none where it is absent. */
  readonly looks?: Looks;
  /** How often the timer found the target on a string instruction so far; none where it is absent. */
  readonly strings?: () => StringTicks;
  /** The map of watched processes: what a child does that lives in the memory of a watched one counts as that one's. */
  readonly targetsFd?: number;
}

export interface WatchSource extends Disposable {
  /** Reads traps and ends watches; call it every 5 ms. `nowNs` is CLOCK_MONOTONIC. */
  poll(nowNs: bigint): void;
  /** Arms new watches, after `poll`, as the last thing before a rest. @returns true where one began */
  arm(nowNs: bigint): boolean;
  /** Rows of watches that have ended, `access` and `watch`, a quarter of a second at a time; the rest comes with `stop`. */
  batches(): Batch[];
  /** Ends the watches on bytes that were unmapped, from that moment on. */
  onUnmap(pid: number, addr: bigint, sizeBytes: bigint, timeNs: bigint): void;
  /** The same for pages that the program gave back, where only what is in memory is drawn: tensors are there whether they have pages or not. */
  onGivenBack(pid: number, addr: bigint, sizeBytes: bigint, timeNs: bigint): void;
  /** Ends the watches of a process that exited or began another program. */
  onExit(pid: number, timeNs: bigint): void;
  /** Ends the watches of a process of which records were lost, from a moment before: any of its bytes may have gone. */
  onLoss(pid: number, sinceNs: bigint): void;
  /** What became of traps so far. */
  account(): LedgerRow[];
  summary(): WatchSummary;
  /** Ends every watch and frees all registers; safe to call twice. */
  stop(): { readonly batches: Batch[]; readonly ledger: LedgerRow[]; readonly summary: WatchSummary };
}

/** Separates the lengths of turns from the draws of a seed. */
const TURNS = 0x7475726e;
/** The timer ticks 50 times a second of a busy CPU. */
const COPIES_NOTED_NS = 50_000_000n;
/** Named words are armed again without a pause. */
const NAMED_AT_ONCE = 4;
/** All registers are taken. For another reason the kernel refuses one of a CPU that is off line. */
const ENOSPC = 28;

const overlapping =
  (pid: number, addr: bigint, sizeBytes: bigint): IsGone =>
  (owner, first, bytes) =>
    owner === pid && first < addr + sizeBytes && addr < first + BigInt(bytes);

const deadlineOf = ({ dwellLimitNs }: Design, beginNs: bigint): bigint => beginNs + BigInt(Math.round(dwellLimitNs));

const namedOf = ({ named }: WatchOptions) =>
  named === undefined || named.words.length === 0 ? null : namedWatches(named);

/**
 * Watches over a machine that is open, which goes with it.
 * @throws MrmTraceError environment when the kernel refuses a register for another reason than that it is taken
 */
export function watchOver(machine: WatchMachine, options: WatchOptions): WatchSource {
  const { cpus, calibration, registers } = machine;
  const random = seededDraws(options.seed);
  const choice = namedOf(options) ?? drawnWatches(options, random);
  const budget = createBudget({ cpus, budgetPct: options.budgetPct, costs: calibration });
  const { copies: slowdown } = calibration;
  const copies =
    options.strings && slowdown ? besideWatches(options.strings, slowdown, () => Number(machine.nowNs())) : null;
  const copyLoss = (): number => copies?.lossShare() ?? 0;
  const paceOptions = {
    costs: calibration,
    budgetPct: options.budgetPct,
    get cpus() {
      return cpus.length;
    },
    copyLoss,
    deferredNs: budget.deferredNs,
  };
  const pace = createPace(paceOptions, random);
  const turns = options.byTurns === true ? budgetTurns(options.budgetPct, seededRandom(options.seed, TURNS)) : null;
  const reservations = createReservations();
  const beginNs = machine.nowNs();
  const active = activeWatches();
  /** Those that are armed and have not begun. */
  const waiting: ActiveWatch[] = [];
  const rows = gatherWatchRows(beginNs);
  const counts = emptyCounts();
  const followed = followCpus(machine, options);
  const late = lateNotes(options.isPrompt === true);
  const agreement = { agreed: 0, compared: 0 };
  let chargedLooksNs = 0;
  let lagNs = 0;
  /** Of times with a watch, and when the latest began: a watch that stops itself is there until it is noticed. */
  let armedNs = 0;
  let firstNs: bigint | null = null;
  let copiesNotedNs = beginNs;
  /** Up to when watches whose time is over have given their registers back. */
  let finishedNs = beginNs;
  let budgetPct = options.budgetPct;
  let stopped: ReturnType<WatchSource["stop"]> | null = null;

  function readTraps(): void {
    machine.drain((generation, trap) => {
      const watch = active.get(generation);
      if (watch) watch.traps.push(trap);
      else counts.stale_rows += 1;
    });
    const taken = cpus.map((cpu) => ({ cpu, ...machine.takeTraps(cpu) }));
    const trapsByTarget = ({ traps, foreign, early, probed }: CpuTraps): number => traps - foreign - early - probed;
    const byTarget = taken.reduce((sum, one) => sum + trapsByTarget(one), 0);
    const continued = byTarget > 0 ? Math.min(1, active.continued(machine.state) / byTarget) : 0;
    for (const one of taken) {
      const { cpu, traps, foreign, early, probed } = one;
      budget.chargeTraps(cpu, traps);
      budget.defer(cpu, foreign + early + probed + continued * trapsByTarget(one));
      countTraps(counts, one);
    }
  }

  /** No row is given away before this, and watches go on with registers on all CPUs. */
  function lookAtCpus(): void {
    const more = followed.look();
    if (more === null) return;
    const { watches, accesses } = rows.drop();
    counts.finished -= watches;
    counts.elsewhere += watches;
    counts.access_rows -= accesses;
    active.endWhere(() => true, { by: "lost", atNs: more.insideNs });
    machine.widen(more.cpus);
    budget.widen(more.cpus);
  }

  function chargeLooks(): void {
    const ns = options.looks?.ns ?? 0;
    budget.chargeLooks(ns - chargedLooksNs);
    pace.spent(ns - chargedLooksNs);
    chargedLooksNs = ns;
  }

  /** The budget of the turn that it is. */
  function takeTurn(nowNs: bigint): void {
    const pct = turns?.pctAt(nowNs) ?? budgetPct;
    if (pct === budgetPct) return;
    budgetPct = pct;
    budget.change(pct);
    pace.change(pct, Number(nowNs - beginNs));
  }

  /**
   * Disarms, reads the last traps, and makes rows of what was seen.
   * @param next what is done before these rows are made, which may take long
   */
  function finish(ending: readonly Ending[], next?: () => void): void {
    if (ending.length === 0) return;
    const disarmed = ending.map((one) => ({ ...one, disarmedNs: one.watch.armed.disarm() }));
    readTraps();
    const over = disarmed.map((one) => ({ ...one, state: machine.state(one.watch.spec.slot) }));
    for (const { watch, disarmedNs } of over) {
      active.remove(watch);
      if (active.held() === 0 && firstNs !== null) {
        armedNs += Number(disarmedNs - firstNs);
        copies?.note(true);
        firstNs = null;
      }
    }
    next?.();
    for (const { watch, end, disarmedNs, state } of over) {
      const result = finishWatch(watch, end, disarmedNs, state, machine.decode);
      if (!result.complete) {
        counts.incomplete += 1;
        counts.incomplete_rows += result.rows;
        continue;
      }
      countFinished(counts, agreement, result.seen);
      choice.learn(watch.draw.region.stratum, { mode: watch.spec.mode, seen: result.seen });
      rows.add(result.watchRow, result.accessRows);
    }
  }

  /** Arms one watch on every CPU, to begin with the others of its turn; false where the registers were gone. */
  function arm({ draw, design }: PlannedWatch, nowNs: bigint): boolean {
    const { addr, sizeBytes, region } = draw;
    const { mode, trapLimit } = design;
    machine.learn(region.pid);
    const slot = active.freeSlot();
    if (slot === null) return false;
    const generation = machine.nextGeneration();
    const refreshCount = calibration.countsEveryTrap ? trapLimit : 1;
    const spec = { slot, generation, pid: region.pid, addr, sizeBytes, mode, trapLimit, refreshCount };
    if (active.held() === 0) copies?.note(false);
    const result = machine.arm(spec);
    budget.chargeRetargets(registersOf(mode).length);
    counts.register_retries += result.ok ? result.watch.retries : result.retries;
    if (!result.ok) {
      counts.register_failures += 1;
      if (result.errno !== ENOSPC) lookAtCpus();
      return false;
    }
    counts.armings += 1;
    const first = { armed: result.watch, beginNs: nowNs, deadlineNs: deadlineOf(design, nowNs) };
    const watch: ActiveWatch = { id: counts.armings, spec, draw, design, ...first, traps: [], end: null };
    if (choice.isBudgeted) reservations.add(design, () => watch.deadlineNs);
    active.add(watch);
    waiting.push(watch);
    return true;
  }

  /** Begins the watches of this turn, as the last thing of it; false where there are none. */
  function begin(nowNs: bigint): boolean {
    if (waiting.length === 0) return false;
    const knownNs = options.knownUntilNs?.(nowNs) ?? nowNs;
    const beginNs = machine.begin(
      waiting.map(({ armed }) => armed),
      choice.isBudgeted,
    );
    for (const watch of waiting.splice(0)) {
      watch.beginNs = beginNs;
      watch.deadlineNs = deadlineOf(watch.design, beginNs);
      lagNs += Number(beginNs - knownNs);
    }
    firstNs ??= beginNs;
    return true;
  }

  /** Arms what the budget and the free registers allow; false when nothing more can be done now. */
  function armNext(nowNs: bigint): boolean {
    if (machine.giveBack()) return false;
    const elapsedNs = Number(nowNs - beginNs);
    reservations.expire(finishedNs);
    const { held, heldLong } = choice.isBudgeted ? reservations : { held: active.held(), heldLong: 0 };
    const freeRegisters = registers.count - held;
    if (freeRegisters < 1 || (choice.isBudgeted && !(pace.isDue(elapsedNs) && budget.canSpend()))) return false;
    const planned = choice.next({
      elapsedNs,
      registers: registers.count,
      freeRegisters,
      longRegisters: heldLong,
      longestNs: pace.longestNs(elapsedNs),
      isWatched: active.isWatched,
      isReady: machine.isReady,
    });
    if (planned === null) return false;
    for (const one of planned) {
      pace.armed(one.design);
      if (one.draw === null) reservations.add(one.design, () => deadlineOf(one.design, nowNs));
      const before = cpus.length;
      if (one.draw === null || arm(one, nowNs)) continue;
      // Where a CPU went off line the others have as many registers as ever.
      if (cpus.length >= before) registers.miss(active.held(), nowNs);
      return false;
    }
    return true;
  }

  /** Arms what may be armed in this turn; false where that is nothing. */
  function armMany(nowNs: bigint): boolean {
    const most = choice.isBudgeted ? pace.atOnce : NAMED_AT_ONCE;
    for (let i = 0; i < most && armNext(nowNs); i++);
    return begin(nowNs);
  }

  function endWhere(isGone: IsGone, end: WatchEnd): void {
    active.endWhere(isGone, end);
    choice.forget(isGone);
  }

  function summary(): WatchSummary {
    const elapsed_ns = Number(machine.nowNs() - beginNs);
    const spent = budget.spentNs();
    copies?.note(active.held() > 0);
    const openNs = firstNs === null ? 0 : Number(machine.nowNs() - firstNs);
    return {
      counts,
      calibration,
      agreement,
      cpus: cpus.length,
      beside_watches: copies?.ticks() ?? null,
      armed_share: elapsed_ns > 0 ? Math.min(1, (armedNs + openNs) / elapsed_ns) : 0,
      draw_lag_ns: counts.armings > 0 ? lagNs / counts.armings : 0,
      late: late.soFar(),
      registers: registers.summary(),
      budget: {
        budget_pct: options.budgetPct,
        elapsed_ns,
        spent_pct: (100 * Math.max(0, ...spent)) / elapsed_ns,
        spent_ns: Object.fromEntries(cpus.map((cpu, i) => [cpu, spent[i] ?? 0])),
        turns: turns?.turns ?? null,
      },
    };
  }

  function ledger(): LedgerRow[] {
    const seen = machine.rowsRead();
    if (counts.stale_rows + seen === 0) return [];
    return [...machine.ledger({ ...ACCESSES, stage: "ring" }), decodedRow(counts, seen)];
  }

  function stop(): ReturnType<WatchSource["stop"]> {
    if (stopped !== null) return stopped;
    // It may have been stopped when the end came.
    late.polled(machine.nowNs(), machine.cpuNs());
    lookAtCpus();
    finish(active.endingAll());
    readTraps();
    stopped = { batches: rows.take(machine.nowNs()), ledger: ledger(), summary: summary() };
    machine[Symbol.dispose]();
    return stopped;
  }

  return {
    poll(nowNs) {
      if (stopped !== null) return;
      late.polled(nowNs, machine.cpuNs());
      budget.refill(Number(nowNs - beginNs));
      takeTurn(nowNs);
      chargeLooks();
      if (nowNs >= copiesNotedNs + COPIES_NOTED_NS) {
        copiesNotedNs = nowNs;
        copies?.note(active.held() > 0);
      }
      readTraps();
      const armAgain = choice.isBudgeted ? undefined : () => void armMany(nowNs);
      finish(active.ending(machine.state, nowNs), armAgain);
      finishedNs = nowNs;
      if (registers.lookAgain(active.held(), nowNs)) budget.chargeRetargets(1);
    },
    arm: (nowNs) => stopped === null && armMany(nowNs),
    batches() {
      const nowNs = machine.nowNs();
      if (!rows.isDue(nowNs) || !followed.isDue(nowNs)) return [];
      lookAtCpus();
      return rows.take(machine.nowNs());
    },
    onUnmap(pid, addr, sizeBytes, timeNs) {
      endWhere(overlapping(pid, addr, sizeBytes), { by: "unmap", atNs: timeNs });
    },
    onGivenBack(pid, addr, sizeBytes, timeNs) {
      const overlaps = overlapping(pid, addr, sizeBytes);
      const isGone: IsGone = (...bytes) => bytes[3].resident_only === true && overlaps(...bytes);
      endWhere(isGone, { by: "unmap", atNs: timeNs });
    },
    onExit(pid, timeNs) {
      endWhere((owner) => owner === pid, { by: "exit", atNs: timeNs });
      machine.forget(pid);
    },
    onLoss(pid, sinceNs) {
      endWhere((owner) => owner === pid, { by: "lost", atNs: sinceNs });
    },
    account: () => stopped?.ledger ?? ledger(),
    summary: () => stopped?.summary ?? summary(),
    stop,
    [Symbol.dispose]: () => void stop(),
  };
}

/**
 * Opens the machine and watches over it. Without a free register it starts all the same and looks again every second.
 * @throws MrmTraceError environment when the program cannot be loaded
 */
export async function startWatch(options: WatchOptions): Promise<WatchSource> {
  const { affinityCpus, registers, targetsFd, looks } = options;
  const wanted = Math.min(registers, namedOf(options)?.count ?? registers);
  return watchOver(await openWatchMachine({ affinityCpus, registers, wanted, targetsFd, looks }), options);
}
