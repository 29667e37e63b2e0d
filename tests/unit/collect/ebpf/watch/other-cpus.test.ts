import { describe, expect, test } from "bun:test";
import { watchOver } from "../../../../../src/collect/ebpf/watch/watch.ts";
import { balances } from "../../../../../src/schema/ledger.ts";
import { OP } from "../../../../../src/schema/operation.ts";
import { simulatedMachine } from "../../../../../src/simulate/machine.ts";
import { samplesOf } from "../../../../../src/simulate/samples.ts";
import { USUAL_POLICY, type World } from "../../../../../src/simulate/world.ts";
import { regionOf, watchingOf } from "./one-region.ts";

const MS = 1e6;
const RUN_NS = 4000 * MS;
const MOVES_NS = 3100 * MS;
const LOOK_NS = 10 * MS;
const WORDS = 500;

/** Words of which every other one is read each 5 ms. */
function world(): World {
  const time_ns = Float64Array.from({ length: RUN_NS / (5 * MS) }, (_, i) => 5 * MS * i);
  const read = { time_ns, op: new Uint8Array(time_ns.length).fill(OP.load) };
  const idle = { time_ns: new Float64Array(0), op: new Uint8Array(0) };
  const words = Array.from({ length: WORDS }, (_, i) => (i % 2 === 0 ? read : idle));
  return {
    run_ns: RUN_NS,
    token_period_ns: null,
    steps: [],
    strata: [{ stratum: "unknown/anon", region_type: "unknown", words }],
  };
}

/** What is recorded of a target that goes to CPU 1 at a moment, where it is asked for its CPUs, and what was found then. */
function recorded(movesNs: number) {
  const simulated = simulatedMachine(world(), USUAL_POLICY);
  const cpus = [0];
  const machine = { ...simulated, cpus, widen: (more: readonly number[]) => void cpus.push(...more) };
  let now = 0;
  const looks: { readonly time_ns: number; readonly isBeside: boolean }[] = [];
  const source = watchOver(machine, {
    ...watchingOf([regionOf(WORDS)]),
    cpusBeside(held) {
      const isBeside = now >= movesNs && !held.includes(1);
      looks.push({ time_ns: now, isBeside });
      return isBeside ? [1] : [];
    },
  });
  const batches = [];
  for (; now < RUN_NS; now += LOOK_NS) {
    simulated.setNow(now);
    source.poll(BigInt(now));
    source.arm(BigInt(now));
    batches.push(...source.batches());
  }
  const { batches: last, summary, ledger } = source.stop();
  const found = looks.findIndex(({ isBeside }) => isBeside);
  return { watches: samplesOf([...batches, ...last], 0n), summary, ledger, looks, found };
}

const [OFF_NS, BACK_NS] = [1110 * MS, 2610 * MS];
const ENODEV = 19;

/** What is recorded where CPU 1 goes off line and comes back, without whose register no watch begins meanwhile. */
function recordedAroundOffline() {
  const simulated = simulatedMachine(world(), USUAL_POLICY);
  const cpus = [0, 1];
  let now = 0;
  const missed: number[] = [];
  const isOff = () => now >= OFF_NS && now < BACK_NS;
  const source = watchOver(
    {
      ...simulated,
      cpus,
      widen: (more) => void cpus.push(...more),
      narrow: (fewer) => void cpus.splice(0, cpus.length, ...cpus.filter((cpu) => !fewer.includes(cpu))),
      arm: (spec) => (isOff() && cpus.includes(1) ? { ok: false, errno: ENODEV, retries: 0 } : simulated.arm(spec)),
      registers: { ...simulated.registers, miss: () => void missed.push(now) },
    },
    {
      ...watchingOf([regionOf(WORDS)]),
      cpusOffline: (held) => held.filter((cpu) => cpu === 1 && isOff()),
      cpusBeside: (held) => (isOff() || held.includes(1) ? [] : [1]),
    },
  );
  const batches = [];
  for (; now < RUN_NS; now += LOOK_NS) {
    simulated.setNow(now);
    source.poll(BigInt(now));
    source.arm(BigInt(now));
    batches.push(...source.batches());
  }
  const { batches: last, summary, ledger } = source.stop();
  return { watches: samplesOf([...batches, ...last], 0n), summary, ledger, missed };
}

describe("a CPU that goes off line", () => {
  test("stops no watch from beginning on the others, nor is it told as registers that others hold", () => {
    const { watches, summary, missed } = recordedAroundOffline();
    const meanwhile = watches.filter(({ begin_ns }) => begin_ns > OFF_NS && begin_ns < BACK_NS - 400 * MS);
    expect(meanwhile.length).toBeGreaterThan(10);
    expect([missed, summary.counts.register_failures]).toEqual([[], 1]);
  });

  test("and comes back within a watch has been seen by none that goes on from before", () => {
    const { watches, summary, ledger } = recordedAroundOffline();
    const before = watches.filter(({ begin_ns }) => begin_ns < BACK_NS);
    for (const { begin_ns, end_ns } of before) expect(end_ns).toBeLessThanOrEqual(Math.max(begin_ns, BACK_NS));
    expect(watches.filter(({ begin_ns }) => begin_ns > BACK_NS).length).toBeGreaterThan(10);
    expect(summary.cpus).toBe(2);
    expect(ledger.every(balances)).toBe(true);
  });
});

describe("a target that goes to another CPU than those of the registers", () => {
  test("has no watch that tells of the time in which it may have been there", () => {
    const { watches, looks, found } = recorded(MOVES_NS);
    const inside = looks[found - 1]?.time_ns ?? 0;
    const foundNs = looks[found]?.time_ns ?? 0;
    expect(inside).toBeWithin(MOVES_NS - 400 * MS, MOVES_NS);
    expect(foundNs).toBeWithin(MOVES_NS, MOVES_NS + 300 * MS);
    const before = watches.filter(({ begin_ns }) => begin_ns < foundNs);
    expect(before.length).toBeGreaterThan(10);
    for (const { begin_ns, end_ns } of before) expect(end_ns).toBeLessThanOrEqual(Math.max(begin_ns, inside));
    expect(before.some(({ ended_by, begin_ns }) => ended_by === "lost" && begin_ns < inside)).toBe(true);
  });

  test("is watched on both from then on, and what was left out is counted", () => {
    const { watches, summary, ledger, looks, found } = recorded(MOVES_NS);
    expect(summary.cpus).toBe(2);
    expect(Object.keys(summary.budget.spent_ns)).toEqual(["0", "1"]);
    expect(summary.counts.elsewhere).toBeGreaterThan(0);
    expect(summary.counts.finished).toBe(watches.length);
    expect(watches.filter(({ begin_ns }) => begin_ns >= (looks[found]?.time_ns ?? 0)).length).toBeGreaterThan(10);
    expect(ledger.every(balances)).toBe(true);
  });

  test("that stays where it is has all of its watches", () => {
    const { watches, summary } = recorded(Number.POSITIVE_INFINITY);
    expect(summary.counts.elsewhere).toBe(0);
    expect(watches.length).toBe(summary.counts.armings);
  });
});
