import { expect, test } from "bun:test";
import { addrOf, PID, simulatedMachine } from "../../../src/simulate/machine.ts";
import { USUAL_POLICY, type World } from "../../../src/simulate/world.ts";

const US = 1000;
const CPUS = 3;
const COUNT = 60;

/** One word that three threads read in turn, each on its own CPU, once in every 100 us. */
const sharedWord: World = {
  run_ns: 10_000 * US,
  cpus: CPUS,
  token_period_ns: null,
  steps: [],
  strata: [
    {
      stratum: "unknown",
      region_type: "unknown",
      words: [
        {
          time_ns: Float64Array.from({ length: COUNT }, (_, i) => (i + 1) * 100 * US),
          op: new Uint8Array(COUNT),
          cpu: Uint8Array.from({ length: COUNT }, (_, i) => i % CPUS),
        },
      ],
    },
  ],
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

test("a watch counts the accesses of all CPUs up to its limit, and each other CPU traps once more before its register stops", () => {
  const machine = simulatedMachine(sharedWord, USUAL_POLICY);
  const [slot, generation, trapLimit] = [0, machine.nextGeneration(), 8];
  const place = { slot, generation, pid: PID, addr: addrOf(0, 0), sizeBytes: 8 };
  const armed = machine.arm({ ...place, mode: "rw", trapLimit, refreshCount: 1 });
  if (!armed.ok) throw new Error("no register");
  machine.begin([armed.watch], false);
  machine.setNow(sharedWord.run_ns);
  const seen: { timeNs: bigint; cpu: number; tid: number }[] = [];
  machine.drain((_, trap) => seen.push(trap));
  expect(seen.map(({ timeNs }) => Number(timeNs) / (100 * US)).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  // Rings of CPUs are read one after the other.
  expect(seen.map(({ cpu }) => cpu)).toEqual([0, 0, 0, 1, 1, 1, 2, 2]);
  expect(new Set(seen.map(({ cpu, tid }) => tid - cpu))).toEqual(new Set([PID]));
  const taken = machine.cpus.map((cpu) => machine.takeTraps(cpu));
  expect(taken.map(({ traps }) => traps)).toEqual([4, 3, 3]);
  expect(taken.map(({ beyond }) => beyond)).toEqual([1, 0, 1]);
  expect(machine.state(slot).hits).toBe(trapLimit);
  expect(sum(machine.cpus.map((cpu) => machine.takeTraps(cpu).traps))).toBe(0);
});
