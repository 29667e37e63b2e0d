/** One run of a world under the policy of the product: its watches as the metrics read them. */
import type { AnalysisInput } from "../analyse/input/input.ts";
import { lateSince } from "../analyse/input/late-stretches.ts";
import { ATTENTIVE_MS } from "../collect/ebpf/part.ts";
import type { DrawRegion } from "../collect/ebpf/watch/draw.ts";
import { type WatchSummary, watchOver } from "../collect/ebpf/watch/watch.ts";
import type { Batch } from "../columnar/batch.ts";
import { unevenRest } from "../record/poll-pace.ts";
import { seededRandom } from "../statistics/prng.ts";
import { rowsAheadIn } from "./cache-heads.ts";
import { comingsAndGoings, regionsOver } from "./comings.ts";
import { addrOf, PID, REGISTERS, simulatedMachine } from "./machine.ts";
import { regionsOf, samplesOf } from "./samples.ts";
import { heldUp, standingStill } from "./standstill.ts";
import { simulatedTimer } from "./timer.ts";
import { type Policy, USUAL_POLICY, type World } from "./world.ts";

/** As the recorder rests while watches run, where nothing fills its rings. */
const REST_MS = ATTENTIVE_MS;
const REST_STREAM = 5;
const STANDSTILL_STREAM = 6;
const TIMER_STREAM = 7;

export interface Trial {
  /** The world as it went: later than it was described where the program stood still. */
  readonly world: World;
  readonly input: AnalysisInput;
  readonly summary: WatchSummary;
}

/** Watches the world from its begin to its end, with the budget, the draws and the ends of the product. */
export function tryWorld(world: World, seed: number, policy: Policy = USUAL_POLICY): Trial {
  const machine = simulatedMachine(world, policy);
  const regions = world.strata.map(
    ({ stratum, region_type, words, repeats = 1, place, turns }, i): DrawRegion => ({
      pid: PID,
      addr: addrOf(place ?? i, 0),
      size_bytes: 8 * words.length * repeats,
      stratum,
      region_type,
      tensor: null,
      ...(turns === undefined ? {} : { turns }),
    }),
  );
  const lag = world.map_lag_ns ?? 0;
  let now = 0;
  const hasRows = world.strata.some(({ rows }) => rows !== undefined);
  const comings = comingsAndGoings(world);
  const regionsNow = regionsOver(regions, comings, () => now - lag);
  const timer = simulatedTimer(world, seededRandom(seed, TIMER_STREAM));
  using source = watchOver(machine, {
    regions: regionsNow,
    knownUntilNs: (time) => time - BigInt(Math.round(lag)),
    tokenPeriodNs: () =>
      typeof world.token_period_ns === "function" ? world.token_period_ns(now) : world.token_period_ns,
    rowsAhead: () => (hasRows ? rowsAheadIn(world, regions, now - lag) : []),
    budgetPct: policy.budget_pct,
    byTurns: policy.by_turns ?? false,
    isPrompt: true,
    registers: REGISTERS,
    seed,
    affinityCpus: [],
    ...(world.copies === undefined ? {} : { strings: timer.strings }),
  });
  const batches: Batch[] = [];
  const isStopped = (now: number): boolean =>
    world.stopped_ns?.some(([begin, end]) => now >= begin && now < end) ?? false;
  const rests = seededRandom(seed, REST_STREAM);
  for (let before = 0; now < world.run_ns; now += 1e6 * unevenRest(REST_MS, rests)) {
    if (isStopped(now)) continue;
    timer.goOn(now, machine.held() > 0);
    machine.setNow(now);
    for (const i of comings.freedWithin(before - lag, now - lag)) {
      const { addr = 0n, size_bytes = 0 } = regions[i] ?? {};
      source.onUnmap(PID, addr, BigInt(size_bytes), BigInt(Math.round(comings.freed_ns[i] ?? 0)));
    }
    before = now;
    source.poll(BigInt(Math.round(now)));
    source.arm(BigInt(Math.round(now)));
    batches.push(...source.batches());
  }
  machine.setNow(world.run_ns);
  const { batches: rest, summary, ledger } = source.stop();
  const recorded = {
    watches: samplesOf([...batches, ...rest], 0n, world.strata),
    steps: world.steps,
    window_ns: world.run_ns,
  };
  const standstill = world.standstill_ns ?? 0;
  const delayed = standstill > 0 ? standingStill(recorded, standstill, seededRandom(seed, STANDSTILL_STREAM)) : null;
  const seen = delayed ?? recorded;
  const went = delayed === null ? world : heldUp(world, delayed);
  const late = lateSince(summary.late, 0n);
  const later = delayed?.later ?? ((time: number): number => time);
  const input: AnalysisInput = {
    run_id: `world-${seed}`,
    t0_ns: 0n,
    watches: seen.watches,
    steps: seen.steps,
    window_ns: seen.window_ns,
    regions: regionsOf(regions, went, seen.window_ns),
    kvRows: [],
    kvUntold: null,
    kvWritesUntold: null,
    accessSums: [],
    allocations: [],
    streams: [],
    counts: null,
    ledger,
    trap_cost_ns: policy.trap_ns,
    draw_lag_ns: summary.draw_lag_ns,
    late: { ...late, stretches: late.stretches.map(([begin, end]) => [later(begin), later(end)]) },
    seed,
    sight: [],
  };
  return { world: went, input, summary };
}
