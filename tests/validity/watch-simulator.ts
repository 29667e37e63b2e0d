/** A seeded simulation of the watch design over memory whose accesses are known. */
import type { AnalysisInput, WatchSample } from "../../src/analyse/input/input.ts";
import { OP } from "../../src/schema/operation.ts";
import type { RegionType } from "../../src/schema/words.ts";
import { type Random, seededRandom } from "../../src/statistics/prng.ts";
import { type GivenRegion, regionsOf } from "../fixtures/regions.ts";

/** Accesses of one word over the whole run, in order of time. */
export interface WordAccesses {
  readonly time_ns: readonly number[];
  /** Values of OP. */
  readonly op: readonly number[];
}

/** Words that behave alike, drawn from as one stratum. */
export interface Process {
  readonly stratum: string;
  readonly region_type: RegionType;
  /** 8-byte words. */
  readonly words: number;
  /** Every access to a word within [0, run_ns]; random numbers are the word's own. */
  readonly accesses: (random: Random, word: number, run_ns: number) => WordAccesses;
}

export interface Design {
  readonly run_ns: number;
  readonly dwell_ns: number;
  readonly trap_limit: number;
  /** Watches at a time. */
  readonly slots: number;
  readonly seed: number;
  readonly design?: WatchSample["design"];
  readonly mode?: WatchSample["mode"];
  /** Idle time between two watches of a slot. */
  readonly retarget_ns?: number;
  /** When regions die; the run's end when absent. */
  readonly death_ns?: number;
}

/** First index with time >= at. */
function firstFrom(times: readonly number[], at: number): number {
  let lo = 0;
  let hi = times.length;
  while (lo < hi) {
    const mid = (lo + hi) >>> 1;
    if ((times[mid] ?? 0) < at) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

function observe(process: Process, design: Design, id: number, word: number, begin: number): WatchSample {
  const seen = process.accesses(seededRandom(design.seed * 7919 + word, 17), word, design.run_ns);
  const stores = design.mode === "w";
  const death = design.death_ns ?? null;
  const limit = Math.min(begin + design.dwell_ns, design.run_ns, death ?? Number.POSITIVE_INFINITY);
  const times: number[] = [];
  const ops: number[] = [];
  let end = limit;
  let ended: WatchSample["ended_by"] = limit === death ? "unmap" : limit === design.run_ns ? "end" : "dwell";
  for (let i = firstFrom(seen.time_ns, begin); i < seen.time_ns.length; i++) {
    const t = seen.time_ns[i] ?? 0;
    if (t > limit) break;
    if (stores && seen.op[i] === OP.load) continue;
    times.push(t);
    ops.push(seen.op[i] ?? OP.unknown);
    if (times.length === design.trap_limit) {
      end = t;
      ended = "trap_limit";
      break;
    }
  }
  const bytes = 8 * process.words;
  return {
    watch_id: id,
    pid: 1,
    addr: BigInt(8 * word),
    size_bytes: 8,
    mode: design.mode ?? "rw",
    design: design.design ?? "short",
    stratum: process.stratum,
    region_type: process.region_type,
    mapping_kind: "anon",
    tensor: null,
    stratum_bytes: bytes,
    inclusion_probability: 8 / bytes,
    draw_weight: 1,
    begin_ns: begin,
    end_ns: end,
    ended_by: ended,
    trap_limit: design.trap_limit,
    hit_ns: Float64Array.from(times),
    hit_op: Uint8Array.from(ops),
    region_death_ns: death,
    region_birth_ns: 0,
  };
}

/** Every slot watches one random word after the other; strata take equal turns, whatever their size. */
export function simulateWatches(processes: readonly Process[], design: Design): WatchSample[] {
  const random = seededRandom(design.seed, 3);
  const until = design.death_ns ?? design.run_ns;
  const watches: WatchSample[] = [];
  let turn = 0;
  for (let slot = 0; slot < design.slots; slot++) {
    let now = random() * (design.retarget_ns ?? 0);
    while (now < until) {
      const process = processes[turn % processes.length];
      turn += 1;
      if (!process) break;
      const word = Math.floor(random() * process.words);
      const watch = observe(process, design, watches.length + 1, word, now);
      if (watch.end_ns > watch.begin_ns) watches.push(watch);
      now = watch.end_ns + (design.retarget_ns ?? 0) * (0.5 + random());
      if (watch.ended_by === "end" || watch.ended_by === "unmap") break;
    }
  }
  return watches;
}

/** An input of watches alone: no engine, nothing lost. */
export function simulatedInput(
  processes: readonly Process[],
  watches: readonly WatchSample[],
  design: Design,
): AnalysisInput {
  const regions = processes.map(
    (process, i): GivenRegion => ({
      region_type: process.region_type,
      pid: 1,
      addr: BigInt(i) << 32n,
      size_bytes: 8 * process.words,
      birth_ns: 0,
      death_ns: design.death_ns ?? design.run_ns,
      birth_censored: false,
      death_censored: design.death_ns === undefined,
    }),
  );
  return {
    run_id: `simulated-${design.seed}`,
    t0_ns: 0n,
    window_ns: design.run_ns,
    watches,
    regions: regionsOf(regions),
    steps: [],
    kvRows: [],
    accessSums: [],
    allocations: [],
    streams: [],
    counts: null,
    ledger: [],
    trap_cost_ns: null,
    seed: design.seed,
    sight: [],
  };
}

/** Reads every `period_ns`, `hits` of them 20 us apart, each word at its own phase; `spread` varies the period by word. */
export function periodicReads(period_ns: number, hits = 1, spread = 0): Process["accesses"] {
  return (random, _word, run_ns) => {
    const period = period_ns * (1 + spread * (2 * random() - 1));
    const time_ns: number[] = [];
    for (let t = random() * period; t < run_ns; t += period * (0.995 + 0.01 * random())) {
      for (let k = 0; k < hits; k++) time_ns.push(t + k * 20_000);
    }
    return { time_ns, op: time_ns.map(() => OP.load) };
  };
}

/** Reads at independent intervals; the sequence starts long before the run, so that the run finds it stationary. */
export function renewalReads(next_ns: (random: Random) => number, mean_ns: number): Process["accesses"] {
  return (random, _word, run_ns) => {
    const time_ns: number[] = [];
    for (let t = -50 * mean_ns * (1 + random()); t < run_ns; t += next_ns(random)) if (t >= 0) time_ns.push(t);
    return { time_ns, op: time_ns.map(() => OP.load) };
  };
}

/** A ring rewritten every `period_ns`; each write is read twice, last at a lag uniform in [lo, hi] of the period. */
export function ringRewrite(period_ns: number, lo: number, hi: number): Process["accesses"] {
  return (random, _word, run_ns) => {
    const time_ns: number[] = [];
    const op: number[] = [];
    const push = (t: number, kind: number): void => {
      if (t < 0 || t > run_ns) return;
      time_ns.push(t);
      op.push(kind);
    };
    for (let t = (random() - 1) * period_ns; t < run_ns; t += period_ns) {
      const last = period_ns * (lo + (hi - lo) * random());
      push(t, OP.store);
      push(t + last / 2, OP.load);
      push(t + last, OP.load);
    }
    return { time_ns, op };
  };
}

/** Written once, or with the chance `again` a second time, at random moments of the run. */
export function writtenOnce(again: number): Process["accesses"] {
  return (random, _word, run_ns) => {
    const first = random() * run_ns * 0.9;
    const time_ns = [first];
    if (random() < again) time_ns.push(first + (0.02 + 0.98 * random()) * (run_ns - first));
    return { time_ns, op: time_ns.map(() => OP.store) };
  };
}
