/** Samplers of an exact trace: from one sample they go straight to the next, so that a run takes as long as it has samples. */
import { OP } from "../../../../src/schema/operation.ts";
import { firstIndex } from "../../../../src/statistics/first-index.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { periods } from "../sources/samplers.ts";
import { type AccessTrace, firstFrom } from "./access-trace.ts";

/** The access of a sample, by its number in the trace, and what the sample says of it. */
export interface TracedSample {
  readonly row: number;
  readonly cycle: number;
  readonly op: "load" | "store" | "load_store";
  readonly period: number;
}

export interface TracedSampler {
  readonly source: "pebs" | "ibs" | "clock";
  readonly sample: (trace: AccessTrace, random: Random) => TracedSample[];
}

/** Loads and stores of a trace by number; an access that is both is in both. */
interface Kinds {
  readonly load: Uint32Array;
  readonly store: Uint32Array;
}

const known = new WeakMap<AccessTrace, Kinds>();

function kindsOf(trace: AccessTrace): Kinds {
  const found = known.get(trace);
  if (found !== undefined) return found;
  const rowsOf = (op: number): Uint32Array => {
    const rows = new Uint32Array(trace.op.length);
    let count = 0;
    for (let row = 0; row < trace.op.length; row++) {
      if (trace.op[row] === op || trace.op[row] === OP.load_store) rows[count++] = row;
    }
    return rows.slice(0, count);
  };
  const kinds = { load: rowsOf(OP.load), store: rowsOf(OP.store) };
  known.set(trace, kinds);
  return kinds;
}

/** How far behind the counter's overflow the access is of which a sample is taken: so many cycles, or operations, at random. */
export interface Lag {
  readonly cycles: number;
  /** The most. */
  readonly operations: number;
}
export const NO_LAG: Lag = { cycles: 0, operations: 0 };

/** Shorter periods would sample neighbours of one another. */
const LEAST_PERIOD = 101;
/** The middle period at which a run has so many samples, or fewer. */
const middleFor = (events: number, samples: number): number => Math.max(LEAST_PERIOD, events / samples);

/** Retired loads and retired stores, each counted by a counter of its own; `samples` of each, about. */
export function pebs(samples: number, lags: { load: Lag; store: Lag }): TracedSampler {
  return {
    source: "pebs",
    sample(trace, random) {
      const kinds = kindsOf(trace);
      return (["load", "store"] as const).flatMap((op) => {
        const rows = kinds[op];
        const lag = lags[op];
        const next = periods(middleFor(rows.length, samples), 1, random);
        const taken: TracedSample[] = [];
        let period = next();
        for (let at = Math.ceil(random() * period) - 1; at < rows.length; at += period) {
          const over = rows[at] ?? 0;
          const skid = Math.floor((lag.operations + 1) * random());
          const cycle = (trace.cycle[over] ?? 0) + lag.cycles;
          const operation = (trace.operation[over] ?? 0) + skid;
          let found = at;
          while (found < rows.length) {
            const row = rows[found] ?? 0;
            if ((trace.cycle[row] ?? 0) >= cycle && (trace.operation[row] ?? 0) >= operation) break;
            found += 1;
          }
          const row = rows[found];
          if (row !== undefined) taken.push({ row, cycle: trace.cycle[row] ?? 0, op, period });
          period = next();
        }
        return taken;
      });
    },
  };
}

const OP_WORDS = new Map([
  [OP.load, "load"],
  [OP.store, "store"],
  [OP.load_store, "load_store"],
] as const);

/** IBS counts in steps of 16, and begins each count at random within one. */
const STEP = 16;

/** Every so many operations one is tagged, whatever it does: `samples` of accesses, about. */
export function ibs(samples: number): TracedSampler {
  return {
    source: "ibs",
    sample(trace, random) {
      const { operation, op, cycle } = trace;
      const next = periods(STEP * Math.ceil(middleFor(op.length, samples) / STEP), STEP, random);
      const taken: TracedSample[] = [];
      let period = next();
      let tagged = Math.floor(random() * period);
      while (tagged < trace.operations) {
        const row = firstIndex(operation.length, (i) => (operation[i] ?? 0) < tagged);
        const word = OP_WORDS.get(op[row] ?? 0);
        if (operation[row] === tagged && word !== undefined) {
          taken.push({ row, cycle: cycle[row] ?? 0, op: word, period });
        }
        period = next();
        tagged += period + Math.floor(random() * STEP) - STEP / 2;
      }
      return taken;
    },
  };
}

/** A timer: what is running when it fires is an access, or an instruction without one. */
export function clock(samples: number): TracedSampler {
  return {
    source: "clock",
    sample(trace, random) {
      const { operation, op, cycle } = trace;
      const middle = trace.cycles / samples;
      const taken: TracedSample[] = [];
      for (let fires = middle * random(); fires < trace.cycles; fires += middle * (0.9 + 0.2 * random())) {
        const row = firstFrom(trace, Math.floor(fires) + 1) - 1;
        const word = OP_WORDS.get(op[row] ?? 0);
        if (row < 0 || word === undefined) continue;
        // The operations between two accesses take a cycle each; what is left is how long the first one takes.
        const others = (operation[row + 1] ?? trace.operations) - (operation[row] ?? 0) - 1;
        if (fires < (cycle[row + 1] ?? trace.cycles) - others) {
          taken.push({ row, cycle: fires, op: word, period: Math.round(middle) });
        }
      }
      return taken;
    },
  };
}
