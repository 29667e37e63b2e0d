/** What /proc said of the processes of the target, summed for every span of the run while it is read. */
import type { SpanSlices } from "../input/span-slices.ts";

/** One reading of one process; times as ns since the start of the run, bytes and counts as /proc gave them. */
export interface ProcessReading {
  readonly time_ns: number;
  readonly pid: number;
  readonly is_target: boolean;
  readonly rss_bytes: number;
  readonly rss_anon_bytes: number;
  readonly rss_file_bytes: number;
  readonly rss_shmem_bytes: number;
  /** Null where it has no address space any more, or the recording is older than the column. */
  readonly rss_peak_bytes: number | null;
  readonly pss_bytes: number | null;
  readonly vms_bytes: number;
  readonly cpu_user_ns: number;
  readonly cpu_system_ns: number;
  readonly minor_faults: number;
  readonly major_faults: number;
}

const COUNTERS = ["cpu_user_ns", "cpu_system_ns", "minor_faults", "major_faults"] as const;
const PARTS = ["rss_bytes", "rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes"] as const;
type Counter = (typeof COUNTERS)[number];
type Part = (typeof PARTS)[number];

/**
 * What a counter grew by in a span. Between two readings it may have grown at any time: `lo` has the growth that lies
 * within the span for sure, `hi` all that may, and `value` shares it out by time.
 */
export interface Growth {
  readonly value: number;
  readonly lo: number;
  readonly hi: number;
}

/** The processes of the target in one span. */
export interface ProcessUse {
  /** Moments at which those that had memory were read. */
  readonly readings: number;
  /** Most processes with memory at one reading. */
  readonly processes: number;
  /** Time of the span between the first reading of the run and the last. */
  readonly read_ns: number;
  /** Most resident memory at one moment: reached for sure, and not exceeded; null where nobody knows, as where a process went on behind its last reading. */
  readonly peak_lo_bytes: number;
  readonly peak_hi_bytes: number | null;
  /** The same up to the last reading of each process. */
  readonly read_peak_bytes: number | null;
  /** Most at one reading. */
  readonly most: Readonly<Record<Part, number>>;
  /** Most at one reading of the proportional set, which is read less often; null where it was not. */
  readonly pss_bytes: number | null;
  readonly growth: Readonly<Record<Counter, Growth>>;
  /** Time in the span from the last reading of a process to its end, or that of the run, summed: what it did then is in no counter. */
  readonly unread_ns: number;
  /**
   * Time in the span before the first reading of processes that nobody saw begin in the run, summed, and what their counters
   * had by then: at most so much of it they did in that time.
   */
  readonly early_ns: number;
  readonly early: Readonly<Record<Counter, number>>;
  /** Processes whose counters grew in the span, or may have; each counter of time is rounded down to a tick. */
  readonly counted: number;
}

export interface ProcessReadings {
  /** Takes the readings in the order in which they were written. */
  take(reading: ProcessReading): void;
  /** The sums by span. */
  end(): ProcessUse[];
}

/** The target at one moment; its counters as they grew since the moment before. */
export interface ProcessPoint extends Readonly<Record<Part, number>>, Readonly<Record<Counter, number>> {
  readonly time_ns: number;
  readonly processes: number;
  readonly pss_bytes: number | null;
}

interface Known {
  readonly last: ProcessReading;
  /** What it held at most when that was last told; null once it holds nothing. */
  readonly peak_bytes: number | null;
  readonly round: number;
  /** Spans in which it was counted. */
  readonly counted: number;
  /** As it was read last, which is seldom; null before, and of a process too large for it. */
  readonly pss_bytes: number | null;
  /** When it was last read to have memory. */
  readonly alive_ns: number;
}

const newPss = () => ({ bytes: 0, read: false, missing: false });

/** PSS of a round in which some was read, with that of the others from before; null where one has none: a part is no sum. */
function pssOf({ bytes, read, missing }: ReturnType<typeof newPss>): number | null {
  return read && !missing ? bytes : null;
}

