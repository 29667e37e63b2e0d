/** One watch from its arming to its rows. */

import type { AccessDecoder } from "../../../code/trap-operation.ts";
import type { RowOf } from "../../../schema/row.ts";
import { ROLE, WATCH } from "../../../schema/shared-numbers.ts";
import type { WatchEnding } from "../../../schema/words.ts";
import { type SeenAccesses, seenAccesses } from "./accesses.ts";
import type { ArmedWatch, WatchSpec } from "./arm.ts";
import type { Design } from "./design.ts";
import type { Draw } from "./draw.ts";
import type { SlotState } from "./slots.ts";
import type { Trap } from "./traps.ts";

/** Ends after which nothing that was seen is known to be of the watched bytes. */
const GONE: ReadonlySet<WatchEnding> = new Set(["unmap", "exit", "lost"]);

/** Why a watch must end, and when its exposure did where that is known before disarming. */
export interface WatchEnd {
  readonly by: WatchEnding;
  readonly atNs: bigint | null;
}

export interface ActiveWatch {
  readonly id: number;
  readonly spec: WatchSpec;
  readonly armed: ArmedWatch;
  readonly draw: Draw;
  readonly design: Design;
  /** When its exposure began; until then a moment before. */
  beginNs: bigint;
  deadlineNs: bigint;
  /** In the order of each CPU's ring. */
  readonly traps: Trap[];
  /** Set when its bytes or its process are gone. */
  end: WatchEnd | null;
}

export type FinishedWatch =
  | {
      readonly complete: true;
      readonly seen: SeenAccesses;
      readonly watchRow: RowOf<"watch">;
      readonly accessRows: readonly RowOf<"access">[];
    }
  /** Traps were lost: nothing can be said about its bytes. */
  | { readonly complete: false; readonly rows: number };

/** True where it was stopped before it began: as many traps came while the registers were switched on. */
const stoppedAtOnce = ({ early }: SlotState): boolean => early >= WATCH.early_limit;

/**
 * True where the registers have stopped: where the kernel counts every trap, those inside a string instruction, those before the
 * exposure, those of other processes and those of our own reads too. Traps of others alone end a watch for themselves.
 */
function reachedLimit(spec: WatchSpec, { hits, continued, early, foreign, probed }: SlotState): boolean {
  const countsEveryTrap = spec.refreshCount > 1;
  const others = continued + early + probed + Math.min(foreign, WATCH.foreign_limit - 1);
  return hits + (countsEveryTrap ? others : 0) >= spec.trapLimit;
}

const TRAP_LIMIT: WatchEnd = { by: "trap_limit", atNs: null };

/** Why a watch has ended that reached its limit: where the kernel counts every trap, the last one may have been a read of our own. */
function limitEnd(watch: ActiveWatch, { probed, probedNs }: SlotState): WatchEnd {
  const isOurs = watch.spec.refreshCount > 1 && probed > 0 && probedNs > lastTrapNs(watch);
  return isOurs ? { by: "foreign", atNs: probedNs } : TRAP_LIMIT;
}

/** The end of a watch that stopped itself or has had its time; null while it goes on. */
export function endOf(watch: ActiveWatch, state: SlotState, nowNs: bigint): WatchEnd | null {
  if (watch.end !== null) return watch.end;
  if (stoppedAtOnce(state)) return TRAP_LIMIT;
  if (reachedLimit(watch.spec, state)) return limitEnd(watch, state);
  if (state.foreign >= WATCH.foreign_limit) return { by: "foreign", atNs: state.foreignStopNs };
  return nowNs >= watch.deadlineNs ? { by: "dwell", atNs: null } : null;
}

/** The last trap; the begin where there was none. */
function lastTrapNs({ beginNs, traps }: ActiveWatch): bigint {
  let last = beginNs;
  for (const { role, timeNs } of traps) if (role !== ROLE.pair_w && timeNs > last) last = timeNs;
  return last;
}

/** Traps of what came to the place of bytes that were gone may have stopped it, too: then it looked until these went. */
const stoppedBefore = (watch: ActiveWatch, { by, atNs }: WatchEnd): boolean =>
  !GONE.has(by) || (atNs !== null && lastTrapNs(watch) <= atNs);

function exposureEnd(watch: ActiveWatch, end: WatchEnd, disarmedNs: bigint): bigint {
  if (end.by === "trap_limit") return lastTrapNs(watch);
  // A time from the kernel may lie before the exposure, and after the clock that was read to disarm.
  const lastNs = end.atNs !== null && end.atNs < disarmedNs ? end.atNs : disarmedNs;
  if (lastNs < watch.beginNs) return watch.beginNs;
  return lastNs;
}

/** The rows of a disarmed watch whose last traps have been read. */
export function finishWatch(
  watch: ActiveWatch,
  end: WatchEnd,
  disarmedNs: bigint,
  state: SlotState,
  decode: AccessDecoder,
): FinishedWatch {
  const { spec, armed, draw, design, beginNs } = watch;
  const recorded = watch.traps.filter((trap) => trap.role !== ROLE.pair_w).length;
  if (recorded < Math.min(state.hits, spec.trapLimit) + state.continued) {
    return { complete: false, rows: watch.traps.length };
  }
  // A word that is used so often is told as one: left out, the busiest of all would be those of which nothing is known.
  const isAtOnce = stoppedAtOnce(state);
  // The k-th trap may come while the watch is being ended for another reason: it ended the exposure all the same.
  const stopped = isAtOnce || (reachedLimit(spec, state) && stoppedBefore(watch, end));
  const limited = isAtOnce ? TRAP_LIMIT : limitEnd(watch, state);
  const why = stopped ? limited : end;
  const endNs = isAtOnce ? beginNs : exposureEnd(watch, why, disarmedNs);
  const bytes = { pid: spec.pid, addr: spec.addr, sizeBytes: spec.sizeBytes, mode: spec.mode };
  const seen = seenAccesses(watch.traps, { ...bytes, beginNs, endNs }, decode);
  const accessRows = seen.accesses.map(
    ({ trap, op, evidence }): RowOf<"access"> => ({
      timestamp_ns: trap.timeNs,
      address: spec.addr,
      op_type: op,
      ip: trap.ip,
      pid: spec.pid,
      tid: trap.tid,
      cpu: trap.cpu,
      source: "watch",
      period: 1n,
      watch_id: watch.id,
      in_kernel: trap.inKernel,
      op_evidence: evidence,
      data_src: null,
      weight_cycles: null,
    }),
  );
  const watchRow: RowOf<"watch"> = {
    timestamp_ns: beginNs,
    end_ns: endNs,
    watch_id: watch.id,
    pid: spec.pid,
    addr: spec.addr,
    size_bytes: spec.sizeBytes,
    mode: spec.mode,
    design: design.name,
    stratum: draw.region.stratum,
    region_type: draw.region.region_type,
    tensor: draw.region.tensor,
    stratum_bytes: BigInt(draw.stratumBytes),
    inclusion_probability: draw.inclusionProbability,
    draw_weight: draw.drawWeight,
    trap_limit: spec.trapLimit,
    dwell_limit_ns: BigInt(Math.round(design.dwellLimitNs)),
    n_hits: seen.traps,
    n_foreign: state.foreign,
    n_kernel: seen.kernelTraps,
    ended_by: why.by,
    n_registers: armed.registers,
    n_accesses: accessRows.length,
  };
  return { complete: true, seen, watchRow, accessRows };
}
