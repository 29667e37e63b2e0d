/** How much of its time the target loses to slow copies while a watch is on: by what the timer found it doing lately, beside watches or not. */
import { type CopySlowdown, isSlower, lostIn } from "./copy-slowdown.ts";

/** Ticks of the timer that found the target running, and those of them on a string instruction, its own or the kernel's. */
export interface StringTicks {
  readonly ticks: number;
  readonly in_string: number;
  /** CPU time for which each stands, ns. */
  readonly each_ns: number;
}

export interface BesideWatches {
  /** Takes note of the ticks so far, which fell while a watch was on or while none was; call it before the first goes on, when the last is off, and now and then. */
  note(isArmed: boolean): void;
  /** Share of its time that the target loses while a watch is on, in [0, 1]; 0 as long as too little was seen. */
  lossShare(): number;
  /** All ticks, and those on a string instruction while a watch was on. */
  ticks(): StringTicks;
}

/** The share is of the last one to two turns, each of so many ticks and so long: no shorter than what one phase of the work takes, and soon over when copies are. */
const TURN_TICKS = 100;
const TURN_NS = 2e9;
/** Fewer tell no share. */
const LEAST_TICKS = 10;

/** Ticks of one turn. */
interface Turn {
  readonly begin_ns: number;
  ticks: number;
  /** On copies beside a watch, and without one. */
  beside: number;
  alone: number;
}

const sure = (count: number): number => Math.max(0, count - Math.sqrt(count));

/**
 * A tick on a copy while no watch was on stands for as many as the copy would have taken longer. So the share is known as soon where watches rest, and
 * they go on when the copies are over. A standard error is taken away: few are mostly chance.
 * @param strings ticks of the timer since it began
 * @param nowNs any steady clock
 */
export function besideWatches(strings: () => StringTicks, slowdown: CopySlowdown, nowNs: () => number): BesideWatches {
  const begin = (): Turn => ({ begin_ns: nowNs(), ticks: 0, beside: 0, alone: 0 });
  let last = strings();
  let seen = 0;
  let beside = 0;
  let [before, turn] = [begin(), begin()];
  function note(isArmed: boolean): void {
    const now = strings();
    const ticks = now.ticks - last.ticks;
    const inString = now.in_string - last.in_string;
    last = now;
    if (ticks <= 0) return;
    seen += ticks;
    if (isArmed) beside += inString;
    turn.ticks += ticks;
    turn[isArmed ? "beside" : "alone"] += inString;
    if (turn.ticks >= TURN_TICKS && nowNs() >= turn.begin_ns + TURN_NS) [before, turn] = [turn, begin()];
  }
  return {
    note,
    lossShare() {
      const ticks = before.ticks + turn.ticks;
      if (!isSlower(slowdown) || ticks < LEAST_TICKS) return 0;
      const found = before.beside + turn.beside;
      const alone = before.alone + turn.alone;
      const copying = sure(found) + slowdown.large * sure(alone);
      return (lostIn(slowdown.large) * copying) / (copying + ticks - found - alone);
    },
    ticks: () => ({ ticks: seen, in_string: beside, each_ns: last.each_ns }),
  };
}
