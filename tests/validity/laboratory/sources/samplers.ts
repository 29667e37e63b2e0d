/** Samplers of an exact stream of accesses, as hardware and the product drive them: periods that vary, shadows, a timer. */
import { ditheredPeriod } from "../../../../src/collect/ebpf/samples/period.ts";
import { OP } from "../../../../src/schema/operation.ts";
import type { Random } from "../../../../src/statistics/prng.ts";

export interface Taken {
  readonly addr: number;
  readonly op: number;
  readonly time_ns: number;
  readonly period: number;
  readonly buffer: number;
}

export interface Sampler {
  readonly source: "pebs" | "ibs" | "clock";
  /** One access that begins at a time and takes so long, with `ops` instructions up to the next one. */
  take(buffer: number, addr: number, op: number, time_ns: number, length_ns: number, ops: number): void;
  readonly samples: readonly Taken[];
}

/** As in src/collect/ebpf/samples: a new period after so many samples. */
const SAMPLES_PER_PERIOD = 64;

/** Periods as the product sets them. */
export function periods(middle: number, step: number, random: Random): () => number {
  let period = ditheredPeriod(middle, step, random);
  let samples = 0;
  return () => {
    samples += 1;
    if (samples % SAMPLES_PER_PERIOD === 0) period = ditheredPeriod(middle, step, random);
    return period;
  };
}

/**
 * Retired loads and retired stores, each counted by a counter of its own. A sample is of the next access of its kind that
 * retires `shadowNs` or more after the counter has run over.
 */
export function pebs(middle: { load: number; store: number }, shadowNs: number, random: Random): Sampler {
  const samples: Taken[] = [];
  const kinds = ([OP.load, OP.store] as const).map((op) => {
    const next = periods(op === OP.load ? middle.load : middle.store, 1, random);
    const period = next();
    return { op, next, period, left: Math.ceil(random() * period), armed_ns: Number.POSITIVE_INFINITY, over: 0 };
  });
  return {
    source: "pebs",
    samples,
    take(buffer, addr, op, time_ns) {
      for (const kind of kinds) {
        if (kind.op !== op) continue;
        if (time_ns >= kind.armed_ns) {
          samples.push({ addr, op, time_ns, period: kind.over, buffer });
          kind.armed_ns = Number.POSITIVE_INFINITY;
        }
        kind.left -= 1;
        if (kind.left > 0) continue;
        kind.over = kind.period;
        if (shadowNs > 0) kind.armed_ns = time_ns + shadowNs;
        else samples.push({ addr, op, time_ns, period: kind.period, buffer });
        kind.period = kind.next();
        kind.left = kind.period;
      }
    },
  };
}

/** Every so many instructions one is tagged, whatever it does; the count is in steps of 16, and starts at random within one. */
export function ibs(middle: number, random: Random): Sampler {
  const samples: Taken[] = [];
  const next = periods(middle, 16, random);
  let period = next();
  let left = Math.ceil(random() * period);
  return {
    source: "ibs",
    samples,
    take(buffer, addr, op, time_ns, _, ops) {
      left -= ops;
      if (left > 0) return;
      // The first of these instructions is the access.
      if (left + ops === 1) samples.push({ addr, op, time_ns, period, buffer });
      period = next();
      left += period + Math.floor(random() * 16) - 8;
    },
  };
}

/** A timer: what is running when it fires is the access, by the time that it takes. */
export function clock(period_ns: number, random: Random): Sampler {
  const samples: Taken[] = [];
  const vary = (): number => period_ns * (0.9 + 0.2 * random());
  let fires_ns = random() * period_ns;
  return {
    source: "clock",
    samples,
    take(buffer, addr, op, time_ns, length_ns) {
      while (fires_ns < time_ns + length_ns) {
        if (fires_ns >= time_ns) samples.push({ addr, op, time_ns: fires_ns, period: Math.round(period_ns), buffer });
        fires_ns += vary();
      }
    },
  };
}
