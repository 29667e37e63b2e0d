/**
 * A timer on every CPU. Its samples tell in which blocks of memory the program is most, and, as the source `clock`, become accesses
 * by decoding the instruction that is next.
 */

import { createCodeMap } from "../../../code/code-bytes.ts";
import { operandAt } from "../../../code/memory-operand.ts";
import { createNearFinder } from "../../../code/near-finder.ts";
import { createOperandFinder } from "../../../code/operand-finder.ts";
import type { Batch } from "../../../columnar/batch.ts";
import { GATHER_NS, GATHER_ROWS } from "../../../columnar/gather.ts";
import { ownBatch } from "../../../columnar/own-batch.ts";
import { onlineCpus } from "../../../kernel/cpus.ts";
import { monotonicNs } from "../../../kernel/libc.ts";
import { type Looks, UNCOUNTED } from "../../../kernel/looks.ts";
import { IOC, perfEventOpen, perfIoctl, setPerfPeriod } from "../../../kernel/perf-event.ts";
import { readRemote } from "../../../kernel/remote-memory.ts";
import type { LedgerRow } from "../../../schema/ledger.ts";
import { seededDraws } from "../../../statistics/prng.ts";
import { accessBatch, accessColumns } from "../../access-columns.ts";
import type { StringTicks } from "../copies/beside-watches.ts";
import { ditheredPeriod } from "../samples/period.ts";
import type { HotParts } from "../watch/frame/hot-parts.ts";
import { loadClockProgram } from "./clock-program.ts";
import { type ClockSummary, stringTicks } from "./clock-summary.ts";
import { createHotBlocks } from "./hot-blocks.ts";
import { createNearTicks } from "./near-ticks.ts";
import { tickCost } from "./tick-cost.ts";
import { createTickReader } from "./tick-rows.ts";
import { timerAttr } from "./timer-attr.ts";

export interface ClockOptions {
  /** Samples per second and CPU; fewer where the budget does not pay for them. */
  readonly hz: number;
  /** True where samples become rows. */
  readonly givesRows: boolean;
  /** True where they tell in which blocks the program is most. */
  readonly givesHeat: boolean;
  /** Share of each CPU that sampling may cost, in percent. */
  readonly budgetPct: number;
  /** The map of watched processes. */
  readonly targetsFd: number;
  readonly seed: number;
  /** Where looks at the target are counted; nowhere where it is absent. */
  readonly looks?: Looks;
}

const PLACE = { stream: "access", source: "clock", way: null } as const;

export interface ClockSource extends Disposable {
  /** Where the program is most. */
  readonly heat: HotParts;
  /** Share of each CPU that it takes of the budget, in percent. */
  readonly spendsPct: number;
  /** Varies the periods when it is time; `nowNs` is CLOCK_MONOTONIC. */
  poll(nowNs: bigint): void;
  /** Decodes what has come; rows of `access`, a quarter of a second at a time. */
  batches(): Batch<"access">[];
  /** A process began with its parent's code. */
  onFork(child: number, parent: number): void;
  onExec(pid: number, timeNs: bigint): void;
  /** A process mapped code anew. */
  onCode(pid: number): void;
  onExit(pid: number): void;
  /** Stops the timers: what they sampled so far waits for `stop`. */
  detach(): void;
  /** What became of samples so far. */
  account(): LedgerRow[];
  summary(): ClockSummary;
  /** How often it found the target on a string instruction so far; cheap enough to be asked for at each watch. */
  strings(): StringTicks;
  /** Stops the timers, decodes what is left; safe to call twice. */
  stop(): { readonly batches: Batch<"access">[]; readonly ledger: LedgerRow[] };
}

const SECOND_NS = 1_000_000_000n;
const NOP = Uint8Array.of(0x90);

/**
 * Measures what a sample costs (about 100 ms), loads the program and starts a timer on every CPU.
 * @throws MrmTraceError environment
 */
