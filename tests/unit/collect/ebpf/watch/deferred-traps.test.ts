import { expect, test } from "bun:test";
import { computeMetrics } from "../../../../../src/analyse/metrics/registry.ts";
import { watchOver } from "../../../../../src/collect/ebpf/watch/watch.ts";
import type { Batch } from "../../../../../src/columnar/batch.ts";
import { OP } from "../../../../../src/schema/operation.ts";
import { simulatedMachine } from "../../../../../src/simulate/machine.ts";
import { regionsOf, samplesOf } from "../../../../../src/simulate/samples.ts";
import { USUAL_POLICY, type World } from "../../../../../src/simulate/world.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input } from "../../../analyse/sample-input.ts";
import { regionOf, watchingOf } from "./one-region.ts";

const MS = 1e6;
const RUN_NS = 20_000 * MS;
const WORDS = 5000;

/** Words that are all read every 3 ms in every other half of a second. */
function world(): World {
  const times: number[] = [];
  for (let time = 1.3 * MS; time < RUN_NS; time += 3 * MS) if (time % (1000 * MS) < 500 * MS) times.push(time);
  const word = { time_ns: Float64Array.from(times), op: new Uint8Array(times.length).fill(OP.load) };
  const words = Array.from({ length: WORDS }, () => word);
  const strata = [{ stratum: "unknown/anon", region_type: "unknown", words }] as const;
  return { run_ns: RUN_NS, token_period_ns: null, steps: [], strata };
}

/** Bytes read in a second over what they are, where each read is a string instruction of so many traps; and what it cost. */
function figures(trapsOfRead: number) {
  const going = world();
  const simulated = simulatedMachine(going, USUAL_POLICY);
  const machine: typeof simulated = {
    ...simulated,
    state(slot) {
      const state = simulated.state(slot);
      return { ...state, continued: (trapsOfRead - 1) * state.hits };
    },
    drain: (take) =>
      simulated.drain((generation, trap) => {
        for (let i = 0; i < trapsOfRead; i++) take(generation, trap);
      }),
    takeTraps(cpu) {
      const { traps, ...others } = simulated.takeTraps(cpu);
      return { ...others, traps: trapsOfRead * traps };
    },
  };
  const regions = [regionOf(WORDS)];
  using source = watchOver(machine, watchingOf(regions));
  const random = seededRandom(1);
  const batches: Batch[] = [];
  for (let now = 0; now < RUN_NS; now += 20 * MS * (0.5 + random())) {
    machine.setNow(now);
    source.poll(BigInt(Math.round(now)));
    source.arm(BigInt(Math.round(now)));
    batches.push(...source.batches());
  }
  machine.setNow(RUN_NS);
  const { batches: last, summary } = source.stop();
  const watches = samplesOf([...batches, ...last], 0n);
  const rows = computeMetrics({
    ...input({ watches, window_ns: RUN_NS, trap_cost_ns: USUAL_POLICY.trap_ns }),
    regions: regionsOf(regions, going, RUN_NS),
  });
  const row = rows.find(({ metric, phase }) => metric === "read_bytes_per_s" && phase === "all");
  const reads = going.strata[0]?.words[0]?.time_ns.length ?? 0;
  const real = (8 * WORDS * reads) / (RUN_NS / 1e9);
  return { ratio: (row?.value ?? 0) / real, lo: (row?.lo ?? real) / real, hi: (row?.hi ?? 0) / real, row, summary };
}

test.each([1, 2, 4, 8])(
  "watches begin in busy times as often as in quiet ones where a read makes %d traps",
  (traps) => {
    const { ratio, lo, hi, row, summary } = figures(traps);
    expect(row?.status).toBe("ok");
    expect(ratio).toBeWithin(0.85, 1.15);
    expect(lo).toBeLessThan(1);
    expect(hi).toBeGreaterThan(1);
    expect(summary.budget.spent_pct).toBeLessThan(USUAL_POLICY.budget_pct);
  },
);
