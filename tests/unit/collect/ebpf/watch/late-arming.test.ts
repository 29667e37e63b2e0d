import { expect, test } from "bun:test";
import { registersOf } from "../../../../../src/collect/ebpf/watch/arm.ts";
import { watchOver } from "../../../../../src/collect/ebpf/watch/watch.ts";
import { simulatedMachine } from "../../../../../src/simulate/machine.ts";
import { USUAL_POLICY, type World } from "../../../../../src/simulate/world.ts";
import { regionOf, watchingOf } from "./one-region.ts";

const MS = 1e6;
const RUN_NS = 30_000 * MS;
const WORDS = 1000;
const [REST_NS, WORK_NS] = [17 * MS, 6 * MS];

/** Words that nothing touches. */
function idleWorld(): World {
  const idle = { time_ns: new Float64Array(0), op: new Uint8Array(0) };
  const words = Array.from({ length: WORDS }, () => idle);
  const strata = [{ stratum: "unknown/anon", region_type: "unknown", words }] as const;
  return { run_ns: RUN_NS, token_period_ns: null, steps: [], strata };
}

test("watches begin in registers that were given back, though time goes by from the end of others to that", () => {
  const simulated = simulatedMachine(idleWorld(), USUAL_POLICY);
  let [held, most, begun] = [0, 0, 0];
  const machine: typeof simulated = {
    ...simulated,
    arm(spec) {
      const result = simulated.arm(spec);
      if (!result.ok) return result;
      const registers = registersOf(spec.mode).length;
      held += registers;
      begun += 1;
      most = Math.max(most, held);
      const disarm = (): bigint => {
        held -= registers;
        return result.watch.disarm();
      };
      return { ok: true, watch: { ...result.watch, disarm } };
    },
  };
  using source = watchOver(machine, watchingOf([regionOf(WORDS)]));
  for (let now = 0; now < RUN_NS; now += REST_NS) {
    machine.setNow(now);
    source.poll(BigInt(now));
    now += WORK_NS;
    machine.setNow(now);
    source.arm(BigInt(now));
  }
  expect(begun).toBeGreaterThan(100);
  expect(most).toBe(machine.registers.count);
});

test("no watch begins while registers go back to the kernel, and others do when that is over", () => {
  let goBack = false;
  const machine = { ...simulatedMachine(idleWorld(), USUAL_POLICY), giveBack: () => goBack };
  using source = watchOver(machine, watchingOf([regionOf(WORDS)]));
  const begun: boolean[] = [];
  for (let now = 0; now < RUN_NS; now += 5 * MS) {
    machine.setNow(now);
    goBack = now < RUN_NS / 2;
    source.poll(BigInt(now));
    if (source.arm(BigInt(now))) begun.push(goBack);
  }
  expect(begun.length).toBeGreaterThan(10);
  expect(begun).not.toContain(true);
});