export async function openClock(options: ClockOptions): Promise<ClockSource> {
  const cost = await tickCost();
  const hz = Math.min(options.hz, ((options.budgetPct / 100) * 1e9) / cost.value);
  const spendsPct = (100 * hz * cost.value) / 1e9;
  using opening = new DisposableStack();
  const clock = opening.use(await loadClockProgram(options.targetsFd));
  const timers = opening.use(new DisposableStack());
  const random = seededDraws(options.seed);
  const nextPeriod = () => ditheredPeriod(1e9 / hz, 1, random);
  const events = onlineCpus().map((cpu) => {
    const event = timers.use(perfEventOpen(timerAttr(nextPeriod()), -1, cpu, "the timer"));
    timers.use(clock.program.attachPerfEvent(event.fd));
    return event;
  });
  const code = opening.use(createCodeMap(() => Number(monotonicNs()), options.looks?.kind("looks at maps")));
  const look = options.looks?.kind("reads of its memory") ?? UNCOUNTED;
  const operands = createOperandFinder(code, (pid, address, length) => look(() => readRemote(pid, address, length)));
  const began = new Map<number, number>();
  const reader = createTickReader(operands, (pid) => began.get(pid));
  const near = createNearFinder(code);
  const readWord = (pid: number, address: bigint): Uint8Array | null => look(() => readRemote(pid, address, 8));
  const nearTicks = createNearTicks(near, (pid) => began.get(pid), readWord);
  const heat = createHotBlocks();
  const columns = accessColumns(GATHER_ROWS);
  // The decoder is compiled at its first use: not while rings fill.
  operandAt(NOP);
  const owned = opening.move();
  let ready: Batch<"access">[] = [];
  let ended: number[] = [];
  let stopped: (ReturnType<ClockSource["stop"]> & { readonly summary: ClockSummary }) | null = null;
  let variedNs = monotonicNs();
  let gatheredNs = variedNs;
  let kept = 0;

  function gather(): void {
    if (columns.rows > 0) ready.push(ownBatch(accessBatch(columns)));
    kept += columns.rows;
    columns.rows = 0;
  }

  function take(all: boolean): Batch<"access">[] {
    clock.ring.drain((rows) => {
      if (options.givesHeat) nearTicks.read(rows, heat.add);
      if (options.givesRows) reader.read(rows, columns, gather);
    });
    // Their last samples are decoded.
    for (const pid of ended) {
      operands.forget(pid);
      near.forget(pid);
      code.forget(pid);
      began.delete(pid);
    }
    if (ended.length > 0) ended = [];
    const now = monotonicNs();
    if (all || now >= gatheredNs + GATHER_NS) {
      gatheredNs = now;
      gather();
    }
    const taken = ready;
    if (taken.length > 0) ready = [];
    return taken;
  }

  function ledger(): LedgerRow[] {
    if (!options.givesRows) return [];
    const runs = clock.count("runs");
    const filtered = clock.count("foreign") + clock.count("in_kernel") + clock.count("other_mode");
    const rings = clock.ring.ledger({ ...PLACE, stage: "ring" });
    const { noAccess, noCode, noAddress } = reader.losses;
    const dropped_by = { no_code: noCode, no_address: noAddress };
    const dropped = noCode + noAddress;
    const delivered = rings.reduce((sum, row) => sum + row.kept, 0);
    const none = { pid: null, unseen_estimate: null };
    return [
      {
        ...PLACE,
        ...none,
        stage: "observe",
        seen: runs,
        kept: runs - filtered,
        filtered,
        dropped: 0,
        dropped_by: {},
      },
      ...rings,
      { ...PLACE, ...none, stage: "decode", seen: delivered, kept, filtered: noAccess, dropped, dropped_by },
    ];
  }

  const counted = () => ({
    samples: clock.count("runs"),
    sampled_ns: clock.count("period"),
    foreign: clock.count("foreign"),
    in_string: clock.count("in_string"),
  });

  function summary(): ClockSummary {
    const { noAccess, noCode, noAddress } = reader.losses;
    return {
      hz: { wanted: options.hz, taken: hz },
      cost,
      budget_pct: spendsPct,
      cpus: events.length,
      ...counted(),
      in_kernel: clock.count("in_kernel"),
      other_mode: clock.count("other_mode"),
      no_access: noAccess,
      no_code: noCode,
      no_address: noAddress,
      rows: kept,
      located: nearTicks.located(),
      hot_bytes: heat.hotBytes(),
    };
  }

  function detach(): void {
    if (timers.disposed) return;
    for (const event of events) perfIoctl(event, IOC.disable);
    timers.dispose();
  }

  function stop(): ReturnType<ClockSource["stop"]> {
    if (stopped !== null) return stopped;
    detach();
    stopped = { batches: take(true), ledger: ledger(), summary: summary() };
    owned.dispose();
    return stopped;
  }

  return {
    heat,
    spendsPct,
    poll(nowNs) {
      heat.turn(nowNs);
      if (timers.disposed || nowNs < variedNs + SECOND_NS) return;
      variedNs = nowNs;
      for (const event of events) setPerfPeriod(event, nextPeriod());
    },
    batches: () => (stopped === null ? take(false) : []),
    onFork(child, parent) {
      code.inherit(child, parent);
      operands.forget(child);
      near.forget(child);
      began.delete(child);
      if (ended.includes(child)) ended = ended.filter((pid) => pid !== child);
    },
    onExec(pid, timeNs) {
      code.forget(pid);
      operands.forget(pid);
      near.forget(pid);
      began.set(pid, Number(timeNs));
    },
    onCode(pid) {
      operands.forget(pid);
      near.forget(pid);
      code.renew(pid);
    },
    onExit(pid) {
      ended.push(pid);
    },
    detach,
    account: () => stopped?.ledger ?? ledger(),
    summary: () => stopped?.summary ?? summary(),
    strings: () => stringTicks(stopped?.summary ?? counted()),
    stop,
    [Symbol.dispose]: () => void stop(),
  };
}
