/**
 * The time of records that carry none: an allocation lies between the memory records before and after it.
 *
 * memray writes a memory record every 10 ms, in whole ms of CLOCK_REALTIME. A record at `t` ms was taken in
 * [t, t + 1) ms and written after that, so what follows it in the file happened at `t` ms or later. What comes before
 * the next one, at `u` ms, was in the file when that one was written, which may be long after `u` where the machine is
 * busy: the thread that writes them reads its time first, then /proc, then waits for a lock, and then sleeps for 10 ms.
 * So it was written before the one after it was taken, less that sleep (memray, tracking_api.cpp,
 * `captureMemorySnapshot`). How long a thread waited to write an allocation is not in the file.
 */
import type { ClockPair } from "../../columnar/clock-pairs.ts";

/** Eleven hours of memory records; beyond that, every second boundary is given up, again and again. */
const MAX_INTERVALS = 1 << 22;
const DEFAULT_PERIOD_MS = 10;

/** A time with its half-width, both in ns. */
export interface Bracket {
  time_ns: number;
  error_ns: number;
}

export interface TimeAxis {
  /** Number of the interval that is open: the one after the last memory record. */
  readonly open: number;
  /** Longest interval so far, in ms. */
  readonly longestMs: number;
  /** Memory records whose time lay before the one before them: the clock was set. */
  readonly setBack: number;
  /** Ends the open interval at a memory record; true when the numbers of all intervals were halved. */
  advance(msSinceStart: number): boolean;
  /**
   * Middle and half-width of an interval, on CLOCK_MONOTONIC; exact to the ns below 104 days of uptime. The open one
   * and the one before it end where the writer noted that the capture ended, or, where it was killed, one longest
   * interval after the open one began.
   */
  bracket(interval: number, into: Bracket): void;
  /** Where the open interval begins, on CLOCK_MONOTONIC. */
  beginNs(): number;
  /** When the capture ended: at the moment that the writer noted, or, where it was killed, within the open interval. */
  end(into: Bracket): void;
  /** Time and half-width of a moment that was written in ms since the start. */
  moment(msSinceStart: number, into: Bracket): void;
}

/**
 * @param startMs CLOCK_REALTIME of the start of the capture, in ms
 * @param endMs ms from there to the end that the writer noted; null where it was killed
 * @param clock a pair of readings of CLOCK_REALTIME and CLOCK_MONOTONIC
 */
export function openTimeAxis(startMs: number, endMs: number | null, clock: ClockPair, most = MAX_INTERVALS): TimeAxis {
  /** boundaries[i] begins interval i; boundaries[open + 1] ends the last one, once it is known. */
  let boundaries = new Uint32Array(1 << 10);
  let open = 0;
  let longestMs = DEFAULT_PERIOD_MS;
  /** No longer than the writer sleeps between two memory records. */
  let sleepMs = DEFAULT_PERIOD_MS;
  let setBack = 0;
  const zero_ns = Number(BigInt(startMs) * 1_000_000n - clock.other_ns + clock.monotonic_ns);
  const clock_ns = Number(clock.uncertainty_ns);

  function halve(): void {
    for (let i = 0; 2 * i <= open; i++) boundaries[i] = boundaries[2 * i] ?? 0;
    open >>>= 1;
  }

  function moment(msSinceStart: number, into: Bracket): void {
    into.error_ns = 0.5e6 + clock_ns;
    into.time_ns = Math.max(0, zero_ns + (msSinceStart + 0.5) * 1e6);
  }

  /** The ms in which the record that ends an interval was in the file at the latest. */
  function stopMs(interval: number): number {
    const taken = boundaries[Math.min(interval + 1, open)] ?? 0;
    const next_ms = boundaries[interval + 2] ?? 0;
    if (interval + 1 < open) return Math.max(taken, next_ms - sleepMs);
    return Math.max(taken, endMs ?? (boundaries[open] ?? 0) + longestMs);
  }

  function bracket(interval: number, into: Bracket): void {
    const from = boundaries[interval] ?? 0;
    const stop = stopMs(interval);
    into.error_ns = ((stop + 1 - from) / 2) * 1e6 + clock_ns;
    into.time_ns = Math.max(0, zero_ns + ((from + stop + 1) / 2) * 1e6);
  }

  return {
    get open() {
      return open;
    },
    get longestMs() {
      return longestMs;
    },
    get setBack() {
      return setBack;
    },
    advance(msSinceStart) {
      const before = boundaries[open] ?? 0;
      const ms = Math.min(msSinceStart, 0xffffffff);
      if (ms < before) setBack += 1;
      const now = Math.max(before, ms);
      longestMs = Math.max(longestMs, now - before);
      if (open > 0) sleepMs = Math.min(sleepMs, now - before);
      const full = open + 1 === most;
      if (open + 1 === boundaries.length) {
        const wider = new Uint32Array(Math.min(most, 2 * boundaries.length));
        wider.set(boundaries.subarray(0, Math.min(wider.length, boundaries.length)));
        boundaries = wider;
      }
      if (full) halve();
      open += 1;
      boundaries[open] = now;
      return full;
    },
    bracket,
    beginNs: () => Math.max(0, zero_ns + (boundaries[open] ?? 0) * 1e6),
    moment,
    end(into) {
      if (endMs === null) bracket(open, into);
      else moment(Math.max(endMs, boundaries[open] ?? 0), into);
    },
  };
}
