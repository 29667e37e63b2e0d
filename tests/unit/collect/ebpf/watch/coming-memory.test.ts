import { expect, test } from "bun:test";
import { watchOver } from "../../../../../src/collect/ebpf/watch/watch.ts";
import type { Batch } from "../../../../../src/columnar/batch.ts";
import { simulatedMachine } from "../../../../../src/simulate/machine.ts";
import { samplesOf } from "../../../../../src/simulate/samples.ts";
import { USUAL_POLICY, type World } from "../../../../../src/simulate/world.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { regionOf, watchingOf } from "./one-region.ts";

const MS = 1e6;
const RUN_NS = 120_000 * MS;
const WORDS = 512;
const LOOK_NS = 2 * MS;
/** The pages of the one mapping are in memory for a third of the time. */
const THERE_NS = 100 * MS;

/** Begins of watches of memory that comes and goes at uneven times, each since the memory came, ns. */
function sinceItCame(seed: number): number[] {
  const random = seededRandom(seed, 9);
  const came: number[] = [];
  for (let time = 0; time < RUN_NS; time += THERE_NS + (100 + 200 * random()) * MS) came.push(time);
  const since = (now: number): number => now - (came.findLast((time) => time <= now) ?? 0);
  const idle = { time_ns: new Float64Array(0), op: new Uint8Array(0) };
  const words = Array.from({ length: WORDS }, () => idle);
  const strata = [{ stratum: "unknown/anon", region_type: "unknown", words }] as const;
  const world: World = { run_ns: RUN_NS, token_period_ns: null, steps: [], strata };
  const machine = simulatedMachine(world, USUAL_POLICY);
  const region = { ...regionOf(WORDS), resident_only: true };
  let now = 0;
  using source = watchOver(machine, {
    ...watchingOf([region]),
    seed,
    resident: { has: () => since(now) < THERE_NS, bytesOf: (_, { bytes }) => bytes },
  });
  const batches: Batch[] = [];
  for (; now < RUN_NS; now += LOOK_NS) {
    machine.setNow(now);
    if (since(now) >= THERE_NS) source.onGivenBack(region.pid, region.addr, BigInt(region.size_bytes), BigInt(now));
    source.poll(BigInt(now));
    source.arm(BigInt(now));
    batches.push(...source.batches());
  }
  const watches = samplesOf([...batches, ...source.stop().batches], 0n, world.strata);
  return watches.map(({ begin_ns }) => since(begin_ns));
}

test("memory that comes and goes is watched as often in its first moments as in its last where no other is there", () => {
  const since = [1, 2].flatMap(sinceItCame);
  const from = (ms: number): number => since.filter((ns) => ns >= ms * MS && ns < (ms + 10) * MS).length;
  const tenth = since.length / 10;
  const error = Math.sqrt(tenth);
  expect(since.length).toBeGreaterThan(1000);
  expect(from(0)).toBeWithin(tenth - 4 * error, tenth + 4 * error);
});