/** Sums by span of one amount. */
function growths(n: number) {
  const wide = () => new Float64Array(n);
  return { value: wide(), lo: wide(), hi: wide() };
}

const noGrowth = (): Record<Counter, number> => ({
  cpu_user_ns: 0,
  cpu_system_ns: 0,
  minor_faults: 0,
  major_faults: 0,
});

/** Raises what is below. */
function raise(most: Float64Array, mask: number, bytes: number): void {
  for (let s = 0; s < most.length; s++) {
    if ((mask >>> s) & 1 && bytes > (most[s] as number)) most[s] = bytes;
  }
}

/**
 * Sums readings by span.
 * @param bornAfter when a process that is read for the first time was forked in the run, at the latest before `time_ns`;
 *   null where it was there before, or nobody knows: then its counters begin with that reading
 * @param onMoment told of every moment at which the target was read
 * @param endFrom when a process ended that was read at a moment, at the earliest then; null where nobody saw it end
 */
export function processReadings(
  { spans, begin_ns, spansOf, sliceAt }: SpanSlices,
  bornAfter: (pid: number, time_ns: number) => number | null,
  onMoment: (point: ProcessPoint) => void = () => {},
  endFrom: (pid: number, time_ns: number) => number | null = () => null,
): ProcessReadings {
  const n = spans.length;
  const knownOf = new Map<number, Known>();
  const inRound = new Set<number>();
  const most = Object.fromEntries(PARTS.map((part) => [part, new Float64Array(n)])) as Record<Part, Float64Array>;
  const sums = Object.fromEntries(COUNTERS.map((name) => [name, growths(n)])) as Record<
    Counter,
    ReturnType<typeof growths>
  >;
  const readings = new Float64Array(n);
  const processes = new Float64Array(n);
  const counted = new Float64Array(n);
  const pss = new Float64Array(n).fill(-1);
  const reached = new Float64Array(n);
  const ceiling = new Float64Array(n).fill(-1);
  const unread = new Float64Array(n);
  const early = new Float64Array(n);
  const earlier = Object.fromEntries(COUNTERS.map((name) => [name, new Float64Array(n)])) as Record<
    Counter,
    Float64Array
  >;
  // Pieces are in order of time: of the steps of a busy server there are more than a call can have arguments.
  const end_ns = spans.reduce((last, span) => Math.max(last, span.end_ns.at(-1) ?? 0), 0);
  /** Spans in which a process with memory ended behind its last reading. */
  let open = 0;
  let round = 0;
  let roundNs = 0;
  let before_ns: number | null = null;
  let first_ns: number | null = null;
  let last_ns = 0;
  let held = { rss_bytes: 0, rss_anon_bytes: 0, rss_file_bytes: 0, rss_shmem_bytes: 0 };
  let heldPss = newPss();
  let heldCeiling = 0;
  let alive = 0;
  let grown = noGrowth();

  /** Spans that hold all of [from, to], and those that meet it. */
  function spansBetween(from: number, until: number): { all: number; any: number } {
    const last = sliceAt(until);
    let all = 0xffffffff;
    let any = 0;
    for (let slice = sliceAt(from); slice <= last; slice++) {
      all &= spansOf[slice] as number;
      any |= spansOf[slice] as number;
    }
    return { all, any };
  }

  /** Shares out what grew in (from, to]. */
  function grow(
    name: Counter,
    from: number,
    until: number,
    by: number,
    { all, any }: { all: number; any: number },
  ): void {
    const { value, lo, hi } = sums[name];
    for (let s = 0; s < n; s++) {
      if ((all >>> s) & 1) lo[s] = (lo[s] as number) + by;
      if ((any >>> s) & 1) hi[s] = (hi[s] as number) + by;
    }
    const last = sliceAt(until);
    for (let slice = sliceAt(from); slice <= last; slice++) {
      const begin = Math.max(from, begin_ns[slice] as number);
      const end = Math.min(until, begin_ns[slice + 1] ?? Number.POSITIVE_INFINITY);
      const share = until > from ? (end - begin) / (until - from) : 1;
      const mask = spansOf[slice] as number;
      for (let s = 0; s < n; s++) if ((mask >>> s) & 1) value[s] = (value[s] as number) + by * share;
    }
  }

  /** Tells of each span how much of [from, until] it holds, where it holds any. */
  function eachPart(from: number, until: number, take: (span: number, ns: number) => void): void {
    const parts = new Float64Array(n);
    const last = sliceAt(until);
    for (let slice = sliceAt(from); slice <= last; slice++) {
      const begin = Math.max(from, begin_ns[slice] as number);
      const ns = Math.min(until, begin_ns[slice + 1] ?? Number.POSITIVE_INFINITY) - begin;
      const mask = spansOf[slice] as number;
      for (let s = 0; s < n; s++) if ((mask >>> s) & 1) parts[s] = (parts[s] as number) + ns;
    }
    for (const [s, ns] of parts.entries()) if (ns > 0) take(s, ns);
  }

  /**
   * What a process did from its last reading to its end nobody read: it may have held more, and its counters went on.
   * @param goneBy when it was not there any more; null where it may still be at the end
   */
  function close(pid: number, { last, alive_ns }: Known, goneBy: number | null): void {
    const hadEnded = last.vms_bytes === 0;
    const held_end = endFrom(pid, alive_ns) ?? (hadEnded ? last.time_ns : goneBy);
    if (held_end !== null) open |= spansBetween(alive_ns, held_end).any;
    const end = endFrom(pid, last.time_ns) ?? (hadEnded ? last.time_ns : (goneBy ?? end_ns));
    eachPart(last.time_ns, end, (s, ns) => {
      unread[s] = (unread[s] as number) + ns;
    });
  }

  function closeRound(): void {
    if (inRound.size === 0) return;
    for (const [pid, before] of knownOf) {
      if (before.round === round) continue;
      // It ended since it was read: until then it may have held what it held at most.
      heldCeiling += before.peak_bytes ?? 0;
      close(pid, before, roundNs);
      knownOf.delete(pid);
    }
    if (alive > 0 || heldCeiling > 0) {
      const mask = spansOf[sliceAt(roundNs)] as number;
      const { any } = spansBetween(before_ns ?? roundNs, roundNs);
      for (let s = 0; s < n; s++) {
        if ((mask >>> s) & 1 && alive > 0) readings[s] = (readings[s] as number) + 1;
      }
      raise(processes, mask, alive);
      for (const part of PARTS) raise(most[part], mask, held[part]);
      raise(pss, mask, pssOf(heldPss) ?? -1);
      raise(reached, mask, held.rss_bytes);
      raise(ceiling, any, heldCeiling);
      first_ns ??= roundNs;
      last_ns = roundNs;
      onMoment({
        time_ns: roundNs,
        processes: alive,
        ...held,
        pss_bytes: pssOf(heldPss),
        ...grown,
      });
      grown = noGrowth();
    }
    before_ns = roundNs;
    round += 1;
    inRound.clear();
    held = { rss_bytes: 0, rss_anon_bytes: 0, rss_file_bytes: 0, rss_shmem_bytes: 0 };
    heldPss = newPss();
    heldCeiling = 0;
    alive = 0;
  }

  /** Adds what grew since the process was read before, or was born. @returns the spans in which it is counted by now */
  function follow(now: ProcessReading, old: Known | undefined): number {
    const { pid, time_ns, cpu_user_ns, cpu_system_ns, rss_peak_bytes } = now;
    // A counter that fell is that of another process with the same number.
    const fell = old !== undefined && cpu_user_ns + cpu_system_ns < old.last.cpu_user_ns + old.last.cpu_system_ns;
    const before = old === undefined || fell ? null : old;
    const from = before === null ? bornAfter(pid, time_ns) : before.last.time_ns;
    if (from === null) {
      eachPart(old?.last.time_ns ?? 0, time_ns, (s, ns) => {
        early[s] = (early[s] as number) + ns;
        for (const name of COUNTERS) earlier[name][s] = (earlier[name][s] as number) + now[name];
      });
      return 0;
    }
    const { all, any } = spansBetween(from, time_ns);
    for (const name of COUNTERS) {
      const by = now[name] - (before === null ? 0 : before.last[name]);
      if (by > 0) grow(name, from, time_ns, by, { all, any });
      grown[name] += Math.max(0, by);
    }
    const counted_in = before?.counted ?? 0;
    for (let s = 0; s < n; s++) if (((any & ~counted_in) >>> s) & 1) counted[s] = (counted[s] as number) + 1;
    // A peak that is new was reached in between.
    if (rss_peak_bytes !== null && rss_peak_bytes !== before?.last.rss_peak_bytes) raise(reached, all, rss_peak_bytes);
    return counted_in | any;
  }

  return {
    take(now) {
      if (inRound.has(now.pid)) closeRound();
      if (inRound.size === 0) roundNs = now.time_ns;
      inRound.add(now.pid);
      if (!now.is_target) return;
      const old = knownOf.get(now.pid);
      const alive_ns = now.vms_bytes === 0 && old !== undefined ? old.alive_ns : now.time_ns;
      const pss_bytes = now.pss_bytes ?? old?.pss_bytes ?? null;
      const seen = { last: now, round, counted: follow(now, old), pss_bytes, alive_ns };
      if (now.vms_bytes === 0) {
        // Ended, and only its parent has not asked how.
        knownOf.set(now.pid, { ...seen, peak_bytes: null });
        heldCeiling += old?.peak_bytes ?? 0;
        return;
      }
      knownOf.set(now.pid, { ...seen, peak_bytes: now.rss_peak_bytes ?? Number.POSITIVE_INFINITY });
      heldCeiling += Math.max(now.rss_peak_bytes ?? Number.POSITIVE_INFINITY, old?.peak_bytes ?? 0);
      alive += 1;
      for (const part of PARTS) held[part] += now[part];
      heldPss.bytes += seen.pss_bytes ?? 0;
      heldPss.read ||= now.pss_bytes !== null;
      heldPss.missing ||= seen.pss_bytes === null;
    },
    end() {
      closeRound();
      for (const [pid, before] of knownOf) close(pid, before, null);
      return spans.map((span, s): ProcessUse => {
        let read_ns = 0;
        span.begin_ns.forEach((begin, i) => {
          const end = Math.min(span.end_ns[i] ?? begin, last_ns);
          read_ns += Math.max(0, end - Math.max(begin, first_ns ?? end));
        });
        const growth = (name: Counter): Growth => ({
          value: sums[name].value[s] as number,
          lo: sums[name].lo[s] as number,
          hi: sums[name].hi[s] as number,
        });
        const top = ceiling[s] as number;
        const read_peak_bytes = top >= 0 && Number.isFinite(top) ? top : null;
        return {
          readings: readings[s] as number,
          processes: processes[s] as number,
          read_ns,
          peak_lo_bytes: reached[s] as number,
          peak_hi_bytes: (open >>> s) & 1 ? null : read_peak_bytes,
          read_peak_bytes,
          most: {
            rss_bytes: most.rss_bytes[s] as number,
            rss_anon_bytes: most.rss_anon_bytes[s] as number,
            rss_file_bytes: most.rss_file_bytes[s] as number,
            rss_shmem_bytes: most.rss_shmem_bytes[s] as number,
          },
          pss_bytes: (pss[s] as number) < 0 ? null : (pss[s] as number),
          growth: {
            cpu_user_ns: growth("cpu_user_ns"),
            cpu_system_ns: growth("cpu_system_ns"),
            minor_faults: growth("minor_faults"),
            major_faults: growth("major_faults"),
          },
          unread_ns: unread[s] as number,
          early_ns: early[s] as number,
          early: {
            cpu_user_ns: earlier.cpu_user_ns[s] as number,
            cpu_system_ns: earlier.cpu_system_ns[s] as number,
            minor_faults: earlier.minor_faults[s] as number,
            major_faults: earlier.major_faults[s] as number,
          },
          counted: counted[s] as number,
        };
      });
    },
  };
}
